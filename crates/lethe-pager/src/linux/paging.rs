//! A region's fault path behind its lock, as both traps use it.

use super::lock::Lock;
#[cfg(target_env = "gnu")]
use super::own_stack::OwnStack;
use super::pages::Pages;
use super::signals::Blocked;
use crate::after_fault::AfterFault;
use crate::extents::IfFull;
use crate::failure::{Failure, OnFailure, PagingError, Verdict, abort, end, say};
use crate::fault::counters::Counters;
use crate::fault::fork::{Books, Stored};
use crate::fault::path::{FaultPath, Served};
use crate::options::{Options, PAGE_BYTES};
use lethe_core::oram::Oram;
use lethe_seal::pages::PageError;
use rustix::io::Errno;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A fault path over whatever scheme.
pub(crate) trait Faults: Send {
    fn fault(&mut self, page: u64, pages: &mut Pages) -> Result<Served, PagingError>;
    fn discard(&mut self, range: Range<u64>, pages: &mut Pages) -> Result<(), PagingError>;
    fn idle(&mut self, pages: &Pages) -> Result<(), PagingError>;
    fn owed(&self) -> u64;
    fn counters(&self) -> Counters;
    fn trusted_bytes(&self) -> usize;
    fn is_mapped(&self, page: u64) -> bool;
    fn wipe(&mut self, pages: &mut Pages);
    fn begin_fork(&mut self, pages: &mut Pages) -> Result<Stored, PagingError>;
    fn read_stored(&mut self, page: Option<u32>, into: &mut [u8]) -> Result<(), PagingError>;
    fn fault_between(&mut self, page: u64, pages: &mut Pages) -> Result<(), PagingError>;
    fn fill(&mut self, page: u64, from: &[u8]) -> Result<(), PagingError>;
    fn mapped(&self) -> Vec<u64>;
    fn hand_over(&mut self) -> Books;
    fn take_over(&mut self, books: Books, stored: &[u32]);
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

    fn is_mapped(&self, page: u64) -> bool {
        FaultPath::is_mapped(self, page)
    }

    fn wipe(&mut self, pages: &mut Pages) {
        FaultPath::wipe(self, pages);
    }

    fn begin_fork(&mut self, pages: &mut Pages) -> Result<Stored, PagingError> {
        FaultPath::begin_fork(self, pages)
    }

    fn read_stored(&mut self, page: Option<u32>, into: &mut [u8]) -> Result<(), PagingError> {
        FaultPath::read_stored(self, page, into)
    }

    fn fault_between(&mut self, page: u64, pages: &mut Pages) -> Result<(), PagingError> {
        FaultPath::fault_between(self, page, pages)
    }

    fn fill(&mut self, page: u64, from: &[u8]) -> Result<(), PagingError> {
        FaultPath::fill(self, page, from)
    }

    fn mapped(&self) -> Vec<u64> {
        FaultPath::mapped(self).collect()
    }

    fn hand_over(&mut self) -> Books {
        let none = self.no_books();
        self.exchange(none)
    }

    fn take_over(&mut self, books: Books, stored: &[u32]) {
        self.exchange(books);
        self.only_stored(stored);
    }
}

pub(crate) struct Inner {
    pub(crate) faults: Box<dyn Faults>,
    pub(crate) pages: Pages,
    /// Faults of the thread that forks, since it has kept the lock.
    pub(super) between: usize,
    /// Off-line work failed with this: whoever touches an absent page next is told.
    failed_idle: Option<PagingError>,
    /// Pages that came in the clear, because none was free.
    spilt: Arc<AtomicU64>,
}

impl Inner {
    pub(super) fn fault(&mut self, page: u64) -> Result<Served, PagingError> {
        match self.failed_idle.take() {
            Some(error) => Err(error),
            None => self.faults.fault(page, &mut self.pages),
        }
    }

    /// The page at an address. One comes there, if it is open.
    pub(super) fn page_at(&mut self, address: usize) -> Option<u64> {
        let extents = &mut self.pages.extents;
        if let Some(if_full) = extents.open_at(address)
            && !extents.touch(address)
        {
            match if_full {
                IfFull::End => end(&Overdrawn),
                IfFull::Spill => self.spill(address),
            }
        }
        self.pages.extents.page_at(address)
    }

