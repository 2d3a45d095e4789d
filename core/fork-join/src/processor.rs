//! The processor that a thread runs on. It is a hint: it may be out of date at once.

/// Returns the number of the processor, from the kernel's shared page and without a system call (rustix). Elsewhere it
/// returns 0, as if all threads shared one processor.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn current() -> usize {
    rustix::thread::sched_getcpu()
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn current() -> usize {
    0
}
