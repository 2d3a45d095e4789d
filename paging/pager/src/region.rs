//! Memory with a few resident pages.
#![allow(unsafe_code, reason = "a region is handed out as a slice; the argument is next to it")]

use crate::builder::{Built, build, thread_cost};
use crate::error::Error;
use crate::extents::Extents;
use crate::fault::counters::Counters;
use crate::fault_handling::FaultHandling;
use crate::linux::handler_thread::HandlerThread;
use crate::linux::pages::{Pages, extra_slots};
use crate::linux::paging::Paging;
use crate::linux::paging_state::PagingState;
use crate::linux::sigbus_handler::SigbusRegistration;
use crate::linux::thread_binding::ThreadBinding;
use crate::linux::userfaultfd::{Delivery, Userfaultfd};
use crate::options::Options;
use crate::page::PAGE_BYTES;
use crate::private::PrivateMapping;
use crate::shared::SharedMapping;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Virtual memory with a limited number of resident pages. At first it holds zeros.
///
/// It is used as a slice, also from several threads (`split_at_mut`, scoped threads). It is unmapped in a child after
/// `fork`: an access there is a SIGSEGV. Its private pages are in no core dump. They are in no swap if the limit on
/// locked memory allows it. The limit counts all of the region, not only the resident pages.
///
/// The pager's own memory (position map, unencrypted page buffers, keys) is allocated like the program's memory. A
/// program that wants to keep it out of core dumps and swap calls `prctl(PR_SET_DUMPABLE, 0)` and `mlockall(MCL_CURRENT
/// | MCL_FUTURE | MCL_ONFAULT)` before it makes the region. `ameles page run` has its own heap for it.
pub struct Region {
    /// The first field: dropping it stops the handler of faults.
    pub(crate) registration: Option<Registration>,
    pub(crate) binding: Arc<ThreadBinding>,
    pub(crate) paging: Arc<Paging>,
    mapping: Arc<PrivateMapping>,
    pub(crate) shared: Arc<SharedMapping>,
    pub(crate) options: Options,
    scheme_bytes: usize,
    threads: usize,
}

pub(crate) enum Registration {
    HandlerThread(HandlerThread),
    InThread(SigbusRegistration),
}

impl Registration {
    pub(crate) fn new(
        options: &Options,
        paging: &Arc<Paging>,
        uffd: Arc<Userfaultfd>,
        binding: &Arc<ThreadBinding>,
        own: Range<usize>,
    ) -> Result<Self, Error> {
        let paging = Arc::clone(paging);
        Ok(match options.fault_handling {
            FaultHandling::HandlerThread => Registration::HandlerThread(HandlerThread::start(
                paging,
                uffd,
                options.handler,
                Arc::clone(binding),
            )?),
            FaultHandling::InThread => {
                let offline_work = thread_cost::offline_work(options)?;
                Registration::InThread(SigbusRegistration::register(
                    paging,
                    own.start,
                    own.len(),
                    offline_work,
                )?)
            }
        })
    }
}

/// Returns the delivery of faults that a trap needs.
pub(crate) fn delivery(fault_handling: FaultHandling) -> Delivery {
    match fault_handling {
        FaultHandling::HandlerThread => Delivery::Messages,
        FaultHandling::InThread => Delivery::Sigbus,
    }
}

impl Region {
    /// Makes a region of zeros.
    ///
    /// # Errors
    /// [`Error`]; in this case nothing is left behind.
    pub fn new(options: Options) -> Result<Self, Error> {
        let refused = |what| move |errno| Error::System { what, errno };
        let page_bytes = rustix::param::page_size();
        if page_bytes != PAGE_BYTES {
            return Err(Error::PageBytes(page_bytes));
        }
        let untrusted_bytes = options.fault_path_builder().untrusted_bytes(options.untrusted_bytes)?;
        let delivery = delivery(options.fault_handling);
        let uffd = Arc::new(Userfaultfd::open(delivery, options.eviction)?);
        let shared = Arc::new(SharedMapping::new(untrusted_bytes).map_err(refused("untrusted memory"))?);
        let Built { mut fault_path, trusted_bytes, threads } = build(&options, &shared)?;
        if options.resident_sizing.grows {
            fault_path.enable_growth();
        }
        if options.resident_sizing.estimates {
            fault_path.enable_estimate();
        }

        let bytes = options.pages as usize * PAGE_BYTES;
        let frames = crate::fault::policy::frames(options.policy);
        let mapping = PrivateMapping::new(bytes, extra_slots(frames) * PAGE_BYTES, PAGE_BYTES)
            .map_err(refused("the region's addresses"))?;
        let mapping = Arc::new(mapping);
        let start = mapping.first() as usize;
        uffd.register(start, bytes)?;
        if uffd.moves() {
            // All but the buffer, to which no page is moved.
            uffd.register(mapping.second() as usize, mapping.second_bytes() - PAGE_BYTES)?;
        }
        let wake = delivery == Delivery::Messages;
        let extents = Extents::contiguous(start, bytes);
        let pages = Pages::new(Arc::clone(&uffd), Arc::clone(&mapping), extents, frames, wake);
        let paging = Paging::new(fault_path, pages, start..start + bytes, &options);
        let paging = Arc::new(paging.map_err(refused("a stack"))?);
        let binding = Arc::new(ThreadBinding::default());
        let registration = Registration::new(&options, &paging, uffd, &binding, start..start + bytes)?;
        Ok(Region {
            registration: Some(registration),
            binding,
            paging,
            mapping,
            shared,
            options,
            scheme_bytes: trusted_bytes,
            threads,
        })
    }

