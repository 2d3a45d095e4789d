//! The illegal operations of a program, each with its signal.

use super::Program;
use super::signals::{SentSignal, signalled};
use crate::access::Touch;
use crate::host::Mailbox;
use crate::layout::page_of;
use crate::processor::Processor;
use crate::registers::Registers;
use ameles_enclave_boundary::exit::Ending;
use linux_raw_sys::general::{
    BUS_ADRALN, ILL_ILLOPC, SEGV_ACCERR, SEGV_MAPERR, SIGBUS, SIGILL, SIGSEGV, SIGTRAP, TRAP_BRKPT,
};

/// An illegal operation of a program, for which it may have a handler.
#[derive(Clone, Copy, Debug)]
pub enum Illegal {
    /// A memory access.
    Touch {
        /// The address.
        address: u64,
        /// The kind of access.
        touch: Touch,
    },
    /// An instruction.
    Instruction,
    /// A breakpoint.
    Breakpoint,
    /// An access that the machine does not support.
    Machine {
        /// The address.
        address: u64,
    },
}

impl Illegal {
    fn reason(self) -> &'static str {
        match self {
            Illegal::Touch { touch: Touch::Load, .. } => "it read memory that it does not have",
            Illegal::Touch { touch: Touch::Store, .. } => {
                "it wrote memory that it does not have, or may only read"
            }
            Illegal::Touch { touch: Touch::Fetch, .. } => {
                "it jumped to memory that it does not have, or may not execute"
            }
            Illegal::Instruction => "it executed an illegal instruction",
            Illegal::Breakpoint => "it came to a breakpoint",
            Illegal::Machine { .. } => "it touched memory in a way that the machine does not have",
        }
    }
}

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    /// Enters the program's handler of an illegal operation.
    ///
    /// # Errors
    /// The end of the run, if it has no handler or is in it.
    #[cold]
    pub fn illegal(&mut self, what: Illegal, registers: &mut Registers) -> Result<(), Ending> {
        let (signal, code, detail) = match what {
            Illegal::Touch { address, .. } => match self.memory.space.area_of(page_of(address)) {
                None => (SIGSEGV, SEGV_MAPERR, address),
                Some(_) => (SIGSEGV, SEGV_ACCERR, address),
            },
            Illegal::Instruction => (SIGILL, ILL_ILLOPC, registers.pc),
            Illegal::Breakpoint => (SIGTRAP, TRAP_BRKPT, registers.pc),
            Illegal::Machine { address } => (SIGBUS, BUS_ADRALN, address),
        };
        let sent = SentSignal { signal: signal.into(), code: code as i32, detail, reason: what.reason() };
        if self.signals.can_handle(sent.signal) {
            return self.begin_handler(sent, registers);
        }
        Err(self.explain(signalled(sent.signal, sent.reason)))
    }
}
