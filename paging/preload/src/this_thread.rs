//! The calling thread, as the C library names it.

/// Its name: the same in a child after `fork`.
pub(crate) fn this_thread() -> usize {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::pthread_self() as usize }
}