    /// The memory.
    ///
    /// # Panics
    /// If the region has the in-thread trap and the handler of SIGBUS was replaced.
    pub fn as_slice(&self) -> &[u8] {
        self.check_trap();
        // SAFETY: the mapping is as long as that and lives as long as we do. An absent page is paged in at its access,
        // with its contents, so the memory behaves like any other. Zeros are valid bytes.
        unsafe { std::slice::from_raw_parts(self.mapping.first(), self.mapping.first_bytes()) }
    }

    /// The memory.
    ///
    /// # Panics
    /// As [`as_slice`](Self::as_slice).
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.check_trap();
        // SAFETY: as above, and `&mut self` makes it the only one.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.first(), self.mapping.first_bytes()) }
    }

    /// Returns the first address of the region, for allocators. The address is valid until the region is dropped.
    pub fn as_ptr(&self) -> *mut u8 {
        self.mapping.first()
    }

    /// Returns the number of bytes of the region: whole pages.
    pub fn bytes(&self) -> usize {
        self.mapping.first_bytes()
    }

    /// The options of the region.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Takes over the parts that were made in a child.
    pub(crate) fn set_scheme_size(&mut self, scheme_bytes: usize, threads: usize) {
        (self.scheme_bytes, self.threads) = (scheme_bytes, threads);
    }

    /// Returns the number of threads that share the work of a fault. It is above 1 only under the parallel schemes, and
    /// only if that is faster.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The counters so far.
    pub fn counters(&self) -> Counters {
        self.paging.with(|state| state.fault_path.counters())
    }

    /// Returns an estimate of the number of resident pages with which at most half of the faults so far would have
    /// occurred. The estimate is too large rather than too small. `None` if there is no such number, or if the estimate
    /// was not [requested](crate::options::ResidentSizing).
    pub fn resident_for_half_the_faults(&self) -> Option<u64> {
        self.paging.with(|state| state.fault_path.resident_for_half_the_faults())
    }

    /// Runs `act` while no thread is bound to a processor for this region
    /// ([`HandlerProcessor::Together`](crate::options::HandlerProcessor)): a program that it starts inherits no
    /// binding.
    pub fn with_unbound_threads<R>(&self, act: impl FnOnce() -> R) -> R {
        let binding = Arc::clone(&self.binding);
        // The handler thread waits for the holder of this lock.
        let _free = self.paging.on_own_stack(move || binding.unbind());
        act()
    }

    /// The addresses of the stack on which threads of the program run functions of the region. There they may hold
    /// locks that faults need: an allocator must not let them wait for a thread that may fault. Empty if the C
    /// library cannot change stacks.
    pub fn handler_stack(&self) -> Range<usize> {
        self.paging.handler_stack()
    }

    /// Binds no thread until the returned guard is dropped, in this process and in a child that it forks.
    pub fn unbind_threads(&self) -> impl Drop + use<> {
        let binding = Arc::clone(&self.binding);
        self.paging.on_own_stack(move || binding.unbind())
    }

    /// Returns the number of pending steps of offline work. Without faults it becomes 0 by itself.
    pub fn pending_steps(&self) -> u64 {
        self.paging.with(|state| state.fault_path.pending_steps())
    }

    /// Waits until no work is pending and no write of past faults is in flight. The untrusted memory does not change
    /// then until the next fault.
    pub fn settle(&self) {
        self.paging.settle();
    }

    /// The untrusted memory, for an observer.
    pub fn untrusted(&self) -> &SharedMapping {
        &self.shared
    }

    /// Returns the trusted memory in bytes: resident pages, frames, and the bookkeeping of the pager, the scheme and
    /// the sealing.
    pub fn trusted_bytes(&self) -> usize {
        let max = (self.counters().max_resident as usize).max(self.options.resident);
        let resident = max * PAGE_BYTES + self.mapping.second_bytes();
        let bookkeeping =
            |state: &mut PagingState| state.fault_path.trusted_bytes() + state.pages.trusted_bytes();
        resident + self.scheme_bytes + self.paging.with(bookkeeping)
    }

    /// Returns whether its resident pages are locked. They are if the limit on locked memory allows it.
    pub fn is_locked(&self) -> bool {
        self.mapping.is_locked()
    }

    /// Discards the contents of whole pages, numbered from 0 while they are mapped in a row: they read as zeros from
    /// now on. An observer of the untrusted memory cannot see this.
    ///
    /// # Panics
    /// If the pages lie beyond the region.
    pub fn discard(&mut self, pages: Range<u64>) {
        self.discard_shared(pages);
    }

    /// Does the same as [`discard`](Self::discard), for allocators that know that no thread uses these pages.
    pub fn discard_shared(&self, pages: Range<u64>) {
        assert!(pages.end <= self.options.pages, "pages beyond the region");
        self.paging.discard(pages);
    }

    pub(crate) fn paging(&self) -> &Paging {
        &self.paging
    }

    fn check_trap(&self) {
        let replaced =
            self.options.fault_handling == FaultHandling::InThread && !SigbusRegistration::is_installed();
        assert!(!replaced, "{}", Error::SigbusReplaced);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // No thread handles faults any more, and there is no slice.
        drop(self.registration.take());
        self.paging.with(|state| state.fault_path.wipe(&mut state.pages));
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("options", &self.options).finish_non_exhaustive()
    }
}
