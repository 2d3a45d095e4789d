//! What a Path ORAM is built with, and which choices make sense.

use crate::block_header::HEADER_BYTES;
use crate::layout::Layout;
use crate::tree::geometry::{BucketShape, Geometry};
use crate::words::{Bucket, Level};
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of a Path ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PathParameters {
    /// N, blocks that the user can address: at least 1, and no more than three quarters of the tree's slots.
    pub capacity: u64,
    /// Bytes of a block: 0 to 2^24 (simulators move no payload).
    pub block_bytes: usize,
    /// L, the level of the leaves: 0 to 31. The tree has 2^L leaves.
    pub leaf_level: Level,
    /// The first level in untrusted memory: 0 to L. What belongs above it waits on the trusted side.
    pub top: Level,
    /// Z, blocks of a bucket: 1 to 64. The paper proves bounds for 5 and measures 4.
    pub blocks_per_bucket: u32,
    /// The most accesses of one batch: 1 to 1024.
    pub max_batch: usize,
    /// The hard bound of the trusted side, in blocks: the stash, the trusted top with it, and the paths that were
    /// read and are not yet written back. An access that could exceed it is refused before anything changes.
    pub stash_bound: usize,
}

/// Why parameters of a Path ORAM are refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathParametersError {
    /// A value outside of its range.
    #[error("{name} is {value}; choose it from {least} to {most}")]
    OutOfRange {
        /// Which parameter.
        name: &'static str,
        /// What was asked for.
        value: u64,
        /// The least that works.
        least: u64,
        /// The most that works.
        most: u64,
    },
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
        /// What was asked for.
        stash_bound: usize,
        /// The least that works.
        needed: usize,
    },
}

/// Blocks that wait on the trusted side for one subtree of untrusted levels, on average (measured 1.0 to 1.11 by
/// `examples/path_tail.rs`).
const WAITING_PER_SUBTREE: f64 = 1.15;

impl PathParameters {
    /// Good parameters: Z = 4; the smallest tree that is at most half full; the trusted top as high as fits.
    ///
    /// `trusted_blocks` is what the trusted side holds on average while a largest batch is served, if each batch is
    /// written back before the next: the blocks above the untrusted levels, and the batch's paths. If not even a tree
    /// without a trusted top fits, there is none. The hard bound is higher, see [`stash_bound`](Self::stash_bound):
    /// it makes room for the fullest paths and for a tail that is exceeded with a probability below 2^-80.
    ///
    /// # Errors
    /// A capacity, a block size or a batch out of range.
    pub fn for_capacity(
        capacity: u64,
        block_bytes: usize,
        trusted_blocks: u64,
        max_batch: usize,
    ) -> Result<Self, PathParametersError> {
        let leaf_level = (0..32).find(|level| 4u64 << level >= capacity).unwrap_or(31);
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
            parameters.stash_bound =
                parameters.waiting_bound() + 2 * max_batch * parameters.blocks_per_access();
            parameters
        };
        let fits = |parameters: &PathParameters| {
            let waiting = libm::exp2(parameters.top.0.into()) * WAITING_PER_SUBTREE;
            let paths = max_batch as f64 * parameters.blocks_per_access() as f64 * 0.6;
            waiting + paths <= trusted_blocks as f64
        };
        let best = (0..=leaf_level).rev().map(with_top).find(fits).unwrap_or(with_top(0));
        best.validate()?;
        Ok(best)
    }

    /// What waits on the trusted side, the paths held apart, with a probability above 2^-80.
    fn waiting_bound(&self) -> usize {
        let subtrees = libm::exp2(self.top.0.into());
        libm::ceil(WAITING_PER_SUBTREE * subtrees + 11.0 * libm::sqrt(subtrees)) as usize + 90
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
            ("block_bytes", self.block_bytes as u64, 0, 1 << 24),
            ("max_batch", self.max_batch as u64, 1, 1024),
            ("capacity", self.capacity, 1, u64::from(u32::MAX)),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(PathParametersError::OutOfRange { name, value, least, most });
            }
        }
        let slots = u64::from(self.blocks_per_bucket) * ((2 << self.leaf_level.0) - 1);
        if self.capacity > slots - slots / 4 {
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
        let slot_bytes = self.blocks_per_bucket as usize * (HEADER_BYTES + self.block_bytes);
        let shape = BucketShape { blocks: self.blocks_per_bucket, slots: 1, slot_bytes: slot_bytes as u32 };
        let shapes = alloc::vec![shape; self.path_buckets()];
        Geometry::new(self.leaf_level, self.top, shapes, first_bucket)
    }

    /// What the scheme needs of untrusted memory, in plaintext bytes.
    pub fn layout(&self) -> Layout {
        self.geometry(Bucket(0)).layout()
    }

    /// Buckets of a path in untrusted memory: what one access reads, and writes back.
    pub fn path_buckets(&self) -> usize {
        (self.leaf_level.0 + 1 - self.top.0) as usize
    }

    /// The most blocks that one access can add to the stash: a path full of them, and a new one.
    pub(super) fn blocks_per_access(&self) -> usize {
        self.path_buckets() * self.blocks_per_bucket as usize + 1
    }
}
