//! The signals of the program.

use crate::stack::USER;
use alloc::collections::BTreeMap;
use ameles_enclave_boundary::exit::Ending;
use linux_raw_sys::general::{SIGKILL, SIGSTOP, SS_DISABLE, SS_ONSTACK};

/// The number of the process and of its thread.
pub(super) const PROCESS: u64 = 1;
/// The maximum number of signals.
pub(super) const SIGNALS: u64 = 64;
/// The number of bytes of a set of signals.
pub(super) const SET_BYTES: u64 = 8;
/// The actions that are not handlers.
pub(super) const DEFAULT: u64 = 0;
pub(super) const IGNORE: u64 = 1;

/// A signal that was sent, with the information for its handler.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentSignal {
    pub(super) signal: u64,
    /// The reason, in Linux's numbering.
    pub(super) code: i32,
    /// The sender's process and user, or the address.
    pub(super) detail: u64,
    /// The reason, in words.
    pub(super) reason: &'static str,
}

impl SentSignal {
    /// A signal of the program to itself; there is no other process.
    pub(super) fn from_self(signal: u64, code: i32, reason: &'static str) -> Self {
        SentSignal { signal, code, detail: PROCESS | USER << 32, reason }
    }
}

/// The signals of the program: the action of each, and which are blocked.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Handler, flags and mask of each.
    pub(super) actions: [[u64; 3]; SIGNALS as usize],
    pub(super) blocked: u64,
    pub(super) pending: BTreeMap<u64, SentSignal>,
    /// The alternate stack of handlers: address, flags, bytes.
    pub(super) stack: [u64; 3],
    /// True if the instructions to which handlers return are mapped.
    pub(super) has_trampoline: bool,
}

impl Default for Signals {
    fn default() -> Self {
        let (actions, stack) = ([[0; 3]; SIGNALS as usize], [0, SS_DISABLE.into(), 0]);
        Signals { actions, blocked: 0, pending: BTreeMap::new(), stack, has_trampoline: false }
    }
}

pub(super) fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// The index of a signal's action.
pub(super) fn action_index(signal: u64) -> usize {
    (signal - 1) as usize
}

impl Signals {
    /// Blocks these signals and no others. Two cannot be blocked.
    pub(super) fn block(&mut self, signals: u64) {
        self.blocked = signals & !bit(SIGKILL.into()) & !bit(SIGSTOP.into());
    }

    /// Blocks these signals in addition, and one of them by its number.
    pub(super) fn block_also(&mut self, mask: u64, signal: Option<u64>) {
        self.block(self.blocked | mask | signal.map_or(0, bit));
    }

    /// Returns whether a handler may be entered at once.
    pub(super) fn can_handle(&self, signal: u64) -> bool {
        self.blocked & bit(signal) == 0 && ![DEFAULT, IGNORE].contains(&self.actions[action_index(signal)][0])
    }

    /// Sends a signal, unless it is pending already.
    pub(super) fn send(&mut self, sent: SentSignal) {
        self.pending.entry(sent.signal).or_insert(sent);
    }

    /// Takes the first signal that is pending and not blocked.
    pub(super) fn due(&mut self) -> Option<SentSignal> {
        let signal = *self.pending.keys().find(|signal| self.blocked & bit(**signal) == 0)?;
        self.pending.remove(&signal)
    }

    /// The alternate stack of handlers, if there is one.
    pub(super) fn alternate_stack(&self) -> Option<AlternateStack> {
        let [start, flags, bytes] = self.stack;
        (flags & u64::from(SS_DISABLE) == 0)
            .then(|| AlternateStack { start, end: start.saturating_add(bytes) })
    }

    /// The alternate stack as it is reported to the program for this stack pointer.
    pub(super) fn reported_stack(&self, pointer: u64) -> [u64; 3] {
        let [address, flags, bytes] = self.stack;
        let is_there = self.alternate_stack().is_some_and(|stack| stack.holds(pointer));
        [address, if is_there { SS_ONSTACK.into() } else { flags }, bytes]
    }
}

/// The alternate stack of handlers.
#[derive(Clone, Copy)]
pub(super) struct AlternateStack {
    start: u64,
    pub(super) end: u64,
}

impl AlternateStack {
    /// Returns whether a stack pointer is in it.
    pub(super) fn holds(self, pointer: u64) -> bool {
        pointer > self.start && pointer <= self.end
    }
}

/// The ending of a program by a signal.
pub(super) fn signalled(signal: u64, reason: &str) -> Ending {
    Ending::Signalled { signal: signal as u8, reason: reason.into() }
}
