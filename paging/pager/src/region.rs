//! Memory of which only a few pages are resident.
#![allow(unsafe_code, reason = "a region is handed out as a slice; the argument stands beside it")]

use crate::builder::{Built, build, thread_cost};
use crate::error::Error;
use crate::extents::Extents;
use crate::fault::counters::Counters;
use crate::linux::handler_thread::HandlerThread;
use crate::linux::in_thread::InThread;
use crate::linux::pages::{Pages, extra_slots};
use crate::linux::paging::Paging;
use crate::linux::paging_state::PagingState;
use crate::linux::thread_binding::ThreadBinding;
use crate::linux::userfaultfd::{Delivery, Userfaultfd};
use crate::options::Options;
use crate::page::PAGE_BYTES;
use crate::private::PrivateMapping;
use crate::shared::SharedMapping;
use crate::trap::Trap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Virtual memory of which at most so many pages are resident. It begins as zeros.
///
/// It is used as a slice, also from several threads (`split_at_mut`, scoped threads). A child after `fork` does not
/// have it: a touch there is a SIGSEGV. Its private pages are in no core dump, and in no swap where the limit on locked
/// memory allows it; the limit counts all of the region, not only what is resident.
///
/// The pager's own memory (position map, buffers of pages in the clear, keys) is allocated as any of the program's. A
/// program that wants it out of core dumps and swap keeps all of itself out: `prctl(PR_SET_DUMPABLE, 0)` and
/// `mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)` before it makes the region. `ameles page run` has a heap of its
/// own for it.
pub struct Region {
    /// Before the rest: dropping it ends whoever serves faults.
    pub(crate) trap: Option<Registration>,
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
    InThread(InThread),
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
        Ok(match options.trap {
            Trap::HandlerThread => Registration::HandlerThread(HandlerThread::start(
                paging,
                uffd,
                options.handler,
                Arc::clone(binding),
            )?),
            Trap::InThread => {
                let offline_work = thread_cost::offline_work(options)?;
                Registration::InThread(InThread::register(paging, own.start, own.len(), offline_work)?)
            }
        })
    }
}

/// The way in which faults of such a region are delivered.
pub(crate) fn delivery(trap: Trap) -> Delivery {
    match trap {
        Trap::HandlerThread => Delivery::Messages,
        Trap::InThread => Delivery::Sigbus,
    }
}

