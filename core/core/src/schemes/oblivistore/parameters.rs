//! The parameters of ObliviStore.

use super::levels::PartitionShape;
use crate::partitions::PartitionsParameters;
use crate::range::{self, OutOfRange};
use crate::tree::layout::Layout;
use borsh::{BorshDeserialize, BorshSerialize};

/// The additional room of a partition, in hundredths of the blocks that are expected in it. Each entry is for a maximum
/// number of partitions, as a power of two.
const EXTRA: [(u32, u64); 9] =
    [(2, 400), (3, 300), (5, 100), (6, 60), (7, 40), (8, 33), (9, 28), (10, 23), (u32::MAX, 20)];

/// The parameters of ObliviStore. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ObliviStoreParameters {
    /// The parameters that all schemes of partitions have.
    pub partitions: PartitionsParameters,
    /// The parameters of the partitions. `block_bytes` is the size of a partition's blocks.
    pub partition: PartitionShape,
}

impl ObliviStoreParameters {
    /// The parameters of the code that the thesis ran, for this many blocks. There are √N partitions. If a partition is
    /// expected to hold n blocks, it has ⌊log₂ n⌋ + 1 levels. There are 1.25 evictions for each access: one of the
    /// partition that was read, and 0.25 of others. The trusted side may hold twice the [minimum
    /// cache](PartitionsParameters::min_cache) and two batches.
    pub fn for_capacity(capacity: u64, block_bytes: u32, max_batch: u32) -> Self {
        let count = range::root(capacity);
        let expected = (capacity / count).max(1);
        let power = count.next_power_of_two().ilog2();
        let extra = EXTRA.iter().find(|(max, _)| power <= *max).map_or(0, |(_, extra)| *extra);
        let partition = PartitionShape {
            levels: expected.ilog2() + 1,
            capacity: expected + expected * extra / 100,
            block_bytes,
        };
        let mut partitions = PartitionsParameters {
            capacity,
            block_bytes,
            partitions: count as u32,
            sweep_evictions: 1,
            sweep_accesses: 4,
            cache_bound: 0,
            max_batch,
        };
        partitions.cache_bound = 2 * (partitions.min_cache(1) + max_batch);
        ObliviStoreParameters { partitions, partition }
    }

    /// The puts that a partition begins after. They are spread over a cycle, so that the last levels of all partitions
    /// are not rebuilt at about the same time. The original draws them at random.
    pub fn puts_before(&self, partition: u32) -> u64 {
        (u64::from(partition) << (self.partition.levels - 1)) / u64::from(self.partitions.partitions.max(1))
    }

    /// The maximum number of blocks in buffers while the pending work of a largest batch is done. At worst, each put of
    /// an access or of the sweep is in a separate partition, and all of them rebuild the last level.
    pub fn buffer_blocks(&self) -> u64 {
        let PartitionsParameters { partitions, max_batch, .. } = self.partitions;
        let swept = self.partitions.swept_after(max_batch.into()).max(1);
        let puts = (u64::from(max_batch) + swept).min(partitions.into());
        puts * self.partition.buffer_blocks(self.partition.levels - 1)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`OutOfRange`] names the parameter, its value and what it may be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        self.partitions.validate()?;
        self.partition.validate()
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes: the partitions, one after the other, in
    /// buckets of one slot.
    pub fn layout(&self) -> Layout {
        self.partitions.layout_of_all(&self.partition.layout())
    }
}
