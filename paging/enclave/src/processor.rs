//! The processor, as paging uses it.

use core::ops::Sub;

/// Operations of the processor. It has no state here: there is one of it.
pub trait Processor {
    /// Flushes the translation of the address.
    fn flush_translation(address: u64);

    /// Flushes fetched instructions.
    fn flush_instructions();

    /// Instructions retired so far, without those that waited for the host.
    fn retired_instructions() -> u64;

    /// Returns the number of nanoseconds by the machine's timer.
    fn nanos() -> u64;

    /// Instructions of batches that were distributed to harts so far; zeros if they are not counted.
    fn shares() -> DistributedWork {
        DistributedWork::default()
    }
}

/// Instructions of batches that were distributed to harts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DistributedWork {
    /// The number of instructions of all shares of all harts.
    pub shared: u64,
    /// The part of `shared` in the longest share of each batch.
    pub longest: u64,
    /// The number of instructions of distributing: offering work, waking harts, joining.
    pub handing_over: u64,
}

impl DistributedWork {
    /// Returns the number of instructions that take no time when the shares run in parallel.
    pub fn saved(&self) -> u64 {
        self.shared - self.longest
    }
}

impl Sub for DistributedWork {
    type Output = DistributedWork;

    fn sub(self, earlier: DistributedWork) -> DistributedWork {
        DistributedWork {
            shared: self.shared - earlier.shared,
            longest: self.longest - earlier.longest,
            handing_over: self.handing_over - earlier.handing_over,
        }
    }
}
