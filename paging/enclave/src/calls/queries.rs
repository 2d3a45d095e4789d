//! Calls that return facts: numbers, names, limits, random numbers, time.

use super::Program;
use super::call_error::{CallError, CallResult};
use super::descriptors::DESCRIPTORS;
use super::signals::PROCESS;
use crate::host::Mailbox;
use crate::layout::STACK_BYTES;
use crate::paging::AccessError;
use crate::processor::Processor;
use crate::stack::USER;
use ameles_enclave_boundary::mailbox::Clock;
use linux_raw_sys::errno::{EINVAL, EPERM, ERANGE, ESRCH};
use linux_raw_sys::general::{
    CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC_RAW, CLOCK_PROCESS_CPUTIME_ID,
    CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_THREAD_CPUTIME_ID, GRND_INSECURE, GRND_NONBLOCK,
    GRND_RANDOM, RLIMIT_NOFILE, RLIMIT_STACK,
};
use linux_raw_sys::prctl::PR_SET_NAME;
use rand_chacha::rand_core::RngCore;
use syscalls::riscv64::Sysno;
use zeroize::Zeroize;

/// The number of bytes of each of the six strings of `uname`.
const NAME_BYTES: usize = 65;
/// The only folder, the result of `getcwd`.
const FOLDER: &[u8] = b"/\0";

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    /// Calls that return a constant, or nothing.
    pub(super) fn query(&mut self, call: Sysno, [a, b, c, d, ..]: [u64; 6]) -> CallResult {
        match call {
            Sysno::getrandom => self.random(a, b, c),
            Sysno::prlimit64 => self.limit(a, b, c, d),
            Sysno::rseq => {
                // There is one processor, and no preemption, so there is nothing to do.
                self.store(a, &[0])?;
                Ok(0)
            }
            Sysno::uname => self.uname(a),
            Sysno::sched_getaffinity => {
                self.store(c, &[1])?;
                Ok(8)
            }
            Sysno::clock_getres if self.host.allows_clock() => {
                if b != 0 {
                    self.store(b, &[0, 1])?;
                }
                Ok(0)
            }
            Sysno::riscv_flush_icache => {
                P::flush_instructions();
                Ok(0)
            }
            Sysno::prctl if a == u64::from(PR_SET_NAME) => Ok(0),
            Sysno::getpid | Sysno::gettid | Sysno::set_tid_address => Ok(PROCESS),
            // The only process leads its group and its session.
            Sysno::getpgid | Sysno::getsid if [0, PROCESS].contains(&u64::from(a as u32)) => Ok(PROCESS),
            Sysno::getpgid | Sysno::getsid => Err(CallError::Errno(ESRCH)),
            Sysno::getcwd if b < FOLDER.len() as u64 => Err(CallError::Errno(ERANGE)),
            Sysno::getcwd => {
                self.memory.write(a, FOLDER)?;
                Ok(FOLDER.len() as u64)
            }
            Sysno::getppid | Sysno::set_robust_list | Sysno::sched_yield => Ok(0),
            Sysno::getuid | Sysno::geteuid | Sysno::getgid | Sysno::getegid => Ok(USER),
            _ => Err(CallError::Refused),
        }
    }

    /// Random bytes never come from the host.
    fn random(&mut self, into: u64, bytes: u64, flags: u64) -> CallResult {
        let both = GRND_RANDOM | GRND_INSECURE;
        let flags = flags as u32;
        if flags & !(GRND_NONBLOCK | both) != 0 || flags & both == both {
            return Err(CallError::Errno(EINVAL));
        }
        let mut drawn = [0; 256];
        let mut done = 0;
        while done < bytes {
            let part = (bytes - done).min(drawn.len() as u64) as usize;
            self.rng.fill_bytes(&mut drawn[..part]);
            let written = self.memory.write(into.wrapping_add(done), &drawn[..part]);
            drawn.zeroize();
            match written {
                Err(AccessError::Illegal) if done > 0 => break,
                written => written?,
            }
            done += part as u64;
        }
        Ok(done)
    }

    fn limit(&mut self, process: u64, resource: u64, new: u64, old: u64) -> CallResult {
        if process != 0 && process != PROCESS {
            return Err(CallError::Errno(ESRCH));
        }
        if resource > 15 {
            return Err(CallError::Errno(EINVAL));
        }
        if new != 0 {
            return Err(CallError::Errno(EPERM));
        }
        if old != 0 {
            let max = match resource as u32 {
                RLIMIT_STACK => STACK_BYTES,
                RLIMIT_NOFILE => DESCRIPTORS.into(),
                _ => u64::MAX,
            };
            self.store(old, &[max, max])?;
        }
        Ok(0)
    }

    fn uname(&mut self, into: u64) -> CallResult {
        let names = ["Linux", "enclave", "6.1.0", "#1 Ameles", "riscv64", ""];
        let mut encoded = [0; 6 * NAME_BYTES];
        for (place, name) in encoded.chunks_mut(NAME_BYTES).zip(names) {
            place[..name.len()].copy_from_slice(name.as_bytes());
        }
        self.memory.write(into, &encoded)?;
        Ok(0)
    }

    /// The host gives the time, if the program may ask for it. The time never goes back.
    fn time(&mut self, clock: u64) -> Result<(u64, u64), CallError> {
        let clock = match u32::try_from(clock) {
            Ok(CLOCK_REALTIME | CLOCK_REALTIME_COARSE) => Clock::Realtime,
            Ok(
                CLOCK_MONOTONIC
                | CLOCK_MONOTONIC_COARSE
                | CLOCK_MONOTONIC_RAW
                | CLOCK_BOOTTIME
                | CLOCK_PROCESS_CPUTIME_ID
                | CLOCK_THREAD_CPUTIME_ID,
            ) => Clock::Monotonic,
            _ => return Err(CallError::Errno(EINVAL)),
        };
        if !self.host.allows_clock() {
            return Err(CallError::Refused);
        }
        let nanos = self.host.time(clock)?;
        Ok((nanos / 1_000_000_000, nanos % 1_000_000_000))
    }

    pub(super) fn clock_gettime(&mut self, clock: u64, into: u64) -> CallResult {
        let (seconds, nanos) = self.time(clock)?;
        self.store(into, &[seconds, nanos])?;
        Ok(0)
    }

    pub(super) fn gettimeofday(&mut self, into: u64) -> CallResult {
        let (seconds, nanos) = self.time(CLOCK_REALTIME.into())?;
        if into != 0 {
            self.store(into, &[seconds, nanos / 1000])?;
        }
        Ok(0)
    }
}
