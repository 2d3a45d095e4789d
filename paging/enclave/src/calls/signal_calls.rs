//! Calls about signals and other threads. There is one thread.

use super::Program;
use super::call_error::{CallError, CallResult, fatal_call};
use super::signals::{
    DEFAULT, IGNORE, PROCESS, SET_BYTES, SIGNALS, SentSignal, action_index, bit, signalled,
};
use crate::host::Mailbox;
use crate::processor::Processor;
use crate::registers::Registers;
use ameles_enclave_boundary::exit::Ending;
use linux_raw_sys::errno::{EAGAIN, EINVAL, ENOMEM, EPERM, ESRCH, ETIMEDOUT};
use linux_raw_sys::general::{
    FUTEX_CLOCK_REALTIME, FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAKE, FUTEX_WAKE_BITSET,
    MINSIGSTKSZ, SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK, SIGCHLD, SIGCONT, SIGKILL, SIGSTOP, SIGURG, SIGWINCH,
    SS_DISABLE, SS_ONSTACK,
};

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    pub(super) fn sigaction(&mut self, signal: u64, new: u64, old: u64, set_bytes: u64) -> CallResult {
        let is_fixed = signal == u64::from(SIGKILL) || signal == u64::from(SIGSTOP);
        if !(1..=SIGNALS).contains(&signal) || set_bytes != SET_BYTES || is_fixed && new != 0 {
            return Err(CallError::Errno(EINVAL));
        }
        let index = action_index(signal);
        let replaced = self.signals.actions[index];
        if new != 0 {
            self.signals.actions[index] = self.words(new)?;
        }
        if old != 0 {
            self.store(old, &replaced)?;
        }
        Ok(0)
    }

    pub(super) fn sigprocmask(&mut self, how: u64, new: u64, old: u64, set_bytes: u64) -> CallResult {
        if set_bytes != SET_BYTES {
            return Err(CallError::Errno(EINVAL));
        }
        let replaced = self.signals.blocked;
        if new != 0 {
            let [set] = self.words(new)?;
            let blocked = match u32::try_from(how) {
                Ok(SIG_BLOCK) => replaced | set,
                Ok(SIG_UNBLOCK) => replaced & !set,
                Ok(SIG_SETMASK) => set,
                _ => return Err(CallError::Errno(EINVAL)),
            };
            self.signals.block(blocked);
        }
        if old != 0 {
            self.store(old, &[replaced])?;
        }
        Ok(0)
    }

    /// The signals that were sent and are blocked.
    pub(super) fn sigpending(&mut self, into: u64, set_bytes: u64) -> CallResult {
        if set_bytes > SET_BYTES {
            return Err(CallError::Errno(EINVAL));
        }
        let pending = self.signals.pending.keys().fold(0, |set, signal| set | bit(*signal));
        let blocked_pending = (pending & self.signals.blocked).to_le_bytes();
        self.memory.write(into, &blocked_pending[..set_bytes as usize])?;
        Ok(0)
    }

    pub(super) fn sigaltstack(&mut self, [new, old, ..]: [u64; 6], pointer: u64) -> CallResult {
        let reported = self.signals.reported_stack(pointer);
        if new != 0 {
            let [address, flags, bytes] = self.words(new)?;
            // The upper half is not part of the flags.
            let flags = u64::from(flags as u32);
            match flags as u32 {
                _ if reported[1] == u64::from(SS_ONSTACK) => return Err(CallError::Errno(EPERM)),
                SS_DISABLE => self.signals.stack = [0, flags, 0],
                0 | SS_ONSTACK if bytes < u64::from(MINSIGSTKSZ) => return Err(CallError::Errno(ENOMEM)),
                0 | SS_ONSTACK => self.signals.stack = [address, 0, bytes],
                _ => return Err(CallError::Errno(EINVAL)),
            }
        }
        if old != 0 {
            self.store(old, &reported)?;
        }
        Ok(0)
    }

    /// Sends a signal of the program to itself; there is no other process.
    pub(super) fn kill(&mut self, to: u64, signal: u64, code: i32) -> CallResult {
        if signal > SIGNALS {
            return Err(CallError::Errno(EINVAL));
        }
        if to != PROCESS && to != 0 {
            return Err(CallError::Errno(ESRCH));
        }
        if signal != 0 {
            self.signals.send(SentSignal::from_self(signal, code, "the program sent it to itself"));
        }
        Ok(0)
    }

    /// Does the program's action for each pending signal that is not blocked.
    pub(super) fn deliver(&mut self, registers: &mut Registers) -> Result<(), Ending> {
        let harmless = [SIGCHLD, SIGCONT, SIGURG, SIGWINCH].map(u64::from);
        while let Some(sent) = self.signals.due() {
            match self.signals.actions[action_index(sent.signal)][0] {
                IGNORE => {}
                DEFAULT if harmless.contains(&sent.signal) => {}
                DEFAULT => return Err(signalled(sent.signal, sent.reason)),
                _ => self.begin_handler(sent, registers)?,
            }
        }
        Ok(())
    }

    pub(super) fn futex(&mut self, address: u64, operation: u64, value: u64, timeout: u64) -> CallResult {
        let flags = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
        match operation as u32 & !flags {
            FUTEX_WAIT | FUTEX_WAIT_BITSET => {
                let mut word = [0; 4];
                self.memory.read(address, &mut word)?;
                if u32::from_le_bytes(word) != value as u32 {
                    return Err(CallError::Errno(EAGAIN));
                }
                if timeout != 0 {
                    return Err(CallError::Errno(ETIMEDOUT));
                }
                Err(fatal_call("the program waits for another thread, but has none"))
            }
            FUTEX_WAKE | FUTEX_WAKE_BITSET => Ok(0),
            _ => Err(CallError::Refused),
        }
    }
}
