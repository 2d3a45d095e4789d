//! A region's fault path behind its lock, as both traps use it.

use super::lock::Lock;
use super::pages::Pages;
use super::signals::Blocked;
use crate::after_fault::AfterFault;
use crate::failure::{Failure, OnFailure, PagingError, Verdict, abort};
use crate::fault::counters::Counters;
use crate::fault::path::{FaultPath, Served};
use crate::options::{Options, PAGE_BYTES};
use lethe_core::oram::Oram;
use lethe_seal::pages::PageError;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A fault path over whatever scheme.
pub(crate) trait Faults: Send {
    fn fault(&mut self, page: u64, pages: &mut Pages) -> Result<Served, PagingError>;
    fn discard(&mut self, range: Range<u64>, pages: &mut Pages) -> Result<(), PagingError>;
    fn idle(&mut self, pages: &Pages) -> Result<(), PagingError>;
    fn owed(&self) -> u64;
    fn counters(&self) -> Counters;
    fn trusted_bytes(&self) -> usize;
    fn wipe(&mut self, pages: &mut Pages);
}

impl<O: Oram<Error = PageError> + Send> Faults for FaultPath<O> {
    fn fault(&mut self, page: u64, pages: &mut Pages) -> Result<Served, PagingError> {
        FaultPath::fault(self, page, pages)
    }

    fn discard(&mut self, range: Range<u64>, pages: &mut Pages) -> Result<(), PagingError> {
        FaultPath::discard(self, range, pages)
    }

    fn idle(&mut self, pages: &Pages) -> Result<(), PagingError> {
        FaultPath::idle(self, pages)
    }

    fn owed(&self) -> u64 {
        FaultPath::owed(self)
    }

    fn counters(&self) -> Counters {
        *FaultPath::counters(self)
    }

    fn trusted_bytes(&self) -> usize {
        FaultPath::trusted_bytes(self)
    }

    fn wipe(&mut self, pages: &mut Pages) {
        FaultPath::wipe(self, pages);
    }
}

pub(crate) struct Inner {
    pub(crate) faults: Box<dyn Faults>,
    pub(crate) pages: Pages,
    /// Off-line work failed with this: whoever touches an absent page next is told.
    failed_idle: Option<PagingError>,
}

impl Inner {
    fn fault(&mut self, page: u64) -> Result<Served, PagingError> {
        match self.failed_idle.take() {
            Some(error) => Err(error),
            None => self.faults.fault(page, &mut self.pages),
        }
    }

    /// A step of what is owed; without any, the end of what is under way.
    fn idle(&mut self) {
        self.failed_idle = self.faults.idle(&self.pages).err();
    }
}

/// A region, as its faults see it.
pub(crate) struct Paging {
    inner: Lock<Inner>,
    /// The region's first address.
    start: usize,
    /// Something is owed. A hint, for whoever steps it.
    owes: AtomicBool,
    /// Begins and ends of faults so far. A hint, too.
    bustle: AtomicU64,
    on_failure: OnFailure,
    after_fault: AfterFault,
    has_second_process: bool,
}

impl Paging {
    pub(crate) fn new(faults: Box<dyn Faults>, pages: Pages, start: usize, options: &Options) -> Self {
        let owes = AtomicBool::new(faults.owed() > 0);
        let inner = Inner { faults, pages, failed_idle: None };
        Paging {
            inner: Lock::new(inner),
            start,
            owes,
            bustle: AtomicU64::new(0),
            on_failure: options.on_failure.clone(),
            after_fault: options.after_fault.clone(),
            has_second_process: options.scheme.manner(options).is_some(),
        }
    }

    /// Serves the fault at an address of the region. Does not return if it cannot be served, but for the verdict that
    /// the thread is to be parked. Called with all signals blocked.
    pub(crate) fn serve(&self, address: usize) -> Result<(), Verdict> {
        let page = ((address - self.start) / PAGE_BYTES) as u64;
        self.bustle.fetch_add(1, Ordering::Relaxed);
        let served = self.inner.with(|inner| {
            let served = inner.fault(page);
            if let Ok(Served::BroughtIn) = &served {
                self.tell(inner);
            }
            self.owes.store(inner.faults.owed() > 0, Ordering::Relaxed);
            self.bustle.fetch_add(1, Ordering::Relaxed);
            served
        });
        served.map(|_| ()).map_err(|error| self.failed(Failure { page, error }))
    }

    fn tell(&self, inner: &mut Inner) {
        match &self.after_fault {
            AfterFault::Nothing => {}
            AfterFault::Call(tell) => tell(&inner.faults.counters()),
            AfterFault::CallWhenStill(tell) => {
                if self.has_second_process {
                    // It owes nothing, and waits for what is under way.
                    inner.idle();
                }
                tell(&inner.faults.counters());
            }
        }
    }

    pub(crate) fn owes(&self) -> bool {
        self.owes.load(Ordering::Relaxed)
    }

    /// As long as it stays the same, no fault begins or ends.
    pub(crate) fn bustle(&self) -> u64 {
        self.bustle.load(Ordering::Relaxed)
    }

    /// One step of what is owed, unless a fault is being served or waits to be.
    pub(crate) fn idle(&self) {
        self.inner.try_with(|inner| {
            inner.idle();
            self.owes.store(inner.faults.owed() > 0, Ordering::Relaxed);
        });
    }

    /// All of what is owed, and the end of what is under way. If it fails, whoever touches an absent page next is told.
    pub(crate) fn settle(&self) {
        self.with(|inner| {
            let mut owed = true;
            while owed {
                owed = inner.faults.owed() > 0;
                inner.idle();
                owed &= inner.failed_idle.is_none();
            }
            self.owes.store(inner.faults.owed() > 0, Ordering::Relaxed);
        });
    }

    /// For what the application asks: its signal handlers may touch the region, and must not while it holds the lock.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        let _blocked = Blocked::all();
        self.inner.with(act)
    }

    pub(crate) fn discard(&self, range: Range<u64>) {
        let page = range.start;
        if let Err(error) = self.with(|inner| inner.faults.discard(range, &mut inner.pages)) {
            abort(&Failure { page, error });
        }
    }

    fn failed(&self, failure: Failure) -> Verdict {
        match self.on_failure.decide(&failure) {
            Verdict::Abort => abort(&failure),
            Verdict::Park => Verdict::Park,
        }
    }
}