    fn spill(&mut self, address: usize) {
        let page = std::ptr::with_exposed_provenance_mut(address & !(PAGE_BYTES - 1));
        match self.pages.give_zeros(page, false) {
            Ok(true) if self.spilt.fetch_add(1, Ordering::Relaxed) == 0 => say(&SPILT),
            // It may have memory by now: another thread has touched it, too.
            Ok(_) => {}
            Err(error) => end(&error),
        }
    }

    /// A step of what is owed; without any, the end of what is under way.
    fn idle(&mut self) {
        self.failed_idle = self.faults.idle(&self.pages).err();
    }
}

/// Memory was promised at a touch, and none is left.
#[derive(Debug, thiserror::Error)]
#[error(
    "the program has touched more of what it mapped with MAP_NORESERVE than there are pages; it needs more untrusted memory"
)]
struct Overdrawn;

/// Memory was promised at a touch, and comes from elsewhere.
const SPILT: &str = "a stack has grown beyond the paged memory, and lies in the clear from there on; it needs more \
                     untrusted memory";

/// What became of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Done,
    /// Another thread forks. The fault is to be waited for by a wake-up, and comes again.
    PutOff,
}

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
    bustle: AtomicU64,
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
        let owes = AtomicBool::new(faults.owed() > 0);
        let spilt = Arc::new(AtomicU64::new(0));
        let inner = Inner { faults, pages, between: 0, failed_idle: None, spilt: Arc::clone(&spilt) };
        Ok(Paging {
            inner: Lock::new(inner),
            keeper: AtomicU32::new(0),
            #[cfg(target_env = "gnu")]
            stack: OwnStack::new()?,
            own,
            pages: options.pages,
            owes,
            bustle: AtomicU64::new(0),
            spilt,
            on_failure: options.on_failure.clone(),
            after_fault: options.after_fault.clone(),
            has_second_process: options.scheme.manner(options).is_some(),
        })
    }

    /// Serves the fault of a thread at an address of the region. Does not return if it cannot be served, but for the
    /// verdict that the thread is to be parked. Called with all signals blocked, and not by the thread itself.
    pub(crate) fn serve(&self, address: usize, thread: u32) -> Result<Service, Verdict> {
        if self.keeper.load(Ordering::Acquire) == thread {
            return self.serve_keeper(address);
        }
        self.bustle.fetch_add(1, Ordering::Relaxed);
        let served = self.inner.with_unless_kept(|inner| self.serve_alone(inner, address));
        self.outcome(served)
    }

    /// The same, by the thread itself.
    pub(crate) fn serve_own(&self, address: usize) -> Result<Service, Verdict> {
        let keeper = self.keeper.load(Ordering::Acquire);
        if keeper != 0 && keeper == this_thread() {
            return self.serve_keeper(address);
        }
        self.bustle.fetch_add(1, Ordering::Relaxed);
        let served = self.inner.with(|inner| self.serve_alone(inner, address));
        self.outcome(Some(served))
    }

    fn outcome(&self, served: Option<Result<Served, Failure>>) -> Result<Service, Verdict> {
        match served {
            Some(Ok(_)) => Ok(Service::Done),
            Some(Err(failure)) => Err(self.failed(failure)),
            None => Ok(Service::PutOff),
        }
    }

    fn serve_alone(&self, inner: &mut Inner, address: usize) -> Result<Served, Failure> {
        let served = match inner.page_at(address) {
            Some(page) => inner.fault(page).map_err(|error| Failure { page, error }),
            None => self.missed(inner, address),
        };
        if let Ok(Served::BroughtIn) = &served {
            self.tell(inner);
        }
        self.owes.store(inner.faults.owed() > 0, Ordering::Relaxed);
        self.bustle.fetch_add(1, Ordering::Relaxed);
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
        self.with(move |inner| {
            let mut owed = true;
            while owed {
                owed = inner.faults.owed() > 0;
                inner.idle();
                owed &= inner.failed_idle.is_none();
            }
            self.owes.store(inner.faults.owed() > 0, Ordering::Relaxed);
        });
    }

    /// For what the application asks: its signal handlers may touch the region, and must not while it holds the lock. Nor
    /// must the thread itself, whose stack may be paged: `act` owns what it needs.
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

/// The number of the calling thread, by which the kernel names it.
pub(super) fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}
