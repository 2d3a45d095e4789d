//! Identifies the calling thread.

/// Its identifier in the C library: the same in a child after `fork`.
pub(crate) fn this_thread() -> usize {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::pthread_self() as usize }
}
