//! The notification of a child after `fork` to its parent that its memory is ready.
#![allow(unsafe_code, reason = "a page that two processes share; each block says why it is sound")]

use crate::page::PAGE_BYTES;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::futex;
use rustix::time::Timespec;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

const AWAITED: u32 = 0;
const STANDS: u32 = 1;
/// The reason is in the upper bits.
const FAILED: u32 = 2;

/// The time between two checks whether the child lives.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A word that parent and child share.
pub(crate) struct ChildReady {
    word: *mut AtomicU32,
}

// SAFETY: only an atomic is accessed through it, which lives as long as this.
unsafe impl Send for ChildReady {}
// SAFETY: as above.
unsafe impl Sync for ChildReady {}

impl ChildReady {
    pub(crate) fn new() -> Result<Self, Errno> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping of zeros, at an address of the kernel's choice.
        let word = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), PAGE_BYTES, protection, flags)? };
        Ok(ChildReady { word: word.cast() })
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the page is mapped as long as this lives.
        unsafe { &*self.word }
    }

    /// Notifies the parent of the outcome, in the child.
    pub(crate) fn tell(&self, outcome: Result<(), Errno>) {
        let word = outcome.map_or_else(|errno| FAILED | (errno.raw_os_error() as u32) << 8, |()| STANDS);
        self.word().store(word, Ordering::SeqCst);
        // The page is mapped as long as this lives: waking cannot fail.
        let _ = futex::wake(self.word(), futex::Flags::empty(), 1);
    }

    /// Waits for the notification, in the parent. A child that ends before it has had no memory; it is waited for.
    pub(crate) fn wait(&self, child: libc::pid_t) -> Result<(), Errno> {
        loop {
            // Checked in this order: a notification before the end of the child counts.
            let ended = has_ended(child);
            let word = self.word().load(Ordering::SeqCst);
            match word & 0xff {
                AWAITED if !ended => {}
                STANDS => return Ok(()),
                _ => {
                    // SAFETY: a child of this process; another thread may have waited for it.
                    unsafe { libc::waitpid(child, ptr::null_mut(), libc::__WALL) };
                    return Err(if word == AWAITED {
                        Errno::NOMEM
                    } else {
                        Errno::from_raw_os_error((word >> 8) as i32)
                    });
                }
            }
            // Woken, interrupted, late or changed before we slept: check again in any case.
            let _ = futex::wait(self.word(), futex::Flags::empty(), AWAITED, Some(&LOOK));
        }
    }
}

/// Returns whether a child has ended and is still to be waited for.
fn has_ended(child: libc::pid_t) -> bool {
    let mut about = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: the call fills what it is given; zeros mean that there is nothing to report.
    unsafe {
        let answer = libc::waitid(libc::P_PID, child as libc::id_t, about.as_mut_ptr(), how);
        answer != 0 || about.assume_init().si_pid() == child
    }
}

impl Drop for ChildReady {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and there is no borrow of it.
        let unmapped = unsafe { rustix::mm::munmap(self.word.cast(), PAGE_BYTES) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}
