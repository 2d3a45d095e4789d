//! The parameters of partitions.

use crate::oram::Bounds;
use crate::range::{self, OutOfRange};
use crate::tree::layout::{Extent, Layout};
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters that all schemes of partitions have. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PartitionsParameters {
    /// N, the number of blocks that the user can address: 1 to 2^31.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// m, the number of partitions: 1 to 2^20; √N in the papers.
    pub partitions: u32,
    /// The number of evictions of the sweep for each `sweep_accesses` accesses: 0 to 2^16.
    pub sweep_evictions: u32,
    /// The number of accesses that the sweep counts by: 1 to 2^16.
    pub sweep_accesses: u32,
    /// The maximum number of blocks on the trusted side: two batches to 2^31.
    pub cache_bound: u32,
    /// The maximum number of accesses in one batch: 1 to 2^16.
    pub max_batch: u32,
}

impl PartitionsParameters {
    /// Checks every range.
    ///
    /// # Errors
    /// [`OutOfRange`] names the parameter, its value and what it may be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        range::check(&[
            ("capacity", self.capacity, 1, 1 << 31),
            ("block_bytes", self.block_bytes.into(), 0, 1 << 24),
            ("partitions", self.partitions.into(), 1, 1 << 20),
            ("sweep_evictions", self.sweep_evictions.into(), 0, 1 << 16),
            ("sweep_accesses", self.sweep_accesses.into(), 1, 1 << 16),
            ("max_batch", self.max_batch.into(), 1, 1 << 16),
            ("cache_bound", self.cache_bound.into(), 2 * u64::from(self.max_batch), 1 << 31),
        ])
    }

    /// The untrusted memory of all partitions, one after the other, if each needs this.
    pub(crate) fn layout_of_all(&self, one: &Layout) -> Layout {
        let count = u64::from(self.partitions);
        let all = one.extents().iter().map(|extent| Extent { buckets: extent.buckets * count, ..*extent });
        Layout::new(all.collect())
    }

    /// The bounds of batches.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// Returns the number of evictions that the sweep has made after this many accesses.
    pub fn swept_after(&self, accesses: u64) -> u64 {
        accesses * u64::from(self.sweep_evictions) / u64::from(self.sweep_accesses)
    }
}
