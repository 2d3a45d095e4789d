//! The handling of a region's faults, for either trap.

use super::fork_guard::this_thread;
use super::paging::Paging;
use crate::failure::{Failure, FailureAction};
use crate::fault::path::FaultOutcome;
use std::sync::atomic::Ordering;

/// The outcome of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Done,
    /// Another thread forks. The thread waits for a wake-up, and faults again.
    Deferred,
}

impl Paging {
    /// Handles the fault of a thread at an address of the region. Does not return if that fails, unless the thread is
    /// to be parked. Called with all signals blocked, and not by the thread itself.
    pub(crate) fn serve(&self, address: usize, thread: u32) -> Result<Service, FailureAction> {
        if self.forking_thread.load(Ordering::Acquire) == thread {
            return self.serve_forking_thread(address).map(|()| Service::Done);
        }
        self.activity_count.fetch_add(1, Ordering::Relaxed);
        let served = self.state.with_unless_retained(|state| self.serve_locked(state, address));
        self.outcome(served)
    }

    /// The same, by the thread itself.
    pub(crate) fn serve_in_thread(&self, address: usize) -> Result<Service, FailureAction> {
        let forking_thread = self.forking_thread.load(Ordering::Acquire);
        if forking_thread != 0 && forking_thread == this_thread() {
            return self.serve_forking_thread(address).map(|()| Service::Done);
        }
        self.activity_count.fetch_add(1, Ordering::Relaxed);
        let served = self.state.with(|state| self.serve_locked(state, address));
        self.outcome(Some(served))
    }

    fn outcome(&self, served: Option<Result<FaultOutcome, Failure>>) -> Result<Service, FailureAction> {
        match served {
            Some(Ok(_)) => Ok(Service::Done),
            Some(Err(failure)) => Err(self.failed(failure)),
            None => Ok(Service::Deferred),
        }
    }
}
