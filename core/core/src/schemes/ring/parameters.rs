//! Ring ORAM's parameters: their ranges, the paper's analysis of them, and what follows from them.

use crate::oram::Bounds;
use crate::tree::block_header::HEADER_BYTES;
use crate::tree::bucket_metadata::MAX_BLOCKS;
use crate::tree::geometry::{BucketShape, Geometry};
use crate::tree::layout::Layout;
use crate::types::{Bucket, Level};
use alloc::vec;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};

/// A bucket of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RingBucket {
    /// Z: real blocks that it may hold, and the most slots that an eviction reads from it.
    pub blocks: u32,
    /// The number of slots in untrusted memory: the paper's Z + S. At least S (`RingParameters::reads`), so that every
    /// read of a bucket finds a slot that was not read yet. If it is less than Z + S, the last of the S reads may take
    /// real blocks instead of dummies. These blocks go to the stash (the compacted bucket of String ORAM, 2021).
    pub slots: u32,
}

/// The public parameters of a Ring ORAM.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RingParameters {
    /// N: blocks that the user can address; at most 2^31 - 1.
    pub capacity: u64,
    /// The size of a block in bytes; 0 if only the trace matters; at most 2^24.
    pub block_bytes: u32,
    /// L, the level of the leaves: at most 30. The tree has 2^L leaves.
    pub leaf_level: Level,
    /// The first level in untrusted memory: at most L. The blocks that belong above it wait on the trusted side.
    pub top: Level,
    /// A: accesses for each scheduled eviction.
    pub eviction_rate: u32,
    /// S: reads of a bucket between two writes of it, counting the largest batch.
    pub reads: u32,
    /// Buckets of the levels above the leaves.
    pub inner: RingBucket,
    /// Buckets of the leaf level (a level of its own size, as in IR-Alloc).
    pub leaf: RingBucket,
    /// The maximum number of accesses in one batch.
    pub max_batch: u32,
    /// The maximum number of blocks of the stash and a largest batch together, before the batch is served. It includes
    /// the tree top, but not the blocks of an eviction in flight or of held buckets. It is at least the sum of three
    /// numbers: A/2 for each subtree, A, and a largest batch.
    pub stash_bound: u32,
    /// The maximum number of slots that a slice of an eviction writes, and reads: at least those of the largest bucket.
    /// A path of more slots is evicted in [slices](Self::slices), and needs a trusted top.
    pub slice_slots: u32,
}

