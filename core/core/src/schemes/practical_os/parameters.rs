//! The parameters of PracticalOS.

use crate::oram::Bounds;
use crate::range::{self, OutOfRange};
use crate::tree::block_header::HEADER_BYTES;
use crate::tree::layout::{Extent, Layout};
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of PracticalOS. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PracticalOsParameters {
    /// N, the number of blocks that the user can address: 1 to 2^31.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// S, the number of blocks of the cache, which are the accesses of an epoch: `max_batch` to 2^31; √N in the paper.
    pub cache: u32,
    /// c, the number of blocks of a run that is sorted at once: 1 to 2^24. The trusted side holds two runs while it
    /// shuffles.
    pub run_blocks: u32,
    /// The maximum number of accesses in one batch: 1 to 2^16.
    pub max_batch: u32,
}

impl PracticalOsParameters {
    /// The paper's parameters for this many blocks: a cache of √N blocks, or of one batch if that is more. While the
    /// trusted side shuffles, it holds as many blocks again.
    pub fn for_capacity(capacity: u64, block_bytes: u32, max_batch: u32) -> Self {
        let cache = u32::try_from(range::root(capacity)).unwrap_or(u32::MAX).max(max_batch);
        PracticalOsParameters { capacity, block_bytes, cache, run_blocks: (cache / 2).max(1), max_batch }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`OutOfRange`] names the parameter, its value and what it may be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        range::check_bounds(self.bounds(), 1 << 31, 1 << 16)?;
        range::check(&[
            ("cache", self.cache.into(), self.max_batch.into(), 1 << 31),
            ("run_blocks", self.run_blocks.into(), 1, 1 << 24),
        ])
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// N + S, slots of the permuted memory: one for each block, and a dummy for each access of an epoch.
    pub fn permuted(&self) -> u64 {
        self.capacity + u64::from(self.cache)
    }

    /// Returns the number of runs that are sorted: the permuted memory, and what fills the last run.
    pub fn runs(&self) -> u64 {
        self.permuted().div_ceil(self.run_blocks.into())
    }

    /// Returns the number of bytes of a slot: a block and its header.
    pub(super) fn slot_bytes(&self) -> usize {
        HEADER_BYTES + self.block_bytes as usize
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes: the permuted memory and what fills the last
    /// run, in buckets of one slot.
    pub fn layout(&self) -> Layout {
        let buckets = self.runs() * u64::from(self.run_blocks);
        Layout::new(alloc::vec![Extent { buckets, slots: 1, slot_bytes: self.slot_bytes() as u32 }])
    }
}
