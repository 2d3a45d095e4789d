//! Identifies the calling thread.

/// Returns the C library's identifier of the calling thread. It is the same in a child after `fork`.
pub(crate) fn this_thread() -> usize {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::pthread_self() as usize }
}
