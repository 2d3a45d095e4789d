//! Descriptors that `ameles page` hands on to the program for this library alone.

use libc::c_int;
use std::os::fd::{FromRawFd, OwnedFd};

/// The least number that they are moved to, where so many are allowed: programs that close theirs leave it alone.
const HIGH: c_int = 900;

/// Takes the descriptor of that number, which was inherited for nothing else. Programs that are started do not inherit
/// it further. `None` if there is none.
pub(crate) fn take(descriptor: u64) -> Option<OwnedFd> {
    let descriptor = c_int::try_from(descriptor).ok()?;
    // A lower number will do where the limit is low.
    let own = [HIGH, HIGH / 4, HIGH / 16, 3].into_iter().find_map(|min| {
        // SAFETY: duplicates an open descriptor, or fails.
        let own = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, min) };
        (own >= 0).then_some(own)
    })?;
    // SAFETY: `ameles page` has opened it for this library, and the program has not begun.
    unsafe { libc::close(descriptor) };
    // SAFETY: it was made just now.
    Some(unsafe { OwnedFd::from_raw_fd(own) })
}
