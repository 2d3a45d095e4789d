//! The parameters of a Path ORAM, and the choices that make sense.

use crate::layout::Layout;
use crate::oram::Bounds;
use crate::range::{self, OutOfRange};
use crate::tree::geometry::Geometry;
use crate::words::{Bucket, Level};
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of a Path ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PathParameters {
    /// N, blocks that the user can address: at least 1, and no more than three quarters of the tree's slots.
    pub capacity: u64,
    /// Bytes of a block: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// L, the level of the leaves: 0 to 31. The tree has 2^L leaves.
    pub leaf_level: Level,
    /// The first level in untrusted memory: 0 to L. The blocks that belong above it wait on the trusted side.
    pub top: Level,
    /// Z, blocks of a bucket: 1 to 64. The paper proves bounds for 5 and measures 4.
    pub blocks_per_bucket: u32,
    /// The most accesses of one batch: 1 to 1024.
    pub max_batch: u32,
    /// The hard bound of the trusted side, in blocks: the stash, the trusted top with it, and the paths that were
    /// read and are not yet written back. An access that could exceed it is refused before anything changes.
    pub stash_bound: u32,
}

/// The reason why parameters of a Path ORAM are refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathParametersError {
    /// A value outside of its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The tree is too full for blocks to find their way down.
    #[error(
        "a tree of {slots} slots is too small for {capacity} blocks: raise leaf_level or blocks_per_bucket until \
         three quarters of the slots hold the capacity"
    )]
    TreeTooSmall {
        /// Z · (2^(L+1) - 1).
        slots: u64,
        /// N.
        capacity: u64,
    },
    /// Even a lone batch could exceed the stash.
    #[error(
        "a stash of {stash_bound} blocks cannot take the paths of a batch, up to {needed} blocks: raise stash_bound, \
         or lower max_batch or the levels in untrusted memory"
    )]
    StashTooSmall {
        /// The bound that was asked for.
        stash_bound: u32,
        /// The least that works.
        needed: u32,
    },
}

impl PathParameters {
    /// Good parameters: Z = 4; the smallest tree that is at most half full; the trusted top as high as fits.
    ///
    /// `trusted_blocks` is the number of blocks that the trusted side holds on average while a largest batch is served,
    /// if each batch is written back before the next: the blocks above the untrusted levels, and the batch's paths. If
    /// not even a tree without a trusted top fits, there is no trusted top.
    ///
    /// The hard bound is higher: it makes room for two largest batches of the fullest paths, and for a tail of waiting
    /// blocks that is exceeded with a probability below 2^-80. That is an extrapolation of `examples/path_tail.rs`:
    /// 1.05 to 1.1 blocks a subtree (1.4 with one untrusted level, 1.17 with two), a deviation of 1.1 times the
    /// square root of the subtrees, and below 2^-10 each further block at least halves the probability when
    /// there is one subtree.
    ///
    /// # Errors
    /// A capacity, a block size or a batch out of range.
    pub fn for_capacity(
        capacity: u64,
        block_bytes: u32,
        trusted_blocks: u64,
        max_batch: u32,
    ) -> Result<Self, PathParametersError> {
        let roomy = |level: &u32| 4 << level >= capacity && capacity <= most_blocks(4, Level(*level));
        let leaf_level = (0..32).find(roomy).unwrap_or(31);
        let with_top = |top| {
            let mut parameters = PathParameters {
                capacity,
                block_bytes,
                leaf_level: Level(leaf_level),
                top: Level(top),
                blocks_per_bucket: 4,
                max_batch,
                stash_bound: 0,
            };
            let batches = max_batch.saturating_mul(2 * parameters.blocks_per_access());
            parameters.stash_bound = parameters.waiting_bound().saturating_add(batches);
            parameters
        };
        let fits = |parameters: &PathParameters| {
            let waiting = parameters.subtrees() * parameters.waiting_per_subtree();
            let paths = f64::from(max_batch) * parameters.blocks_on_path();
            waiting + paths <= trusted_blocks as f64
        };
        let best = (0..=leaf_level).rev().map(with_top).find(fits).unwrap_or(with_top(0));
        best.validate()?;
        Ok(best)
    }

    /// The number of blocks that wait on the trusted side, the paths held apart, but for a probability below 2^-80.
    fn waiting_bound(&self) -> u32 {
        let mean = self.waiting_per_subtree() * self.subtrees();
        // Gaussian for many subtrees; for a few, geometric with ratio 1/2.
        libm::ceil(mean + 11.5 * libm::sqrt(self.subtrees())) as u32 + 90
    }

    /// Blocks that wait for a subtree on average, with Z = 4 and a tree that is half full.
    fn waiting_per_subtree(&self) -> f64 {
        match self.path_buckets() {
            1 => 1.45,
            2 => 1.2,
            _ => 1.15,
        }
    }

    /// Blocks that an access takes in on average, with Z = 4 and a tree that is half full: upper buckets hold few.
    fn blocks_on_path(&self) -> f64 {
        2.0 + 1.4 * self.path_buckets() as f64
    }

    fn subtrees(&self) -> f64 {
        libm::exp2(self.top.0.into())
    }

