//! What a region is made with.

use crate::after_fault::AfterFault;
use crate::failure::OnFailure;
use crate::fault::policy::Policy;
use crate::linux::userfaultfd::Eviction;
use crate::scheme::Scheme;
use crate::trap::Trap;
use lethe_seal::pages::{PageCipher, PageMeter};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;

/// Where the handler thread runs. On a virtual machine, waking a thread on another processor may cost several times what
/// the rest of a fault does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandlerProcessor {
    /// Where the scheduler likes.
    #[default]
    Any,
    /// On this one, from 0. A second process keeps away from it. A program of one thread does best when it is bound to the
    /// same processor.
    Bound(usize),
    /// As long as one and the same thread faults, both are bound to the processor that it ran on. Programs that the thread
    /// starts inherit that, unless [`Region::free_threads`](crate::region::Region::free_threads) is asked for.
    Together,
}

/// Two meters of the sealing layer.
#[derive(Clone, Copy, Debug)]
pub struct Meters {
    /// For what the program's own process does.
    pub here: &'static PageMeter,
    /// For what the second process does, in memory that both share.
    pub beside: &'static PageMeter,
}

/// What a region is made with. All of it is public.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pages of the region: 1 to 2^32 - 1.
    pub pages: u64,
    /// The most of them that are resident: at least 1. 64 unless told otherwise.
    pub resident: usize,
    /// The most untrusted memory that may be used, in bytes. 64 MiB unless told otherwise.
    pub untrusted_bytes: u64,
    /// How pages go to and come from untrusted memory. [`Scheme::DetWoOram`] unless told otherwise.
    pub scheme: Scheme,
    /// K, main pages refreshed by each write of DetWoORAM and its kin: at least 1. 3 unless told otherwise. A larger
    /// K needs less untrusted memory and more work.
    pub ratio: u64,
    /// What seals the pages.
    pub cipher: PageCipher,
    /// Who goes when there is no room.
    pub policy: Policy,
    /// How faults come to the fault path.
    pub trap: Trap,
    /// How a page leaves the application's sight.
    pub eviction: Eviction,
    /// Threads that seal and open pages side by side, the faulting one among them, under the parallel schemes: at
    /// least 1. Unless told otherwise, the machine's processors, but no more than K + 1; or 1 if a short trial at the
    /// making of the region says that on this machine they cost more than they save: while they run, each move of a
    /// page interrupts their processors. [`Region::threads`](crate::region::Region::threads) says which.
    pub threads: Option<usize>,
    /// Whether the eager and the parallel schemes have a process of their own beside the program, instead of threads:
    /// then no move of a page interrupts it. No unless told otherwise. The process is a copy of this one at the moment
    /// at which the region is made, so that a program with much memory should make its regions early.
    pub second_process: bool,
    /// Pages that an eager scheme moves in one step between two faults: at least 1, what a fault may have to wait for.
    /// 4, or all at once if it is parallel too, unless told otherwise.
    pub step_pages: Option<u32>,
    /// Where the handler thread runs.
    pub handler_processor: HandlerProcessor,
    /// Whether the handler thread has a table of descriptors of its own, a copy of the program's when the region is made:
    /// a program that closes every descriptor does not close the pager's. What is in the copy stays open with the region.
    /// No unless told otherwise.
    pub own_descriptors: bool,
    /// What becomes of a thread whose page cannot be brought in.
    pub on_failure: OnFailure,
    /// Who is told of every fault.
    pub after_fault: AfterFault,
    /// Who adds up how long ciphers and copies take. Nobody unless told otherwise: it makes every fault slower.
    pub meters: Option<Meters>,
}

impl Options {
    /// A region of so many pages, and the defaults.
    pub fn new(pages: u64) -> Self {
        Options {
            pages,
            resident: 64,
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
            handler_processor: HandlerProcessor::default(),
            own_descriptors: false,
            on_failure: OnFailure::default(),
            after_fault: AfterFault::default(),
            meters: None,
        }
    }
}
