//! The options of a region.

use crate::after_fault::AfterFault;
use crate::eviction::Eviction;
use crate::failure::OnFailure;
use crate::fault::policy::Policy;
use crate::fault_handling::FaultHandling;
use crate::fault_path_builder::FaultPathBuilder;
use crate::scheme::Scheme;
use ameles_seal::pages::{PageCipher, PageMeter, WorkMode};

/// The processor of the handler thread. On a virtual machine, waking a thread on another one may cost several times
/// what the rest of a fault does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandlerProcessor {
    /// Any, as the scheduler chooses.
    #[default]
    Any,
    /// The handler runs on this processor, counted from 0. A second process does not run on it. A program of one thread
    /// runs best if it is bound to the same processor.
    Bound(usize),
    /// Handler and program are bound to one processor while a single thread faults. Programs that the thread starts
    /// inherit the binding, unless they are started in
    /// [`Region::with_unbound_threads`](crate::region::Region::with_unbound_threads).
    Together,
}

/// Two meters of the sealing layer.
#[derive(Clone, Copy, Debug)]
pub struct Meters {
    /// The meter of the program's own process.
    pub program: &'static PageMeter,
    /// The meter of the second process, in memory that both share.
    pub worker: &'static PageMeter,
}

/// The handler thread of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handler {
    /// The processor on which the handler runs.
    pub processor: HandlerProcessor,
    /// True if it has its own descriptor table, copied from the program's when the region is made. Then a program that
    /// closes every descriptor does not close those of the pager. Descriptors in the copy stay open with the region.
    /// False by default.
    pub own_descriptors: bool,
}

/// The listeners to the faults of a region.
#[derive(Clone, Debug, Default)]
pub struct Listeners {
    /// The effect on a thread whose page cannot be paged in.
    pub on_failure: OnFailure,
    /// The listener that is called after every fault.
    pub after_fault: AfterFault,
    /// The meters of the time that ciphers and copies take. None by default: they make every fault slower.
    pub meters: Option<Meters>,
}

/// Changes of the number of resident pages. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResidentSizing {
    /// True if the number of resident pages doubles whenever more than four times as many pages hold something.
    pub grows: bool,
    /// True if [`Region::resident_for_half_the_faults`](crate::region::Region::resident_for_half_the_faults) is
    /// estimated. It takes 4 bytes per page.
    pub estimates: bool,
}

/// The options of a region. None of them is secret: the adversary may know them.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of pages of the region: 1 to 2^32 - 1.
    pub pages: u64,
    /// The maximum number of resident pages: at least 1. Default 64.
    pub resident: usize,
    /// The changes of `resident`.
    pub resident_sizing: ResidentSizing,
    /// The maximum amount of untrusted memory that may be used, in bytes. Default 64 MiB.
    pub untrusted_bytes: u64,
    /// The scheme that stores pages in untrusted memory. Default [`Scheme::DetWoOram`].
    pub scheme: Scheme,
    /// K, the number of main pages that each write of DetWoORAM and its variants refreshes: at least 1. Default 3. A
    /// larger K needs less untrusted memory and more work.
    pub ratio: u64,
    /// The cipher that seals the pages.
    pub cipher: PageCipher,
    /// The eviction policy.
    pub policy: Policy,
    /// The thread that handles a page fault.
    pub fault_handling: FaultHandling,
    /// The way in which a page is taken from the application at its eviction.
    pub eviction: Eviction,
    /// The number of threads that seal and open pages in parallel, including the faulting one, under the parallel
    /// schemes. By default it is the number of processors, at most K + 1. It is 1 if a short trial shows that threads
    /// cost more than they save on this machine. While they run, each move of a page interrupts their processors.
    /// [`Region::threads`](crate::region::Region::threads) returns the number.
    pub threads: Option<usize>,
    /// True if the eager and the parallel schemes have a second process instead of threads: no move of a page
    /// interrupts it. False by default. The process is a copy of this one when the region is made, so a program with
    /// much memory should make its regions early.
    pub second_process: bool,
    /// The number of pages that an eager scheme moves in one step between two faults: at least 1. A fault may have to
    /// wait for a step. By default 4, or all at once if it is parallel too.
    pub step_pages: Option<u32>,
    /// The handler thread, under [`FaultHandling::HandlerThread`].
    pub handler: Handler,
    /// The listeners to the region's faults.
    pub listeners: Listeners,
}

impl Options {
    /// A region with this many pages, and the defaults.
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
            fault_handling: FaultHandling::default(),
            eviction: Eviction::default(),
            threads: None,
            second_process: false,
            step_pages: None,
            handler: Handler::default(),
            listeners: Listeners::default(),
        }
    }

    /// The mode in which a second process runs page jobs, if there is one.
    pub(crate) fn work_mode(&self) -> Option<WorkMode> {
        match self.scheme {
            _ if !self.second_process => None,
            Scheme::Parallel => Some(WorkMode::Parallel),
            Scheme::Eager => Some(WorkMode::Eager),
            Scheme::EagerParallel => Some(WorkMode::EagerParallel),
            Scheme::Plain | Scheme::DetWoOram | Scheme::Path | Scheme::Opam => None,
        }
    }

    /// The options of the scheme, of sealing and of the fault path.
    pub(crate) fn fault_path_builder(&self) -> FaultPathBuilder {
        let Options { scheme, pages, ratio, cipher, resident, policy, step_pages, .. } = *self;
        FaultPathBuilder { scheme, pages, ratio, cipher, resident, policy, step_pages, filled: false }
    }
}
