//! A region's fault path behind its lock, as both traps use it.

use super::faults::Faults;
use super::inner::Inner;
use super::lock::Lock;
#[cfg(target_env = "gnu")]
use super::own_stack::OwnStack;
use super::pages::Pages;
use super::signals::Blocked;
use crate::after_fault::AfterFault;
use crate::failure::{Failure, OnFailure, PagingError, Verdict, abort};
use crate::fault::path::Served;
use crate::options::Options;
use crate::page::PAGE_BYTES;
use rustix::io::Errno;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A region, as its faults see it.
pub(crate) struct Paging {
    pub(super) inner: Lock<Inner>,
    /// The thread that keeps the lock while it forks; 0 if none does.
    pub(super) keeper: AtomicU32,
    #[cfg(target_env = "gnu")]
    stack: OwnStack,
    /// The region's own addresses.
    own: Range<usize>,
    pages: u64,
    /// Something is owed. A hint, for whoever steps it.
    owes: AtomicBool,
    /// Begins and ends of faults so far. A hint, too.
    pub(super) activity_count: AtomicU64,
    spilt: Arc<AtomicU64>,
    on_failure: OnFailure,
    after_fault: AfterFault,
    has_second_process: bool,
}

impl Paging {
    pub(crate) fn new(
        faults: Box<dyn Faults>,
        pages: Pages,
        own: Range<usize>,
        options: &Options,
    ) -> Result<Self, Errno> {
        let owes = AtomicBool::new(faults.pending_steps() > 0);
        let spilt = Arc::new(AtomicU64::new(0));
        let inner = Inner::new(faults, pages, Arc::clone(&spilt));
        Ok(Paging {
            inner: Lock::new(inner),
            keeper: AtomicU32::new(0),
            #[cfg(target_env = "gnu")]
            stack: OwnStack::new()?,
            own,
            pages: options.pages,
            owes,
            activity_count: AtomicU64::new(0),
            spilt,
            on_failure: options.listeners.on_failure.clone(),
            after_fault: options.listeners.after_fault.clone(),
            has_second_process: options.manner().is_some(),
        })
    }

    /// Serves a fault under the lock.
    pub(super) fn serve_alone(&self, inner: &mut Inner, address: usize) -> Result<Served, Failure> {
        let served = match inner.page_at(address) {
            Some(page) => inner.fault(page).map_err(|error| Failure { page, error }),
            None => self.missed(inner, address),
        };
        if let Ok(Served::PagedIn) = &served {
            self.tell(inner);
        }
        self.owes.store(inner.faults.pending_steps() > 0, Ordering::Relaxed);
        self.activity_count.fetch_add(1, Ordering::Relaxed);
        served
    }

    /// Nothing stands there that may be touched: another thread has unmapped or protected it since. The touch is done
    /// again, and the kernel says what it comes to. But what was given back of the region's own addresses is nobody's.
    pub(super) fn missed(&self, inner: &mut Inner, address: usize) -> Result<Served, Failure> {
        if self.own.contains(&address) && inner.pages.extents.parts(address..address + 1).is_empty() {
            let page = ((address - self.own.start) / PAGE_BYTES) as u64;
            return Err(Failure { page, error: PagingError::OutOfRange { pages: self.pages } });
        }
        inner.pages.wake(address);
        Ok(Served::WasThere)
    }

    fn tell(&self, inner: &mut Inner) {
        match &self.after_fault {
            AfterFault::Nothing => {}
            AfterFault::Call(tell) => tell(&inner.faults.counters()),
            AfterFault::CallWhenStill(tell) => {
                if self.has_second_process {
                    // It owes nothing, and waits for what is under way.
                    inner.step();
                }
                tell(&inner.faults.counters());
            }
        }
    }

    pub(crate) fn owes(&self) -> bool {
        self.owes.load(Ordering::Relaxed)
    }

    /// As long as it stays the same, no fault begins or ends.
    pub(crate) fn activity_count(&self) -> u64 {
        self.activity_count.load(Ordering::Relaxed)
    }

    /// Does a step of what is owed, unless a fault is being served or waits to be.
    pub(crate) fn step(&self) {
        self.inner.try_with(|inner| {
            inner.step();
            self.owes.store(inner.faults.pending_steps() > 0, Ordering::Relaxed);
        });
    }

    /// Does all of what is owed, and ends what is under way. If it fails, the next touch of an absent page is told.
    pub(crate) fn settle(&self) {
        self.with(move |inner| {
            let mut owed = true;
            while owed {
                owed = inner.faults.pending_steps() > 0;
                inner.step();
                owed &= !inner.has_failed();
            }
            self.owes.store(inner.faults.pending_steps() > 0, Ordering::Relaxed);
        });
    }

    /// For what the application asks: its signal handlers may touch the region, and must not while it holds the lock.
    /// Nor must the thread itself, whose stack may be paged: `act` owns what it needs.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        let inner = &self.inner;
        self.aside(move || inner.with(act))
    }

    /// For what else the threads that serve faults may wait for.
    pub(crate) fn aside<R>(&self, act: impl FnOnce() -> R) -> R {
        let _blocked = Blocked::all();
        #[cfg(target_env = "gnu")]
        return self.stack.run(act);
        // No other C library has the calls that change a stack.
        #[cfg(not(target_env = "gnu"))]
        act()
    }

    pub(crate) fn spilt(&self) -> u64 {
        self.spilt.load(Ordering::Relaxed)
    }

    pub(crate) fn errand_stack(&self) -> Range<usize> {
        #[cfg(target_env = "gnu")]
        return self.stack.addresses();
        #[cfg(not(target_env = "gnu"))]
        Range::default()
    }

    pub(crate) fn discard(&self, range: Range<u64>) {
        let page = range.start;
        if let Err(error) = self.with(move |inner| inner.faults.discard(range, &mut inner.pages)) {
            abort(&Failure { page, error });
        }
    }

    pub(crate) fn expose(&self, span: Range<usize>) {
        let page = 0;
        if let Err(error) = self.with(move |inner| inner.expose(span)) {
            abort(&Failure { page, error });
        }
    }

    pub(crate) fn failed(&self, failure: Failure) -> Verdict {
        match self.on_failure.decide(&failure) {
            Verdict::Abort => abort(&failure),
            Verdict::Park => Verdict::Park,
        }
    }
}
