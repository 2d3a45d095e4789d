//! The processor that a thread runs on: a hint only, which may be out of date at once.

/// The number of the processor, by the kernel's shared page and without a system call (rustix). Where there is no such
/// thing it is always 0, so that all threads seem to share one.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn current() -> usize {
    rustix::thread::sched_getcpu()
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn current() -> usize {
    0
}
