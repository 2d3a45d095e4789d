//! A thread's signal mask.
#![allow(unsafe_code, reason = "libc's signal calls; each block says why it is sound")]

use std::mem::MaybeUninit;

/// Blocks signals on this thread until it is dropped, so no signal handler of the application runs; threads that are
/// made meanwhile inherit that permanently.
pub(crate) struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    pub(crate) fn all() -> Self {
        Self::all_but(&[])
    }

    /// All but those that a fault of the thread itself causes: blocking one of them would end the process.
    pub(crate) fn all_but_faults() -> Self {
        Self::all_but(&[libc::SIGBUS, libc::SIGSEGV, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP])
    }

    fn all_but(open: &[libc::c_int]) -> Self {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: `sigfillset` fills the set, from which signals may be taken; `pthread_sigmask` reads it, fills the
        // other, and cannot fail with these arguments.
        let before = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for signal in open {
                libc::sigdelset(all.as_mut_ptr(), *signal);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            before.assume_init()
        };
        BlockedSignals { before }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: `before` is what `pthread_sigmask` gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// Returns whether this thread blocks SIGBUS.
pub(crate) fn sigbus_is_blocked() -> bool {
    let mut now = MaybeUninit::uninit();
    // SAFETY: without a new mask the call only fills `now`.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), now.as_mut_ptr());
        libc::sigismember(now.as_ptr(), libc::SIGBUS) == 1
    }
}
