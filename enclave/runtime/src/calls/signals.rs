//! Calls about signals and other threads. There is one thread, and no handler is ever run.

use super::{Done, Program, Stop, dangerous};
use crate::host::Mailbox;
use crate::processor::Processor;
use alloc::format;
use linux_raw_sys::errno::{EAGAIN, EINVAL, ESRCH, ETIMEDOUT};
use linux_raw_sys::general::{
    FUTEX_CLOCK_REALTIME, FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAKE, FUTEX_WAKE_BITSET,
    SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK, SIGCHLD, SIGCONT, SIGKILL, SIGSTOP, SIGURG, SIGWINCH, SS_DISABLE,
};

/// The number of the process and of its thread.
pub(super) const PROCESS: u64 = 1;
/// The most signals.
const SIGNALS: u64 = 64;
/// Bytes of a set of signals.
const SET_BYTES: u64 = 8;
/// The actions that are no handlers.
const DEFAULT: u64 = 0;
const IGNORE: u64 = 1;

/// The signals of the program: what it wants done at each, and which it blocks.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Handler, flags and mask of each.
    actions: [[u64; 3]; SIGNALS as usize],
    blocked: u64,
    pending: u64,
    /// The stack that it would have for handlers: address, flags, bytes.
    stack: [u64; 3],
}

impl Default for Signals {
    fn default() -> Self {
        let stack = [0, SS_DISABLE.into(), 0];
        Signals { actions: [[0; 3]; SIGNALS as usize], blocked: 0, pending: 0, stack }
    }
}

fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    pub(super) fn sigaction(&mut self, signal: u64, new: u64, old: u64, set_bytes: u64) -> Done {
        let is_fixed = signal == u64::from(SIGKILL) || signal == u64::from(SIGSTOP);
        if !(1..=SIGNALS).contains(&signal) || set_bytes != SET_BYTES || is_fixed && new != 0 {
            return Err(Stop::Errno(EINVAL));
        }
        let place = (signal - 1) as usize;
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
            self.signals.blocked = blocked & !bit(SIGKILL.into()) & !bit(SIGSTOP.into());
        }
        if old != 0 {
            self.store(old, &[replaced])?;
        }
        let due = self.signals.pending & !self.signals.blocked;
        for signal in (1..=SIGNALS).filter(|signal| due & bit(*signal) != 0) {
            self.signals.pending &= !bit(signal);
            self.deliver(signal)?;
        }
        Ok(0)
    }

    pub(super) fn sigaltstack(&mut self, new: u64, old: u64) -> Done {
        let replaced = self.signals.stack;
        if new != 0 {
            self.signals.stack = self.words(new)?;
        }
        if old != 0 {
            self.store(old, &replaced)?;
        }
        Ok(0)
    }

    /// The program sends itself a signal; there is nobody else.
    pub(super) fn kill(&mut self, to: u64, signal: u64) -> Done {
        if signal > SIGNALS {
            return Err(Stop::Errno(EINVAL));
        }
        if to != PROCESS && to != 0 {
            return Err(Stop::Errno(ESRCH));
        }
        if signal == 0 {
            return Ok(0);
        }
        if self.signals.blocked & bit(signal) != 0 {
            self.signals.pending |= bit(signal);
            return Ok(0);
        }
        self.deliver(signal)?;
        Ok(0)
    }

    fn deliver(&mut self, signal: u64) -> Result<(), Stop> {
        let harmless = [SIGCHLD, SIGCONT, SIGURG, SIGWINCH];
        match self.signals.actions[(signal - 1) as usize][0] {
            IGNORE => Ok(()),
            DEFAULT if harmless.iter().any(|other| u64::from(*other) == signal) => Ok(()),
            DEFAULT => Err(Stop::End(self.illegal(signal as u32, "the program sent it to itself"))),
            _ => Err(dangerous(&format!(
                "the program sends itself signal {signal}, which it handles: no handler is run here"
            ))),
        }
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
