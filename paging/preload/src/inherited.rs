//! Descriptors that `ameles page` passes to this library through the program.

use libc::c_int;
use std::os::fd::{FromRawFd, OwnedFd};

/// The lowest number to which the descriptors are moved, if the limit allows it. Programs that close their descriptors
/// rarely reach it.
const HIGH: c_int = 900;

/// Takes the descriptor with this number, which was inherited for this only. Programs that are started do not inherit
/// it. `None` if there is none.
pub(crate) fn take(descriptor: u64) -> Option<OwnedFd> {
    let descriptor = c_int::try_from(descriptor).ok()?;
    // A lower number is used where the limit is low.
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
