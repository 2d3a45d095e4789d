//! Signals, and calls about other threads. There is one thread.

use super::{Done, Program, Stop, dangerous};
use crate::host::Mailbox;
use crate::processor::Processor;
use crate::registers::Registers;
use crate::stack::USER;
use alloc::collections::BTreeMap;
use ameles_enclave_boundary::exit::Ending;
use linux_raw_sys::errno::{EAGAIN, EINVAL, ENOMEM, EPERM, ESRCH, ETIMEDOUT};
use linux_raw_sys::general::{
    FUTEX_CLOCK_REALTIME, FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAKE, FUTEX_WAKE_BITSET,
    MINSIGSTKSZ, SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK, SIGCHLD, SIGCONT, SIGKILL, SIGSTOP, SIGURG, SIGWINCH,
    SS_DISABLE, SS_ONSTACK,
};

/// The number of the process and of its thread.
pub(super) const PROCESS: u64 = 1;
/// The most signals.
const SIGNALS: u64 = 64;
/// Bytes of a set of signals.
const SET_BYTES: u64 = 8;
/// The actions that are no handlers.
pub(super) const DEFAULT: u64 = 0;
const IGNORE: u64 = 1;

/// A signal that was sent, as its handler is told of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) signal: u64,
    /// The reason, as Linux numbers it.
    pub(super) code: i32,
    /// The sender's process and user, or the address.
    pub(super) detail: u64,
    /// The reason, in words.
    pub(super) reason: &'static str,
}

impl Sent {
    /// A signal of the program to itself; there is nobody else.
    pub(super) fn by_itself(signal: u64, code: i32, reason: &'static str) -> Self {
        Sent { signal, code, detail: PROCESS | USER << 32, reason }
    }
}

/// The signals of the program: what it wants done at each, and which it blocks.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Handler, flags and mask of each.
    pub(super) actions: [[u64; 3]; SIGNALS as usize],
    blocked: u64,
    pending: BTreeMap<u64, Sent>,
    /// The stack for handlers that ask for it: address, flags, bytes.
    stack: [u64; 3],
    /// True if the instructions are there to which handlers return.
    pub(super) has_way_back: bool,
}

impl Default for Signals {
    fn default() -> Self {
        let (actions, stack) = ([[0; 3]; SIGNALS as usize], [0, SS_DISABLE.into(), 0]);
        Signals { actions, blocked: 0, pending: BTreeMap::new(), stack, has_way_back: false }
    }
}

fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// The place of a signal's action.
pub(super) fn place(signal: u64) -> usize {
    (signal - 1) as usize
}

impl Signals {
    pub(super) fn blocked(&self) -> u64 {
        self.blocked
    }

    /// Blocks these signals and no others. Two cannot be blocked.
    pub(super) fn block(&mut self, signals: u64) {
        self.blocked = signals & !bit(SIGKILL.into()) & !bit(SIGSTOP.into());
    }

    /// Blocks these signals besides, and one of them by its number.
    pub(super) fn block_also(&mut self, mask: u64, signal: Option<u64>) {
        self.block(self.blocked | mask | signal.map_or(0, bit));
    }

    /// Tells whether a handler may begin at once.
    pub(super) fn can_handle(&self, signal: u64) -> bool {
        self.blocked & bit(signal) == 0 && ![DEFAULT, IGNORE].contains(&self.actions[place(signal)][0])
    }

    /// Sends a signal, unless it was sent already and is not due yet.
    pub(super) fn send(&mut self, sent: Sent) {
        self.pending.entry(sent.signal).or_insert(sent);
    }

    /// Takes the first signal that is due.
    fn due(&mut self) -> Option<Sent> {
        let signal = *self.pending.keys().find(|signal| self.blocked & bit(**signal) == 0)?;
        self.pending.remove(&signal)
    }

    /// The stack for handlers that ask for it, if there is one.
    pub(super) fn other_stack(&self) -> Option<OtherStack> {
        let [start, flags, bytes] = self.stack;
        (flags & u64::from(SS_DISABLE) == 0).then(|| OtherStack { start, end: start.saturating_add(bytes) })
    }

    /// The same as the program is told of it when its stack pointer is this.
    pub(super) fn told_stack(&self, pointer: u64) -> [u64; 3] {
        let [address, flags, bytes] = self.stack;
        let is_there = self.other_stack().is_some_and(|stack| stack.holds(pointer));
        [address, if is_there { SS_ONSTACK.into() } else { flags }, bytes]
    }
}

/// The stack for handlers that ask for it.
#[derive(Clone, Copy)]
pub(super) struct OtherStack {
    start: u64,
    pub(super) end: u64,
}

