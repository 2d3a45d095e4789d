//! A region that one thread keeps while it forks: that thread's faults are served, and every other waits.
#![allow(unsafe_code, reason = "a lock that outlives the call that took it; each block says why it is sound")]

use super::forked::own;
use super::inner::Inner;
use super::paging::Paging;
use crate::failure::Verdict;
use std::ops::Range;
use std::sync::atomic::Ordering;

impl Paging {
    /// Acts alone, and then keeps everybody else from the region. The calling thread's faults are served all the same,
    /// without an eviction.
    pub(crate) fn keep<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        self.inner.with_and_keep(|inner| {
            let outcome = act(inner);
            inner.between = 0;
            self.keeper.store(this_thread(), Ordering::Release);
            outcome
        })
    }

    /// Tells whether a thread keeps everybody else from the region.
    pub(crate) fn is_kept(&self) -> bool {
        self.inner.is_kept()
    }

    /// The parts of a kept region.
    ///
    /// # Safety
    /// The caller keeps it, or is in a child where nobody else is left; and touches none of its pages as long as it has
    /// this.
    #[expect(clippy::mut_from_ref, reason = "the caller promises to be alone")]
    pub(crate) unsafe fn kept(&self) -> &mut Inner {
        // SAFETY: the caller promises it.
        unsafe { self.inner.kept() }
    }

    /// Lets everybody go on.
    pub(crate) fn give_up(&self) {
        self.keeper.store(0, Ordering::Release);
        self.inner.give_up();
    }

    /// Serves a fault of the thread that forks.
    pub(super) fn serve_keeper(&self, address: usize) -> Result<(), Verdict> {
        // SAFETY: the keeper waits for this fault.
        let inner = unsafe { self.kept() };
        let served = inner.fault_between(address);
        let served = served.unwrap_or_else(|| self.missed(inner, address).map(|_| ()));
        if let Err(failure) = served {
            return Err(self.failed(failure));
        }
        // Last of all: the thread may fork at once, and what stands in this memory is then in two processes.
        inner.pages.wake(address);
        Ok(())
    }

    /// Lets whoever waits at these addresses fault again.
    pub(crate) fn wake(&self, addresses: Range<usize>) {
        self.inner.with(|inner| inner.pages.wake_all(addresses));
    }

    /// Makes what is resident this process's alone again, after it has kept the region over a `fork`.
    ///
    /// # Safety
    /// The caller keeps the region.
    pub(crate) unsafe fn take_back(&self) {
        // SAFETY: as the caller promises.
        let resident = unsafe { self.kept() }.resident_places();
        // First: a child that another thread forks meanwhile would share the pages anew.
        // SAFETY: as the caller promises.
        unsafe { self.kept() }.pages.keep_from_children();
        // A page that the program has given back to the system faults: nothing of ours is borrowed meanwhile.
        resident.into_iter().for_each(own);
    }
}

/// The number of the calling thread, by which the kernel names it.
pub(super) fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}