impl Region {
    /// A region of zeros.
    ///
    /// # Errors
    /// [`Error`]; nothing is left behind then.
    pub fn new(options: Options) -> Result<Self, Error> {
        let refused = |what| move |errno| Error::System { what, errno };
        let page_bytes = rustix::param::page_size();
        if page_bytes != PAGE_BYTES {
            return Err(Error::PageBytes(page_bytes));
        }
        let untrusted_bytes = options.assembly().untrusted_bytes(options.untrusted_bytes)?;
        let delivery = delivery(options.trap);
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
            // All but the buffer, into which nothing is moved.
            uffd.register(mapping.second() as usize, mapping.second_bytes() - PAGE_BYTES)?;
        }
        let wake = delivery == Delivery::Messages;
        let extents = Extents::contiguous(start, bytes);
        let pages = Pages::new(Arc::clone(&uffd), Arc::clone(&mapping), extents, frames, wake);
        let paging = Paging::new(fault_path, pages, start..start + bytes, &options);
        let paging = Arc::new(paging.map_err(refused("a stack"))?);
        let binding = Arc::new(ThreadBinding::default());
        let trap = Registration::new(&options, &paging, uffd, &binding, start..start + bytes)?;
        Ok(Region {
            trap: Some(trap),
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
    /// If it has the in-thread trap and somebody replaced the handler of SIGBUS.
    pub fn as_slice(&self) -> &[u8] {
        self.check_trap();
        // SAFETY: the mapping is as long as that and lives as long as we do; an absent page is brought in at its touch,
        // as it was, so that the memory behaves as any other. Zeros are valid bytes.
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

    /// Its first address, for whoever hands out parts of it. It may be followed until the region is dropped.
    pub fn as_ptr(&self) -> *mut u8 {
        self.mapping.first()
    }

    /// Bytes of the region: whole pages.
    pub fn bytes(&self) -> usize {
        self.mapping.first_bytes()
    }

    /// The options that it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Takes over in a child what was made anew there.
    pub(crate) fn set_scheme_size(&mut self, scheme_bytes: usize, threads: usize) {
        (self.scheme_bytes, self.threads) = (scheme_bytes, threads);
    }

    /// Threads that share the work of a fault: more than 1 only under the parallel schemes, and where it pays.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The counts so far.
    pub fn counters(&self) -> Counters {
        self.paging.with(|state| state.fault_path.counters())
    }

    /// The number of resident pages that would have left at most half of the faults so far, as far as that can be told:
    /// rather too large than too small. `None` if none would have, or it was not [asked for](crate::options::ResidentSizing).
    pub fn resident_for_half_the_faults(&self) -> Option<u64> {
        self.paging.with(|state| state.fault_path.resident_for_half_the_faults())
    }

    /// Runs something while no thread is bound to a processor on the region's behalf
    /// ([`HandlerProcessor::Together`](crate::options::HandlerProcessor)): a program that it starts inherits nothing.
    pub fn with_unbound_threads<R>(&self, act: impl FnOnce() -> R) -> R {
        let binding = Arc::clone(&self.binding);
        // The handler thread waits for whoever binds.
        let _free = self.paging.on_own_stack(move || binding.unbind());
        act()
    }

    /// The addresses of the stack on which threads of the program do what they ask of the region. There they may hold
    /// what faults need: an allocator must not let them wait for a thread that may fault. Empty where the C library
    /// cannot change stacks.
    pub fn handler_stack(&self) -> Range<usize> {
        self.paging.handler_stack()
    }

    /// Binds no thread until what it returns is dropped, in this process and in a child that it forks.
    pub fn unbind_threads(&self) -> impl Drop + use<> {
        let binding = Arc::clone(&self.binding);
        self.paging.on_own_stack(move || binding.unbind())
    }

    /// Steps of off-line work that are still owed. Without faults it comes to 0 by itself.
    pub fn pending_steps(&self) -> u64 {
        self.paging.with(|state| state.fault_path.pending_steps())
    }

    /// Waits until nothing is owed and nothing of the past faults is under way in untrusted memory: it stands still
    /// then until the next fault.
    pub fn settle(&self) {
        self.paging.settle();
    }

    /// The untrusted memory, for a watcher.
    pub fn untrusted(&self) -> &SharedMapping {
        &self.shared
    }

    /// Trusted memory in bytes: resident pages, frames, the pager's bookkeeping, the scheme's, sealing's.
    pub fn trusted_bytes(&self) -> usize {
        let max = (self.counters().max_resident as usize).max(self.options.resident);
        let resident = max * PAGE_BYTES + self.mapping.second_bytes();
        let bookkeeping =
            |state: &mut PagingState| state.fault_path.trusted_bytes() + state.pages.trusted_bytes();
        resident + self.scheme_bytes + self.paging.with(bookkeeping)
    }

    /// Tells whether its resident pages are kept out of swap. They are where the limit on locked memory allows it.
    pub fn is_locked(&self) -> bool {
        self.mapping.is_locked()
    }

    /// Gives up the contents of whole pages, numbered from 0 as long as they stand in a row: they read as zeros from
    /// now on. A watcher of the untrusted memory sees nothing of it.
    ///
    /// # Panics
    /// If the pages lie beyond the region.
    pub fn discard(&mut self, pages: Range<u64>) {
        self.discard_shared(pages);
    }

    /// As [`discard`](Self::discard), for whoever hands out parts of the region and knows that nobody uses these pages.
    pub fn discard_shared(&self, pages: Range<u64>) {
        assert!(pages.end <= self.options.pages, "pages beyond the region");
        self.paging.discard(pages);
    }

    pub(crate) fn paging(&self) -> &Paging {
        &self.paging
    }

    fn check_trap(&self) {
        let replaced = self.options.trap == Trap::InThread && !InThread::is_installed();
        assert!(!replaced, "{}", Error::SigbusReplaced);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // Nobody serves faults any more, and nobody has the slice.
        drop(self.trap.take());
        self.paging.with(|state| state.fault_path.wipe(&mut state.pages));
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("options", &self.options).finish_non_exhaustive()
    }
}