impl OtherStack {
    /// Tells whether a stack pointer is its own.
    pub(super) fn holds(self, pointer: u64) -> bool {
        pointer > self.start && pointer <= self.end
    }
}

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    pub(super) fn sigaction(&mut self, signal: u64, new: u64, old: u64, set_bytes: u64) -> Done {
        let is_fixed = signal == u64::from(SIGKILL) || signal == u64::from(SIGSTOP);
        if !(1..=SIGNALS).contains(&signal) || set_bytes != SET_BYTES || is_fixed && new != 0 {
            return Err(Stop::Errno(EINVAL));
        }
        let place = place(signal);
        let replaced = self.signals.actions[place];
        if new != 0 {
            self.signals.actions[place] = self.words(new)?;
        }
        if old != 0 {
            self.store(old, &replaced)?;
        }
        Ok(0)
    }

    pub(super) fn sigprocmask(&mut self, how: u64, new: u64, old: u64, set_bytes: u64) -> Done {
        if set_bytes != SET_BYTES {
            return Err(Stop::Errno(EINVAL));
        }
        let replaced = self.signals.blocked;
        if new != 0 {
            let [set] = self.words(new)?;
            let blocked = match u32::try_from(how) {
                Ok(SIG_BLOCK) => replaced | set,
                Ok(SIG_UNBLOCK) => replaced & !set,
                Ok(SIG_SETMASK) => set,
                _ => return Err(Stop::Errno(EINVAL)),
            };
            self.signals.block(blocked);
        }
        if old != 0 {
            self.store(old, &[replaced])?;
        }
        Ok(0)
    }

    /// The signals that were sent and are blocked.
    pub(super) fn sigpending(&mut self, into: u64, set_bytes: u64) -> Done {
        if set_bytes > SET_BYTES {
            return Err(Stop::Errno(EINVAL));
        }
        let pending = self.signals.pending.keys().fold(0, |set, signal| set | bit(*signal));
        let told = (pending & self.signals.blocked).to_le_bytes();
        self.memory.write(into, &told[..set_bytes as usize])?;
        Ok(0)
    }

    pub(super) fn sigaltstack(&mut self, [new, old, ..]: [u64; 6], pointer: u64) -> Done {
        let told = self.signals.told_stack(pointer);
        if new != 0 {
            let [address, flags, bytes] = self.words(new)?;
            // The upper half is no part of the flags.
            let flags = u64::from(flags as u32);
            match flags as u32 {
                _ if told[1] == u64::from(SS_ONSTACK) => return Err(Stop::Errno(EPERM)),
                SS_DISABLE => self.signals.stack = [0, flags, 0],
                0 | SS_ONSTACK if bytes < u64::from(MINSIGSTKSZ) => return Err(Stop::Errno(ENOMEM)),
                0 | SS_ONSTACK => self.signals.stack = [address, 0, bytes],
                _ => return Err(Stop::Errno(EINVAL)),
            }
        }
        if old != 0 {
            self.store(old, &told)?;
        }
        Ok(0)
    }

    /// The program sends itself a signal; there is nobody else.
    pub(super) fn kill(&mut self, to: u64, signal: u64, code: i32) -> Done {
        if signal > SIGNALS {
            return Err(Stop::Errno(EINVAL));
        }
        if to != PROCESS && to != 0 {
            return Err(Stop::Errno(ESRCH));
        }
        if signal != 0 {
            self.signals.send(Sent::by_itself(signal, code, "the program sent it to itself"));
        }
        Ok(0)
    }

    /// Does what the program wants done at each signal that is due.
    pub(super) fn deliver(&mut self, registers: &mut Registers) -> Result<(), Ending> {
        let harmless = [SIGCHLD, SIGCONT, SIGURG, SIGWINCH].map(u64::from);
        while let Some(sent) = self.signals.due() {
            match self.signals.actions[place(sent.signal)][0] {
                IGNORE => {}
                DEFAULT if harmless.contains(&sent.signal) => {}
                DEFAULT => return Err(by_signal(sent.signal, sent.reason)),
                _ => self.begin_handler(sent, registers)?,
            }
        }
        Ok(())
    }

    pub(super) fn futex(&mut self, address: u64, operation: u64, value: u64, timeout: u64) -> Done {
        let flags = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
        match operation as u32 & !flags {
            FUTEX_WAIT | FUTEX_WAIT_BITSET => {
                let mut word = [0; 4];
                self.memory.read(address, &mut word)?;
                if u32::from_le_bytes(word) != value as u32 {
                    return Err(Stop::Errno(EAGAIN));
                }
                if timeout != 0 {
                    return Err(Stop::Errno(ETIMEDOUT));
                }
                Err(dangerous("the program waits for another thread, and there is none"))
            }
            FUTEX_WAKE | FUTEX_WAKE_BITSET => Ok(0),
            _ => Err(Stop::Refused),
        }
    }
}

/// The end of a program by a signal.
pub(super) fn by_signal(signal: u64, reason: &str) -> Ending {
    Ending::Signalled { signal: signal as u8, reason: reason.into() }
}