/// The reason why parameters were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingParametersError {
    /// Capacity out of range.
    #[error("the capacity is {0} blocks: give 1 to 2147483647")]
    Capacity(u64),
    /// Blocks that are too long.
    #[error("blocks of {0} bytes are too long: give at most 16777216")]
    BlockBytes(u32),
    /// The tree is too deep or its top too low.
    #[error("the leaf level is {} and the first untrusted level {}: give top ≤ leaf level ≤ 30", leaf_level.0, top.0)]
    Levels {
        /// L.
        leaf_level: Level,
        /// The first untrusted level.
        top: Level,
    },
    /// A, S or the batch is zero, or the batch leaves no read in S.
    #[error(
        "eviction rate {rate}, reads {reads}, largest batch {batch}: give a rate of at least 1, a batch of 1 to 1024, and more reads than the batch"
    )]
    Rates {
        /// A.
        rate: u32,
        /// S.
        reads: u32,
        /// The largest batch.
        batch: u32,
    },
    /// Z and A are outside of the range for which the paper proves a bounded stash.
    #[error(
        "Z = {blocks} with A = {rate} is outside of Ring ORAM's analysis (Z ln(2Z/A) + A/2 - Z - ln 4 must be positive, and 2Z above A): raise Z to at least {needed}, or lower A to at most {max}"
    )]
    Analysis {
        /// Z.
        blocks: u32,
        /// A.
        rate: u32,
        /// The smallest Z that the analysis allows with A.
        needed: u32,
        /// The greatest A that the analysis allows with Z, or 0 if it allows none.
        max: u32,
    },
    /// The leaves cannot hold their share of the capacity.
    #[error(
        "a leaf bucket holds {blocks} blocks, but each leaf's share of the capacity is {share} blocks: raise the leaf bucket's Z to at least {needed} or the leaf level"
    )]
    LeafTooSmall {
        /// Z of the leaf bucket.
        blocks: u32,
        /// The number of blocks that fall to each leaf.
        share: u64,
        /// The least Z that is accepted.
        needed: u32,
    },
    /// A bucket has too few or too many slots.
    #[error(
        "a bucket of Z = {blocks} with S = {reads} has {slots} slots: give at least max(Z, S) and at most Z + S"
    )]
    Slots {
        /// Z.
        blocks: u32,
        /// S.
        reads: u32,
        /// The number of slots.
        slots: u32,
    },
    /// The stash bound is below what the parameters need.
    #[error("a stash bound of {bound} blocks: these parameters need at least {needed}")]
    Stash {
        /// The bound.
        bound: u32,
        /// The minimum that is accepted.
        needed: u32,
    },
    /// A slice has no room for a bucket.
    #[error("slices of at most {slots} slots: a bucket has {needed}, so give at least as many")]
    Slice {
        /// The maximum number of slots of a slice.
        slots: u32,
        /// The minimum that is accepted.
        needed: u32,
    },
    /// Slices without a trusted top, where two paths share a bucket.
    #[error(
        "a path of {path} slots in slices of at most {slots} without a tree top: give the tree top one level, or at least as many slots"
    )]
    SlicesWithoutTop {
        /// The maximum number of slots of a slice.
        slots: u32,
        /// The number of slots of a path.
        path: u64,
    },
    /// The state of a filled tree is that of another one.
    #[error(
        "the state of a filled Ring ORAM contradicts its parameters: fill the store with these parameters"
    )]
    Filled,
}

/// The largest batch that is accepted.
pub(super) const MAX_BATCH: u32 = 1024;

impl RingParameters {
    /// The least stash bound that is accepted: A/2 blocks wait for each subtree on average, one eviction more may be
    /// pending, and a batch arrives. The planner makes room for a tail beyond it.
    pub(super) fn min_stash_bound(&self) -> u64 {
        let waiting = libm::exp2(self.top.0.into()) * f64::from(self.eviction_rate) / 2.0;
        libm::ceil(waiting) as u64 + u64::from(self.eviction_rate) + u64::from(self.max_batch)
    }

    /// The maximum number of blocks that are ever in the stash, without those of an eviction in flight or of held
    /// buckets. It is the stash bound, plus the blocks that the last batch may bring from compacted buckets in addition
    /// to the requested ones.
    pub fn max_stash_blocks(&self) -> u64 {
        u64::from(self.stash_bound) + u64::from(self.max_batch) * u64::from(self.compacted_levels())
    }

    /// The maximum number of blocks that an access brings into the stash: its own, and one from each compacted bucket.
    pub fn max_blocks_per_access(&self) -> u32 {
        1 + self.compacted_levels()
    }

    /// The untrusted levels whose buckets have fewer than Z + S slots.
    fn compacted_levels(&self) -> u32 {
        let is_compacted = |bucket: RingBucket| bucket.slots < bucket.blocks.saturating_add(self.reads);
        u32::from(is_compacted(self.leaf)) + if is_compacted(self.inner) { self.inner_levels() } else { 0 }
    }

