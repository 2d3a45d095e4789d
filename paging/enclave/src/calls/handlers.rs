//! Entering a signal handler of the program, and returning from it.
//!
//! The handler finds on its stack the reason of its call and the state of the program. When it returns, two
//! instructions request this state back, with the handler's changes. The state is the program's own, and none of it is
//! trusted.

use super::Program;
use super::call_error::CallError;
use super::signals::{DEFAULT, SentSignal, action_index, signalled};
use crate::host::Mailbox;
use crate::layout::trampoline;
use crate::processor::Processor;
use crate::registers::{ARGUMENT, NUMBER, RETURN_ADDRESS, Registers, STACK_POINTER};
use alloc::format;
use ameles_enclave_boundary::exit::Ending;
use linux_raw_sys::errno::EFAULT;
use linux_raw_sys::general::{SA_NODEFER, SA_ONSTACK, SA_RESETHAND, SIGSEGV};
use syscalls::riscv64::Sysno;

/// The number of bytes of the handler's stack frame, and the places of its parts, as in Linux.
const FRAME_BYTES: usize = 1088;
const CONTEXT: usize = 128;
const STACK: usize = CONTEXT + 16;
const MASK: usize = CONTEXT + 40;
const PC: usize = CONTEXT + 176;
const GENERAL: usize = PC + 8;
const FLOATING: usize = PC + 256;
const FLOATING_STATUS: usize = FLOATING + 256;

/// `li a7, rt_sigreturn` and `ecall`. Debuggers recognise a handler's frame by these two.
const TRAMPOLINE: [u32; 2] = [0x13 | (NUMBER as u32) << 7 | (Sysno::rt_sigreturn as u32) << 20, 0x73];

struct Frame([u8; FRAME_BYTES]);

impl Frame {
    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(core::array::from_fn(|nth| self.0[at + nth]))
    }

    fn words(&self, at: usize, into: &mut [u64]) {
        for (nth, word) in into.iter_mut().enumerate() {
            *word = self.word(at + 8 * nth);
        }
    }

    fn put(&mut self, at: usize, words: &[u64]) {
        for (place, word) in self.0[at..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
}

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    /// Continues in the handler of a signal.
    #[cold]
    pub(super) fn begin_handler(
        &mut self,
        sent: SentSignal,
        registers: &mut Registers,
    ) -> Result<(), Ending> {
        self.prepare(sent, registers).map_err(|stop| match stop {
            CallError::End(ending) => ending,
            CallError::Errno(_) | CallError::Refused => signalled(
                SIGSEGV.into(),
                &format!("there is no room for its handler of signal {}", sent.signal),
            ),
        })
    }

    fn prepare(&mut self, sent: SentSignal, registers: &mut Registers) -> Result<(), CallError> {
        let [handler, flags, mask] = self.signals.actions[action_index(sent.signal)];
        let has = |flag: u32| flags & u64::from(flag) != 0;
        let back = self.trampoline()?;
        let pointer = registers.general[STACK_POINTER];
        let other = self.signals.alternate_stack().filter(|stack| has(SA_ONSTACK) || stack.holds(pointer));
        let top = other.filter(|stack| !stack.holds(pointer)).map_or(pointer, |stack| stack.end);
        let at = top.wrapping_sub(FRAME_BYTES as u64) & !15;
        if other.is_some_and(|stack| !stack.holds(at)) {
            return Err(CallError::Errno(EFAULT));
        }
        let mut frame = Frame([0; FRAME_BYTES]);
        frame.put(0, &[sent.signal, u64::from(sent.code as u32), sent.detail]);
        frame.put(STACK, &self.signals.reported_stack(pointer));
        frame.put(MASK, &[self.signals.blocked]);
        frame.put(PC, &[registers.pc]);
        frame.put(GENERAL, &registers.general[1..]);
        frame.put(FLOATING, &registers.floating);
        frame.put(FLOATING_STATUS, &[registers.floating_status]);
        self.memory.write(at, &frame.0)?;
        self.signals.block_also(mask, (!has(SA_NODEFER)).then_some(sent.signal));
        if has(SA_RESETHAND) {
            self.signals.actions[action_index(sent.signal)][0] = DEFAULT;
        }
        registers.general[RETURN_ADDRESS] = back;
        registers.general[STACK_POINTER] = at;
        registers.general[ARGUMENT..ARGUMENT + 3].copy_from_slice(&[sent.signal, at, at + CONTEXT as u64]);
        registers.pc = handler;
        Ok(())
    }

    /// Continues where the program was before its handler.
    #[cold]
    pub(super) fn sigreturn(&mut self, registers: &mut Registers) -> Result<(), Ending> {
        let mut frame = Frame([0; FRAME_BYTES]);
        self.memory.read(registers.general[STACK_POINTER], &mut frame.0).map_err(|error| {
            match error.into() {
                CallError::End(ending) => ending,
                CallError::Errno(_) | CallError::Refused => {
                    signalled(SIGSEGV.into(), "a signal handler returned to an unmapped stack")
                }
            }
        })?;
        self.signals.block(frame.word(MASK));
        registers.pc = frame.word(PC);
        frame.words(GENERAL, &mut registers.general[1..]);
        frame.words(FLOATING, &mut registers.floating);
        registers.floating_status = u64::from(frame.word(FLOATING_STATUS) as u32);
        registers.floating_is_new = true;
        Ok(())
    }

    /// The address to which handlers return. Its page is filled for the first of them.
    fn trampoline(&mut self) -> Result<u64, CallError> {
        let at = trampoline(self.memory.mode()).start;
        if !self.signals.has_trampoline {
            self.memory.load(at, TRAMPOLINE.map(u32::to_le_bytes).as_flattened())?;
            P::flush_instructions();
            self.signals.has_trampoline = true;
        }
        Ok(at)
    }
}
