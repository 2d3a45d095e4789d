//! The parameters of CURIOUS over k-ary trees.

use super::tree::TreeShape;
use crate::partitions::PartitionsParameters;
use crate::range::{self, OutOfRange};
use crate::tree::layout::Layout;
use borsh::{BorshDeserialize, BorshSerialize};

/// k and Z, as the paper's authors and the thesis ran it.
const ARITY: u32 = 3;
const BLOCKS_PER_BUCKET: u32 = 5;

/// The parameters of CURIOUS over k-ary trees. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CuriousParameters {
    /// The parameters that all schemes of partitions have.
    pub partitions: PartitionsParameters,
    /// The tree of each partition; `block_bytes` is that of the partitions.
    pub tree: TreeShape,
}

impl CuriousParameters {
    /// The authors' parameters for this many blocks: √N partitions, k = 3, Z = 5, the least trees with twice as many
    /// slots as blocks. The trusted side may hold twice the [least cache](PartitionsParameters::min_cache) and two
    /// batches.
    pub fn for_capacity(capacity: u64, block_bytes: u32, max_batch: u32) -> Self {
        let partitions = range::root(capacity) as u32;
        let expected = capacity.div_ceil(partitions.into());
        let shape = |levels| {
            let capacity = 1;
            TreeShape { arity: ARITY, levels, blocks_per_bucket: BLOCKS_PER_BUCKET, capacity, block_bytes }
        };
        let slots = |tree: &TreeShape| tree.buckets() * u64::from(BLOCKS_PER_BUCKET);
        let mut tree = shape(1);
        while slots(&tree) < 2 * expected {
            tree = shape(tree.levels + 1);
        }
        tree.capacity = slots(&tree);
        let mut partitions = PartitionsParameters {
            capacity,
            block_bytes,
            partitions,
            sweep_evictions: 0,
            sweep_accesses: 1,
            cache_bound: 0,
            max_batch,
        };
        partitions.cache_bound = 2 * (partitions.min_cache(BLOCKS_PER_BUCKET) + max_batch);
        CuriousParameters { partitions, tree }
    }

    /// The maximum number of blocks in buffers during a largest batch: a path for each access, each in a partition of
    /// its own.
    pub fn buffer_blocks(&self) -> u64 {
        let PartitionsParameters { partitions, max_batch, .. } = self.partitions;
        u64::from(partitions.min(max_batch)) * self.tree.path_blocks()
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`OutOfRange`] names the parameter, its value and what it may be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        self.partitions.validate()?;
        self.tree.validate()
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes: the trees, one after the other, in buckets of
    /// one slot.
    pub fn layout(&self) -> Layout {
        self.partitions.layout_of_all(&self.tree.layout())
    }
}
