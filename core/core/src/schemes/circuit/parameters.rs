//! The parameters of a Circuit ORAM, and the choices that make sense.

use crate::oram::Bounds;
use crate::range;
use crate::tree::geometry::Geometry;
use crate::tree::layout::Layout;
use crate::tree::planning::{self, HalfFullTreeError};
use crate::types::{Bucket, Level};
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of a Circuit ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CircuitParameters {
    /// N, the number of blocks that the user can address: 1 to 2^32 - 1, and no more than Z · 2^L: half of the tree.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// L, the level of the leaves: 0 to 31. The tree has 2^L leaves.
    pub leaf_level: Level,
    /// The first level in untrusted memory: 0 to L. The blocks that belong above it wait on the trusted side.
    pub top: Level,
    /// Z, the number of blocks of a bucket: 2 to 64. The paper measures that 2 are enough.
    pub blocks_per_bucket: u32,
    /// The maximum number of accesses in one batch: 1 to 1024.
    pub max_batch: u32,
    /// The hard bound of the stash in blocks, those that belong above `top` included: at least a largest batch. While
    /// the next batch might exceed it, an eviction outside of the schedule comes first.
    pub stash_bound: u32,
}

impl CircuitParameters {
    /// Good parameters: Z = 2; the smallest tree that is at most half full; the trusted top as high as fits.
    ///
    /// `trusted_blocks` is the number of blocks that the trusted side holds on average: the blocks above the untrusted
    /// levels. If not even a tree with one trusted level fits, there is no trusted level. The hard bound is higher:
    /// [`waiting_bound`](Self::waiting_bound) and three largest batches.
    ///
    /// # Errors
    /// A capacity, a block size or a batch out of range.
    pub fn for_capacity(
        capacity: u64,
        block_bytes: u32,
        trusted_blocks: u64,
        max_batch: u32,
    ) -> Result<Self, HalfFullTreeError> {
        let leaf_level = planning::lowest_leaf_level(|level| capacity <= planning::half_of_places(2, level));
        let with_top = |top| {
            let mut parameters = CircuitParameters {
                capacity,
                block_bytes,
                leaf_level,
                top,
                blocks_per_bucket: 2,
                max_batch,
                stash_bound: 0,
            };
            // Before the evictions of one largest batch, and room for the next.
            parameters.stash_bound = parameters.waiting_bound().saturating_add(max_batch.saturating_mul(3));
            parameters
        };
        let fits = |parameters: &CircuitParameters| {
            libm::exp2(parameters.top.0.into()) * WAITING <= trusted_blocks as f64
        };
        let best = planning::highest_top(leaf_level, with_top, fits);
        best.validate()?;
        Ok(best)
    }

    /// The number of blocks that wait above the untrusted levels after the due evictions, exceeded with a probability
    /// below 2^-80. It is for Z = 2 and a tree that is half full. It extrapolates the measurements of
    /// `tests/all/circuit/stash.rs`. One subtree has 0.02 blocks on average. With more subtrees, each has 0.5 to 0.76,
    /// and the deviation is 0.65 times the square root of the subtrees. Beyond that, each further block at least halves
    /// the probability while subtrees are few.
    pub fn waiting_bound(&self) -> u32 {
        let subtrees = libm::exp2(self.top.0.into());
        libm::ceil(WAITING * subtrees + 8.0 * libm::sqrt(subtrees)) as u32 + 110
    }

    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), HalfFullTreeError> {
        let (levels, blocks) = ((self.leaf_level, self.top), (self.blocks_per_bucket, 2));
        range::check_tree(levels, blocks, self.bounds())?;
        let stash_bound = ("stash_bound", self.stash_bound.into(), self.max_batch.into(), u32::MAX.into());
        range::check(&[stash_bound])?;
        planning::check_half_full(self.blocks_per_bucket, self.leaf_level, self.capacity)
    }

    /// The tree, its buckets numbered from 0. A bucket is one slot: it is always read and written as a whole.
    pub fn geometry(&self) -> Geometry {
        let bucket = (self.blocks_per_bucket, self.block_bytes);
        Geometry::of_whole_buckets(self.leaf_level, self.top, bucket, Bucket(0))
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes.
    pub fn layout(&self) -> Layout {
        self.geometry().layout()
    }

    /// K, buckets of a path in untrusted memory.
    pub fn path_buckets(&self) -> usize {
        planning::path_buckets(self.leaf_level, self.top)
    }
}

/// An upper bound of the blocks that wait for a subtree on average, with Z = 2 and a tree that is half full.
const WAITING: f64 = 0.8;

#[cfg(test)]
crate::testing::parameters::test_tree_parameters! { CircuitParameters, [20, 14, 10, 5, 1],
    ("blocks_per_bucket is 1", |p| p.blocks_per_bucket = 1),
    ("stash_bound is 15", |p| p.stash_bound = 15),
    ("a tree for 4096 blocks is too small for 4097", |p| p.capacity = 4097),
}
