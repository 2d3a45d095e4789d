//! The parameters of a RAW ORAM, and the choices that make sense.

use super::trees::Trees;
use crate::oram::Bounds;
use crate::range;
use crate::tree::eviction_schedule::{EvictionSchedule, Pace};
use crate::tree::layout::Layout;
use crate::tree::planning::{self, HalfFullTreeError};
use crate::types::{Bucket, Level};
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of a RAW ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RawParameters {
    /// N, the number of blocks that the user can address: 1 to 2^32 - 1, and no more than Z · 2^L: half of the tree.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// L, the level of the leaves: 0 to 31. The tree has 2^L leaves.
    pub leaf_level: Level,
    /// The first level in untrusted memory: 0 to L. The blocks that belong above it wait on the trusted side.
    pub top: Level,
    /// Z, the number of blocks of a bucket: 2 to 64. The paper takes 5.
    pub blocks_per_bucket: u32,
    /// A, the number of accesses for each eviction: 1 to 2Z - 1. The paper takes 5. A bucket above the leaves is asked
    /// to hold A/2 blocks on average, so with more than 2Z no stash is bounded.
    pub eviction_rate: u32,
    /// The maximum number of accesses in one batch: 1 to 1024.
    pub max_batch: u32,
    /// C, the hard bound of the stash in blocks: at least a largest batch. It includes the blocks that belong above
    /// `top`, and not those of a path that is being evicted. While the next batch might exceed it, an eviction outside
    /// of the schedule comes first.
    pub stash_bound: u32,
}

impl RawParameters {
    /// The maximum number of blocks per leaf of planned parameters.
    pub const PLANNED_LOAD: u64 = 4;

    /// Good parameters: Z = 5 and A = 5 as in the paper. The tree is the smallest with no more than
    /// [`PLANNED_LOAD`](Self::PLANNED_LOAD) blocks for each leaf, and has the largest trusted top that fits.
    ///
    /// `trusted_blocks` is the number of blocks that the trusted side holds on average: the blocks above the untrusted
    /// levels. If not even a tree with one trusted level fits, there is no trusted level. The hard bound is higher:
    /// [`waiting_bound`](Self::waiting_bound), a late eviction's and a largest batch.
    ///
    /// # Errors
    /// A capacity, a block size or a batch out of range.
    pub fn for_capacity(
        capacity: u64,
        block_bytes: u32,
        trusted_blocks: u64,
        max_batch: u32,
    ) -> Result<Self, HalfFullTreeError> {
        let leaf_level = planning::lowest_leaf_level(|level| capacity <= Self::PLANNED_LOAD << level.0);
        let with_top = |top| {
            let mut parameters = RawParameters {
                capacity,
                block_bytes,
                leaf_level,
                top,
                blocks_per_bucket: 5,
                eviction_rate: 5,
                max_batch,
                stash_bound: 0,
            };
            // Before the eviction that may come late, and room for the next batch.
            let late = max_batch.saturating_add(parameters.eviction_rate);
            parameters.stash_bound = parameters.waiting_bound().saturating_add(late);
            parameters
        };
        let fits = |parameters: &RawParameters| parameters.waiting() <= trusted_blocks as f64;
        let best = planning::highest_top(leaf_level, with_top, fits);
        best.validate()?;
        Ok(best)
    }

    /// The number of blocks that wait on the trusted side when no eviction is due, exceeded with a probability below
    /// 2^-80. It is for Z = A = 5 and at most [`PLANNED_LOAD`](Self::PLANNED_LOAD) blocks for each leaf. It
    /// extrapolates the measurements of `tests/all/raw/stash.rs`. These are 2.0 blocks with one subtree, and 2.3 to 2.7
    /// a subtree with more. The deviation is at most 1.5 times the square root of the subtrees. Beyond that, each
    /// further block at least halves the probability while subtrees are few.
    pub fn waiting_bound(&self) -> u32 {
        let subtrees = libm::exp2(self.top.0.into());
        let waiting = libm::ceil(self.waiting() + 12.0 * libm::sqrt(subtrees)) as u32;
        waiting.saturating_add(60)
    }

    /// The average number of blocks that wait when no eviction is due, with Z = A = 5. For each subtree it is half of
    /// an eviction's blocks, and the blocks that its buckets cannot hold.
    pub fn waiting(&self) -> f64 {
        WAITING * libm::exp2(self.top.0.into())
    }

    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), HalfFullTreeError> {
        let (levels, blocks) = ((self.leaf_level, self.top), (self.blocks_per_bucket, 2));
        range::check_tree(levels, blocks, self.bounds())?;
        let blocks = u64::from(self.blocks_per_bucket);
        range::check(&[
            ("eviction_rate", self.eviction_rate.into(), 1, 2 * blocks - 1),
            ("stash_bound", self.stash_bound.into(), self.max_batch.into(), u32::MAX.into()),
        ])?;
        planning::check_half_full(self.blocks_per_bucket, self.leaf_level, self.capacity)
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// The pace of the schedule: an eviction every A accesses.
    pub(super) fn pace(&self) -> Pace {
        Pace { evictions: 1, accesses: self.eviction_rate.into() }
    }

    /// Returns whether a schedule can have come so far, with this many accesses whose headers are not written.
    pub(super) fn is_schedule(&self, schedule: &EvictionSchedule, unwritten: u64) -> bool {
        let batch = u64::from(self.max_batch);
        schedule.emergencies <= schedule.begun
            && schedule.behind(self.pace()) <= 2 + batch / u64::from(self.eviction_rate)
            && unwritten < 2 * batch
            && unwritten <= schedule.accesses
    }

    /// The trees, their buckets numbered from `first_bucket`.
    pub(super) fn trees(&self, first_bucket: Bucket) -> Trees {
        let bucket = (self.blocks_per_bucket, self.block_bytes);
        Trees::new(self.leaf_level, self.top, bucket, first_bucket)
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes: all headers, then all bodies.
    pub fn layout(&self) -> Layout {
        self.trees(Bucket(0)).layout()
    }

    /// K, buckets of a path in untrusted memory, each a header and a body.
    pub fn path_buckets(&self) -> usize {
        planning::path_buckets(self.leaf_level, self.top)
    }

    /// Returns the number of slots that a path has in untrusted memory: those that an eviction reads and writes.
    pub fn path_slots(&self) -> usize {
        self.path_buckets() * (self.blocks_per_bucket as usize + 1)
    }
}

/// An upper bound of the blocks that wait for a subtree on average, with planned parameters.
const WAITING: f64 = 2.8;

#[cfg(test)]
crate::testing::parameters::test_tree_parameters! { RawParameters, [19, 14, 11, 6, 1],
    ("blocks_per_bucket is 1", |p| p.blocks_per_bucket = 1),
    ("eviction_rate is 0", |p| p.eviction_rate = 0), ("eviction_rate is 10", |p| p.eviction_rate = 10),
    ("stash_bound is 15", |p| p.stash_bound = 15),
    ("a tree for 5120 blocks is too small for 5121", |p| p.capacity = 5121),
}
