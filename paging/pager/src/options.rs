//! The options of a region.

use crate::after_fault::AfterFault;
use crate::assembly::Assembly;
use crate::eviction::Eviction;
use crate::failure::OnFailure;
use crate::fault::policy::Policy;
use crate::scheme::Scheme;
use crate::trap::Trap;
use ameles_seal::pages::{PageCipher, PageMeter, WorkMode};

/// The processor of the handler thread. On a virtual machine, waking a thread on another one may cost several times
/// what the rest of a fault does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandlerProcessor {
    /// Any that the scheduler likes.
    #[default]
    Any,
    /// On this one, from 0. A second process keeps away from it. A program of one thread does best when it is bound to
    /// the same processor.
    Bound(usize),
    /// As long as one and the same thread faults, both are bound to the processor that it ran on. Programs that the
    /// thread starts inherit that, unless [`Region::with_unbound_threads`](crate::region::Region::with_unbound_threads) is asked for.
    Together,
}

/// Two meters of the sealing layer.
#[derive(Clone, Copy, Debug)]
pub struct Meters {
    /// For what the program's own process does.
    pub program: &'static PageMeter,
    /// For what the second process does, in memory that both share.
    pub worker: &'static PageMeter,
}

/// The handler thread of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handler {
    /// The processor that it runs on.
    pub processor: HandlerProcessor,
    /// True if it has a table of descriptors of its own, a copy of the program's when the region is made: a program
    /// that closes every descriptor does not close the pager's. Descriptors in the copy stay open with the region. No
    /// unless told otherwise.
    pub own_descriptors: bool,
}

/// The listeners to the faults of a region.
#[derive(Clone, Debug, Default)]
pub struct Listeners {
    /// The end of a thread whose page cannot be brought in.
    pub on_failure: OnFailure,
    /// The listener that is told of every fault.
    pub after_fault: AfterFault,
    /// The meters of the time that ciphers and copies take. Off unless told otherwise: they make every fault slower.
    pub meters: Option<Meters>,
}

/// The number of resident pages, beyond what is asked for. Nothing of it unless told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResidentSizing {
    /// True if the number that is asked for is the first one, and twice as many may be resident whenever more than four
    /// times as many hold something.
    pub grows: bool,
    /// True if [`Region::resident_for_half_the_faults`](crate::region::Region::resident_for_half_the_faults) is to answer. It takes 4 bytes a page.
    pub estimates: bool,
}

/// The options of a region. All of them are public.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pages of the region: 1 to 2^32 - 1.
    pub pages: u64,
    /// The most of them that are resident: at least 1. 64 unless told otherwise.
    pub resident: usize,
    /// More about their number.
    pub resident_sizing: ResidentSizing,
    /// The most untrusted memory that may be used, in bytes. 64 MiB unless told otherwise.
    pub untrusted_bytes: u64,
    /// The way in which pages go to and come from untrusted memory. [`Scheme::DetWoOram`] unless told otherwise.
    pub scheme: Scheme,
    /// K, main pages refreshed by each write of DetWoORAM and its kin: at least 1. 3 unless told otherwise. A larger
    /// K needs less untrusted memory and more work.
    pub ratio: u64,
    /// The cipher that seals the pages.
    pub cipher: PageCipher,
    /// The choice of the page that goes when there is no room.
    pub policy: Policy,
    /// The way in which faults come to the fault path.
    pub trap: Trap,
    /// The way in which a page leaves the application's sight.
    pub eviction: Eviction,
    /// Threads that seal and open pages side by side, the faulting one among them, under the parallel schemes: at
    /// least 1. Unless told otherwise, the machine's processors, but no more than K + 1; or 1 if a short trial at the
    /// making of the region says that on this machine they cost more than they save: while they run, each move of a
    /// page interrupts their processors. [`Region::threads`](crate::region::Region::threads) says which.
    pub threads: Option<usize>,
    /// True if the eager and the parallel schemes have a process of their own beside the program, instead of threads:
    /// then no move of a page interrupts it. No unless told otherwise. The process is a copy of this one at the moment
    /// at which the region is made, so that a program with much memory should make its regions early.
    pub second_process: bool,
    /// Pages that an eager scheme moves in one step between two faults: at least 1, what a fault may have to wait for.
    /// 4, or all at once if it is parallel too, unless told otherwise.
    pub step_pages: Option<u32>,
    /// The handler thread, under [`Trap::HandlerThread`].
    pub handler: Handler,
    /// The listeners to its faults.
    pub listeners: Listeners,
}

impl Options {
    /// A region of so many pages, and the defaults.
    pub fn new(pages: u64) -> Self {
        Options {
            pages,
            resident: 64,
            resident_sizing: ResidentSizing::default(),
            untrusted_bytes: 64 << 20,
            scheme: Scheme::default(),
            ratio: 3,
            cipher: PageCipher::default(),
            policy: Policy::default(),
            trap: Trap::default(),
            eviction: Eviction::default(),
            threads: None,
            second_process: false,
            step_pages: None,
            handler: Handler::default(),
            listeners: Listeners::default(),
        }
    }

    /// The manner in which a second process carries the pages, if one does.
    pub(crate) fn work_mode(&self) -> Option<WorkMode> {
        match self.scheme {
            _ if !self.second_process => None,
            Scheme::Parallel => Some(WorkMode::Parallel),
            Scheme::Eager => Some(WorkMode::Eager),
            Scheme::EagerParallel => Some(WorkMode::EagerParallel),
            Scheme::Plain | Scheme::DetWoOram | Scheme::Path | Scheme::Opam => None,
        }
    }

    /// Those of the scheme, of sealing and of the fault path.
    pub(crate) fn assembly(&self) -> Assembly {
        let Options { scheme, pages, ratio, cipher, resident, policy, step_pages, .. } = *self;
        Assembly { scheme, pages, ratio, cipher, resident, policy, step_pages, filled: false }
    }
}