    /// Checks every range.
    ///
    /// # Errors
    /// Each names the parameter and what to do.
    pub fn validate(&self) -> Result<(), PathParametersError> {
        let ranges = [
            ("leaf_level", u64::from(self.leaf_level.0), 0, 31),
            ("top", u64::from(self.top.0), 0, u64::from(self.leaf_level.0)),
            ("blocks_per_bucket", u64::from(self.blocks_per_bucket), 1, 64),
            ("block_bytes", u64::from(self.block_bytes), 0, 1 << 24),
            ("max_batch", u64::from(self.max_batch), 1, 1024),
            ("capacity", self.capacity, 1, u64::from(u32::MAX)),
        ];
        range::check(&ranges)?;
        if self.capacity > most_blocks(self.blocks_per_bucket, self.leaf_level) {
            let slots = tree_slots(self.blocks_per_bucket, self.leaf_level);
            return Err(PathParametersError::TreeTooSmall { slots, capacity: self.capacity });
        }
        let needed = self.max_batch * self.blocks_per_access();
        if self.stash_bound < needed {
            return Err(PathParametersError::StashTooSmall { stash_bound: self.stash_bound, needed });
        }
        Ok(())
    }

    /// The tree, its buckets numbered from `first_bucket`. A bucket is one slot: a path is always read and written in
    /// whole buckets, so each is sealed as a whole.
    pub fn geometry(&self, first_bucket: Bucket) -> Geometry {
        let bucket = (self.blocks_per_bucket, self.block_bytes);
        Geometry::of_whole_buckets(self.leaf_level, self.top, bucket, first_bucket)
    }

    /// The bounds of its batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes.
    pub fn layout(&self) -> Layout {
        self.geometry(Bucket(0)).layout()
    }

    /// Buckets of a path in untrusted memory: those that one access reads, and writes back.
    pub fn path_buckets(&self) -> usize {
        (self.leaf_level.0 + 1 - self.top.0) as usize
    }

    /// The most blocks that one access can add to the stash: a path full of them, and a new one.
    pub(super) fn blocks_per_access(&self) -> u32 {
        self.path_buckets() as u32 * self.blocks_per_bucket + 1
    }
}

/// Places for blocks in a whole tree, the trusted levels counted as if they were buckets.
fn tree_slots(blocks_per_bucket: u32, leaf_level: Level) -> u64 {
    u64::from(blocks_per_bucket) * ((2 << leaf_level.0) - 1)
}

/// The most blocks that a tree is allowed: three quarters of its slots.
fn most_blocks(blocks_per_bucket: u32, leaf_level: Level) -> u64 {
    let slots = tree_slots(blocks_per_bucket, leaf_level);
    slots - slots / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn planned_parameters_are_valid_and_at_most_three_quarters_full_at_every_size() {
        for capacity in (1..70).chain([1000, 4096, 16_384, 100_000, 1 << 20, 1 << 28, u64::from(u32::MAX)]) {
            for share in [4, 8, 32, 1000] {
                for max_batch in [1, 16, 1024] {
                    let planned =
                        PathParameters::for_capacity(capacity, 64, capacity / share, max_batch).unwrap();
                    assert_eq!(planned.validate(), Ok(()), "{planned:?}");
                }
            }
        }
    }

    #[test]
    fn more_trust_never_makes_a_path_longer() {
        let buckets = |trusted| PathParameters::for_capacity(1 << 20, 64, trusted, 1).unwrap().path_buckets();
        let planned: Vec<usize> = [0, 100, 1000, 1 << 15, 1 << 30].map(buckets).to_vec();
        assert_eq!(planned, [19, 13, 10, 5, 1]);
    }

    #[test]
    fn planning_refuses_what_validation_refuses() {
        let planned =
            |capacity, block_bytes, batch| PathParameters::for_capacity(capacity, block_bytes, 0, batch);
        assert!(planned(u64::MAX, 64, 1).is_err());
        assert!(planned(0, 64, 1).is_err());
        assert!(planned(1, u32::MAX, 1).is_err());
        assert!(planned(1, 64, u32::MAX).is_err());
    }

    #[test]
    fn each_parameter_out_of_range_is_refused_by_name() {
        let good = PathParameters::for_capacity(4096, 64, 512, 16).unwrap();
        let refused = |change: fn(&mut PathParameters)| {
            let mut bad = good.clone();
            change(&mut bad);
            bad.validate().unwrap_err()
        };
        let named = |change| match refused(change) {
            PathParametersError::OutOfRange(out) => out.name,
            other => panic!("{other}"),
        };
        assert_eq!(named(|p| p.leaf_level = Level(32)), "leaf_level");
        assert_eq!(named(|p| p.top = Level(p.leaf_level.0 + 1)), "top");
        assert_eq!(named(|p| p.blocks_per_bucket = 0), "blocks_per_bucket");
        assert_eq!(named(|p| p.block_bytes = (1 << 24) + 1), "block_bytes");
        assert_eq!(named(|p| p.max_batch = 0), "max_batch");
        assert_eq!(named(|p| p.capacity = 0), "capacity");
        assert!(matches!(refused(|p| p.capacity = 7000), PathParametersError::TreeTooSmall { .. }));
        assert!(matches!(refused(|p| p.stash_bound = 16), PathParametersError::StashTooSmall { .. }));
    }
}
