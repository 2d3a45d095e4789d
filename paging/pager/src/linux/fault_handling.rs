//! The handling of a region's faults, for either trap.

use super::fork_guard::this_thread;
use super::paging::Paging;
use crate::failure::{Failure, FailureAction};
use crate::fault::path::FaultOutcome;
use std::sync::atomic::Ordering;

/// The outcome of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultStatus {
    Done,
    /// Another thread forks. The thread waits for a wake-up, and faults again.
    Deferred,
}

impl Paging {
    /// Handles the fault of a thread at an address of the region. If that fails, it returns only if the thread is to
    /// be parked. The caller is another thread, and has blocked all signals.
    pub(crate) fn handle_fault(&self, address: usize, thread: u32) -> Result<FaultStatus, FailureAction> {
        if self.forking_thread.load(Ordering::Acquire) == thread {
            return self.handle_forking_fault(address).map(|()| FaultStatus::Done);
        }
        self.activity_count.fetch_add(1, Ordering::Relaxed);
        let handled = self.state.with_unless_kept(|state| self.handle_fault_locked(state, address));
        self.outcome(handled)
    }

    /// Handles a fault on the thread that faulted.
    pub(crate) fn handle_own_fault(&self, address: usize) -> Result<FaultStatus, FailureAction> {
        let forking_thread = self.forking_thread.load(Ordering::Acquire);
        if forking_thread != 0 && forking_thread == this_thread() {
            return self.handle_forking_fault(address).map(|()| FaultStatus::Done);
        }
        self.activity_count.fetch_add(1, Ordering::Relaxed);
        let handled = self.state.with(|state| self.handle_fault_locked(state, address));
        self.outcome(Some(handled))
    }

    fn outcome(&self, handled: Option<Result<FaultOutcome, Failure>>) -> Result<FaultStatus, FailureAction> {
        match handled {
            Some(Ok(_)) => Ok(FaultStatus::Done),
            Some(Err(failure)) => Err(self.failed(failure)),
            None => Ok(FaultStatus::Deferred),
        }
    }
}