    /// Checks the ranges. Checks Z and A against the paper's analysis (Ring ORAM, section 4.2): the stash stays bounded
    /// if `Z ln(2Z/A) + A/2 - Z - ln 4 > 0`. The paper also has a premise about N and L. Here the leaf bucket has its
    /// own check instead, because leaf buckets may be larger than the others.
    ///
    /// # Errors
    /// The first range that does not hold, with what to do.
    pub fn validate(&self) -> Result<(), RingParametersError> {
        if self.capacity == 0 || self.capacity > MAX_BLOCKS {
            return Err(RingParametersError::Capacity(self.capacity));
        }
        if self.block_bytes > 1 << 24 {
            return Err(RingParametersError::BlockBytes(self.block_bytes));
        }
        if self.top > self.leaf_level || self.leaf_level > Level(30) {
            return Err(RingParametersError::Levels { leaf_level: self.leaf_level, top: self.top });
        }
        let rate = self.eviction_rate;
        if rate == 0 || self.max_batch == 0 || self.max_batch > MAX_BATCH || self.reads <= self.max_batch {
            return Err(RingParametersError::Rates { rate, reads: self.reads, batch: self.max_batch });
        }
        if self.leaf_level > self.top && !is_bounded(self.inner.blocks, rate) {
            let blocks = self.inner.blocks;
            let (needed, max) = (min_blocks(rate), max_rate(blocks));
            return Err(RingParametersError::Analysis { blocks, rate, needed, max });
        }
        let needed = min_leaf_blocks(self.capacity, self.leaf_level.0, rate);
        if self.leaf.blocks < needed {
            let share = self.capacity.div_ceil(1 << self.leaf_level.0);
            return Err(RingParametersError::LeafTooSmall { blocks: self.leaf.blocks, share, needed });
        }
        for RingBucket { blocks, slots } in [self.inner, self.leaf] {
            if slots < blocks.max(self.reads) || slots > blocks.saturating_add(self.reads) {
                return Err(RingParametersError::Slots { blocks, reads: self.reads, slots });
            }
        }
        let needed = self.min_stash_bound();
        if u64::from(self.stash_bound) < needed {
            return Err(RingParametersError::Stash { bound: self.stash_bound, needed: needed as u32 });
        }
        let (slots, needed) = (self.slice_slots, self.largest_bucket());
        if slots < needed {
            return Err(RingParametersError::Slice { slots, needed });
        }
        if self.is_sliced() && self.top == Level(0) {
            return Err(RingParametersError::SlicesWithoutTop { slots, path: self.slots_on_path() });
        }
        Ok(())
    }

