//! The `errno` of the calling thread.

/// The `errno` of the last call.
pub(crate) fn errno() -> libc::c_int {
    // SAFETY: the pointer is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets `errno`.
pub(crate) fn fail(errno: libc::c_int) {
    // SAFETY: the pointer is this thread's own.
    unsafe { *libc::__errno_location() = errno };
}
