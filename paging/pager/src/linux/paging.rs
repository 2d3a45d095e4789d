//! A region's fault path behind its lock, as both traps use it.

use super::dyn_fault_path::DynFaultPath;
use super::lock::Lock;
#[cfg(target_env = "gnu")]
use super::own_stack::OwnStack;
use super::pages::Pages;
use super::paging_state::PagingState;
use super::signals::BlockedSignals;
use crate::after_fault::AfterFault;
use crate::failure::{Failure, FailureAction, OnFailure, PagingError, abort};
use crate::fault::path::FaultOutcome;
use crate::options::Options;
use crate::page::PAGE_BYTES;
use rustix::io::Errno;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A region, with the parts that its faults use.
pub(crate) struct Paging {
    pub(super) state: Lock<PagingState>,
    /// The thread that keeps the lock while it forks; 0 if none does.
    pub(super) forking_thread: AtomicU32,
    #[cfg(target_env = "gnu")]
    stack: OwnStack,
    /// The region's own addresses.
    own: Range<usize>,
    pages: u64,
    /// Work is pending. A hint for the thread that does it.
    has_pending_steps: AtomicBool,
    /// Begins and ends of faults so far. Also a hint.
    pub(super) activity_count: AtomicU64,
    spilled: Arc<AtomicU64>,
    on_failure: OnFailure,
    after_fault: AfterFault,
    has_second_process: bool,
}

impl Paging {
    pub(crate) fn new(
        fault_path: Box<dyn DynFaultPath>,
        pages: Pages,
        own: Range<usize>,
        options: &Options,
    ) -> Result<Self, Errno> {
        let has_pending_steps = AtomicBool::new(fault_path.pending_steps() > 0);
        let spilled = Arc::new(AtomicU64::new(0));
        let state = PagingState::new(fault_path, pages, Arc::clone(&spilled));
        Ok(Paging {
            state: Lock::new(state),
            forking_thread: AtomicU32::new(0),
            #[cfg(target_env = "gnu")]
            stack: OwnStack::new()?,
            own,
            pages: options.pages,
            has_pending_steps,
            activity_count: AtomicU64::new(0),
            spilled,
            on_failure: options.listeners.on_failure.clone(),
            after_fault: options.listeners.after_fault.clone(),
            has_second_process: options.work_mode().is_some(),
        })
    }

    /// Handles a fault under the lock.
    pub(super) fn handle_fault_locked(
        &self,
        state: &mut PagingState,
        address: usize,
    ) -> Result<FaultOutcome, Failure> {
        let handled = match state.page_at(address) {
            Some(page) => state.fault(page).map_err(|error| Failure { page, error }),
            None => self.on_missing_page(state, address),
        };
        if let Ok(FaultOutcome::PagedIn) = &handled {
            self.tell(state);
        }
        self.has_pending_steps.store(state.fault_path.pending_steps() > 0, Ordering::Relaxed);
        self.activity_count.fetch_add(1, Ordering::Relaxed);
        handled
    }

    /// No accessible page is mapped there: another thread has unmapped or protected it since. The access is repeated,
    /// and the kernel decides. But freed memory of the region's own addresses is an error.
    pub(super) fn on_missing_page(
        &self,
        state: &mut PagingState,
        address: usize,
    ) -> Result<FaultOutcome, Failure> {
        if self.own.contains(&address) && state.pages.extents.parts(address..address + 1).is_empty() {
            let page = ((address - self.own.start) / PAGE_BYTES) as u64;
            return Err(Failure { page, error: PagingError::OutOfRange { pages: self.pages } });
        }
        state.pages.wake(address);
        Ok(FaultOutcome::AlreadyMapped)
    }

    fn tell(&self, state: &mut PagingState) {
        match &self.after_fault {
            AfterFault::Nothing => {}
            AfterFault::Call(tell) => tell(&state.fault_path.counters()),
            AfterFault::CallWhenQuiescent(tell) => {
                if self.has_second_process {
                    // No work is pending, and it waits for writes in flight.
                    state.step();
                }
                tell(&state.fault_path.counters());
            }
        }
    }

    pub(crate) fn has_pending_steps(&self) -> bool {
        self.has_pending_steps.load(Ordering::Relaxed)
    }

    /// Returns a count. While the count does not change, no fault begins or ends.
    pub(crate) fn activity_count(&self) -> u64 {
        self.activity_count.load(Ordering::Relaxed)
    }

    /// Does a step of pending work, unless a fault is being handled or waits.
    pub(crate) fn step(&self) {
        self.state.try_with(|state| {
            state.step();
            self.has_pending_steps.store(state.fault_path.pending_steps() > 0, Ordering::Relaxed);
        });
    }

    /// Does all pending work, and waits for writes in flight. A failure is reported at the next access to an absent
    /// page.
    pub(crate) fn settle(&self) {
        self.with(move |state| {
            let mut is_pending = true;
            while is_pending {
                is_pending = state.fault_path.pending_steps() > 0;
                state.step();
                is_pending &= !state.has_step_failed();
            }
            self.has_pending_steps.store(state.fault_path.pending_steps() > 0, Ordering::Relaxed);
        });
    }

    /// Lets `act` change the state, for a request of the application. The application's signal handlers may access the
    /// region, and must not while it holds the lock. Nor must the thread itself, whose stack may be paged: `act` owns
    /// what it needs.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut PagingState) -> R) -> R {
        let state = &self.state;
        self.on_own_stack(move || state.with(act))
    }

    /// Runs `act` on a stack that is not paged. `act` takes locks for which the threads that handle faults may wait.
    pub(crate) fn on_own_stack<R>(&self, act: impl FnOnce() -> R) -> R {
        let _blocked = BlockedSignals::all();
        #[cfg(target_env = "gnu")]
        return self.stack.run(act);
        // Other C libraries do not have the calls that change a stack.
        #[cfg(not(target_env = "gnu"))]
        act()
    }

    pub(crate) fn spilled(&self) -> u64 {
        self.spilled.load(Ordering::Relaxed)
    }

    pub(crate) fn handler_stack(&self) -> Range<usize> {
        #[cfg(target_env = "gnu")]
        return self.stack.addresses();
        #[cfg(not(target_env = "gnu"))]
        Range::default()
    }

    pub(crate) fn discard(&self, range: Range<u64>) {
        let page = range.start;
        if let Err(error) = self.with(move |state| state.fault_path.discard(range, &mut state.pages)) {
            abort(&Failure { page, error });
        }
    }

    pub(crate) fn expose(&self, span: Range<usize>) {
        let page = 0;
        if let Err(error) = self.with(move |state| state.expose(span)) {
            abort(&Failure { page, error });
        }
    }

    pub(crate) fn failed(&self, failure: Failure) -> FailureAction {
        match self.on_failure.decide(&failure) {
            FailureAction::Abort => abort(&failure),
            FailureAction::Park => FailureAction::Park,
        }
    }
}
