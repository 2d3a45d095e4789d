//! Keeps a region locked by a thread that forks: that thread's faults are handled, and other threads wait.
#![allow(unsafe_code, reason = "a lock that outlives the call that took it; each block says why it is sound")]

use super::forked::unshare_page;
use super::paging::Paging;
use super::paging_state::PagingState;
use crate::failure::FailureAction;
use std::ops::Range;
use std::sync::atomic::Ordering;

impl Paging {
    /// Locks the region, runs `act`, and keeps the region locked. The faults of the calling thread are still handled,
    /// without an eviction.
    pub(crate) fn lock_and_keep<R>(&self, act: impl FnOnce(&mut PagingState) -> R) -> R {
        self.state.lock_and_keep(|state| {
            let outcome = act(state);
            state.faults_before_fork = 0;
            self.forking_thread.store(this_thread(), Ordering::Release);
            outcome
        })
    }

    /// Returns whether a thread has the region locked.
    pub(crate) fn is_lock_kept(&self) -> bool {
        self.state.is_kept()
    }

    /// The state of a locked region.
    ///
    /// # Safety
    /// The caller has locked the region, or is in a child without other threads. It accesses no page of the region
    /// while it has this reference.
    #[expect(clippy::mut_from_ref, reason = "the caller promises to be alone")]
    pub(crate) unsafe fn state_under_kept_lock(&self) -> &mut PagingState {
        // SAFETY: the caller promises it.
        unsafe { self.state.value_while_kept() }
    }

    /// Unlocks the region.
    pub(crate) fn unlock_kept(&self) {
        self.forking_thread.store(0, Ordering::Release);
        self.state.unlock_kept();
    }

    /// Handles a fault of the thread that forks.
    pub(super) fn handle_forking_fault(&self, address: usize) -> Result<(), FailureAction> {
        // SAFETY: the keeper waits for this fault.
        let state = unsafe { self.state_under_kept_lock() };
        let handled = state.fault_before_fork(address);
        let handled = handled.unwrap_or_else(|| self.on_missing_page(state, address).map(|_| ()));
        if let Err(failure) = handled {
            return Err(self.failed(failure));
        }
        // This comes last: the thread may fork at once, and this memory is then in two processes.
        state.pages.wake(address);
        Ok(())
    }

    /// Wakes the threads that wait at these addresses, so that they fault again.
    pub(crate) fn wake(&self, addresses: Range<usize>) {
        self.state.with(|state| state.pages.wake_all(addresses));
    }

    /// Makes the resident pages this process's own again, after it had the region locked during a `fork`.
    ///
    /// # Safety
    /// The caller has the region locked.
    pub(crate) unsafe fn unshare_resident(&self) {
        // SAFETY: as the caller promises.
        let resident = unsafe { self.state_under_kept_lock() }.resident_addresses();
        // First: a child that another thread forks meanwhile would share the pages again.
        // SAFETY: as the caller promises.
        unsafe { self.state_under_kept_lock() }.pages.hide_from_children();
        // A page that the program has discarded faults: there is no borrow of ours meanwhile.
        resident.into_iter().for_each(unshare_page);
    }
}

/// The kernel's number of the calling thread.
pub(super) fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}