    /// The tree that these parameters describe.
    pub fn geometry(&self) -> Geometry {
        let slot_bytes = HEADER_BYTES as u32 + self.block_bytes;
        let shape =
            |bucket: RingBucket| BucketShape { blocks: bucket.blocks, slots: bucket.slots, slot_bytes };
        let mut shapes: Vec<BucketShape> = vec![shape(self.inner); self.inner_levels() as usize];
        shapes.push(shape(self.leaf));
        Geometry::new(self.leaf_level, self.top, shapes, Bucket(0))
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes.
    pub fn layout(&self) -> Layout {
        self.geometry().layout()
    }

    /// Untrusted levels above the leaves.
    fn inner_levels(&self) -> u32 {
        self.leaf_level.0 - self.top.0
    }

    /// Returns the number of slots of a path in untrusted memory: those that an eviction writes.
    pub fn slots_on_path(&self) -> u64 {
        self.on_path(|bucket| bucket.slots)
    }

    /// The sum of Z over all its buckets. It is the maximum number of blocks that an eviction writes, and of slots that
    /// it reads from buckets that are not compacted.
    pub fn blocks_on_path(&self) -> u64 {
        self.on_path(|bucket| bucket.blocks)
    }

    fn on_path(&self, of: impl Fn(RingBucket) -> u32) -> u64 {
        u64::from(self.inner_levels()) * u64::from(of(self.inner)) + u64::from(of(self.leaf))
    }

    /// S less the largest batch: a bucket read more often than this is reshuffled before the next batch.
    pub fn reads_before_reshuffle(&self) -> u32 {
        self.reads - self.max_batch
    }
}

/// The paper's condition for a bounded stash; positive is good.
fn analysis(blocks: u32, rate: u32) -> f64 {
    let (z, a) = (f64::from(blocks), f64::from(rate));
    z * libm::log(2.0 * z / a) + a / 2.0 - z - libm::log(4.0)
}

/// Returns whether the analysis holds: its condition, on the branch that it is proved for.
fn is_bounded(blocks: u32, rate: u32) -> bool {
    2 * u64::from(blocks) > u64::from(rate) && analysis(blocks, rate) > 0.0
}

/// The least Z that the paper's analysis allows for an A.
pub(super) fn min_blocks(rate: u32) -> u32 {
    // It is above A/2 and, for every A, at most A + 4; from there on every Z is allowed.
    let (mut low, mut high) = (rate / 2, rate.saturating_add(4));
    while high - low > 1 {
        let middle = low.midpoint(high);
        if is_bounded(middle, rate) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The greatest A that the paper's analysis allows for a Z; 0 if it allows none.
fn max_rate(blocks: u32) -> u32 {
    (1..blocks.saturating_mul(2)).rev().find(|rate| is_bounded(blocks, *rate)).unwrap_or(0)
}

/// The least Z of a leaf bucket: the leaf's share of a full vault and three deviations of it. The blocks that exceed it
/// wait in the levels above, whose Z has its own slack.
pub(super) fn min_leaf_blocks(capacity: u64, leaf_level: u32, rate: u32) -> u32 {
    let share = capacity as f64 / libm::exp2(leaf_level.into());
    let (spread, min) = (libm::ceil(share + 3.0 * libm::sqrt(share)) as u32, min_blocks(rate));
    spread.max(min).min(capacity.max(u64::from(min)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::parameters::refusal;

    #[test]
    fn the_paper_s_own_pairs_of_z_and_a_pass_its_analysis_and_the_next_a_does_not() {
        for (blocks, rate) in [(4, 3), (8, 8), (16, 20), (32, 46)] {
            assert!(analysis(blocks, rate) > 0.0, "Z {blocks}, A {rate}");
            assert!(analysis(blocks, rate + 1) <= 0.0, "Z {blocks}, A {}", rate + 1);
            assert_eq!((max_rate(blocks), min_blocks(rate)), (rate, blocks));
        }
    }

    #[test]
    fn each_parameter_out_of_range_is_refused_by_name() {
        let good = RingParameters::for_capacity(4096, 64, 512, 16);
        let refused = |change: fn(&mut RingParameters)| refusal(&good, RingParameters::validate, change);
        assert!(matches!(refused(|p| p.capacity = 0), RingParametersError::Capacity(0)));
        assert!(matches!(refused(|p| p.block_bytes = u32::MAX), RingParametersError::BlockBytes(u32::MAX)));
        assert!(matches!(refused(|p| p.top = Level(p.leaf_level.0 + 1)), RingParametersError::Levels { .. }));
        assert!(matches!(refused(|p| p.reads = p.max_batch), RingParametersError::Rates { .. }));
        assert!(matches!(refused(|p| p.inner.blocks /= 2), RingParametersError::Analysis { .. }));
        assert!(matches!(refused(|p| p.inner.blocks = 3), RingParametersError::Analysis { .. }));
        assert!(matches!(refused(|p| p.leaf.blocks = 3), RingParametersError::LeafTooSmall { .. }));
        assert!(matches!(refused(|p| p.inner.slots = 3), RingParametersError::Slots { .. }));
        assert!(matches!(refused(|p| p.stash_bound = 3), RingParametersError::Stash { .. }));
        assert!(matches!(refused(|p| p.slice_slots = 3), RingParametersError::Slice { slots: 3, .. }));
        let without_top = |p: &mut RingParameters| (p.top, p.slice_slots) = (Level(0), p.largest_bucket());
        assert!(matches!(refused(without_top), RingParametersError::SlicesWithoutTop { .. }));
    }
}
