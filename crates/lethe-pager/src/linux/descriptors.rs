//! A thread's own table of descriptors.
#![allow(unsafe_code, reason = "a system call on this thread's table; the block says why it is sound")]

/// Gives this thread a copy of the process's table. What the program closes from now on stays open here, also if it
/// closes every descriptor that it can name, as daemons do. Where the system does not allow it, the table stays shared.
pub(crate) fn keep_for_this_thread() {
    // SAFETY: each descriptor that this thread knows has the same number in the copy.
    unsafe { libc::unshare(libc::CLONE_FILES) };
}
