//! The parameters of a Path ORAM, and the choices that make sense.

use crate::oram::Bounds;
use crate::range::{self, OutOfRange};
use crate::tree::geometry::Geometry;
use crate::tree::layout::Layout;
use crate::tree::planning;
use crate::types::{Bucket, Level};
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of a Path ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PathParameters {
    /// N, the number of blocks that the user can address: at least 1, and at most Z · 2^L (half of the tree). In the
    /// smallest trees, at most three quarters of the slots, which is less.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// L, the level of the leaves: 0 to 31. The tree has 2^L leaves.
    pub leaf_level: Level,
    /// The first level in untrusted memory: 0 to L. The blocks that belong above it wait on the trusted side.
    pub top: Level,
    /// Z, the number of blocks of a bucket: 3 to 64, and with 3 at most [`MAX_LEVELS_OF_THREE`] levels in untrusted
    /// memory. The paper proves bounds for 5 and measures 4.
    pub blocks_per_bucket: u32,
    /// The maximum number of accesses in one batch: 1 to 1024.
    pub max_batch: u32,
    /// The hard bound of the trusted side, in blocks. It includes the stash, the trusted top, and the paths that were
    /// read and are not yet written back. While a largest batch could exceed it, a background eviction comes first.
    pub stash_bound: u32,
}

/// The fewest blocks of a bucket that keep the stash bounded. With 2, what waits doubles with each level of the tree,
/// however empty the tree is.
const MIN_BLOCKS: u32 = 3;

/// The maximum number of untrusted levels of a tree whose buckets hold three blocks: with each further one, more blocks
/// wait.
pub const MAX_LEVELS_OF_THREE: usize = 10;

/// The reason why parameters of a Path ORAM are refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathParametersError {
    /// A value that is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// No tree keeps the stash of such buckets bounded.
    #[error(
        "buckets of {blocks_per_bucket} blocks overflow the stash in a tree of any height: set blocks_per_bucket to 4 \
         or more (or 3, with much trusted memory)"
    )]
    BucketsTooSmall {
        /// Z.
        blocks_per_bucket: u32,
    },
    /// The upper buckets of so high a tree are too small.
    #[error(
        "buckets of 3 blocks allow at most {MAX_LEVELS_OF_THREE} levels in untrusted memory, not {levels}: give the tree \
         top more trusted memory, or set blocks_per_bucket to 4 or more"
    )]
    TreeTooHigh {
        /// L + 1 - top.
        levels: usize,
    },
    /// Sizes for another number of levels.
    #[error(
        "there are bucket sizes for {given} levels, but {levels} levels in untrusted memory: give one size for each level"
    )]
    Levels {
        /// The number of given sizes.
        given: usize,
        /// L + 1 - top.
        levels: usize,
    },
    /// The tree is too full for blocks to find their way down.
    #[error(
        "a tree for {max} blocks is too small for {capacity}: raise leaf_level or blocks_per_bucket until half of \
         the slots hold the capacity"
    )]
    TreeTooSmall {
        /// Z · 2^L: half of the tree's slots.
        max: u64,
        /// N.
        capacity: u64,
    },
    /// Even a lone batch could exceed the stash.
    #[error(
        "a stash of {stash_bound} blocks cannot take a batch's paths of up to {needed}: raise stash_bound, or lower \
         max_batch or the levels in untrusted memory"
    )]
    StashTooSmall {
        /// The bound that was requested.
        stash_bound: u32,
        /// The minimum that is accepted.
        needed: u32,
    },
}

impl PathParameters {
    /// Good parameters with Z = 4: see [`for_buckets_of`](Self::for_buckets_of).
    ///
    /// # Errors
    /// A capacity, a block size or a batch out of range.
    pub fn for_capacity(
        capacity: u64,
        block_bytes: u32,
        trusted_blocks: u64,
        max_batch: u32,
    ) -> Result<Self, PathParametersError> {
        Self::for_buckets_of(4, capacity, block_bytes, trusted_blocks, max_batch)
    }

    /// Good parameters for buckets of this many blocks: the smallest tree that is at most half full; the trusted top as
    /// high as fits.
    ///
    /// `trusted_blocks` is the average number of blocks on the trusted side during a largest batch, if each batch is
    /// written back before the next. It counts the blocks above the untrusted levels, and the batch's paths. If not
    /// even a tree without a trusted top fits, there is no trusted top.
    ///
    /// The hard bound is higher: it makes room for two largest batches of the fullest paths, and for
    /// [`waiting_bound`](Self::waiting_bound).
    ///
    /// # Errors
    /// A capacity, a block size or a batch out of range; buckets that keep no stash bounded.
    pub fn for_buckets_of(
        blocks_per_bucket: u32,
        capacity: u64,
        block_bytes: u32,
        trusted_blocks: u64,
        max_batch: u32,
    ) -> Result<Self, PathParametersError> {
        let leaf_level =
            planning::lowest_leaf_level(|level| capacity <= max_blocks(blocks_per_bucket, level));
        let with_top = |top| {
            let mut parameters = PathParameters {
                capacity,
                block_bytes,
                leaf_level,
                top,
                blocks_per_bucket,
                max_batch,
                stash_bound: 0,
            };
            let batches = max_batch.saturating_mul(2).saturating_mul(parameters.blocks_per_access());
            parameters.stash_bound = parameters.waiting_bound().saturating_add(batches);
            parameters
        };
        let fits = |parameters: &PathParameters| {
            let paths = f64::from(max_batch) * parameters.blocks_on_path();
            parameters.waiting() + paths <= trusted_blocks as f64
        };
        let best = planning::highest_top(leaf_level, with_top, fits);
        best.validate()?;
        Ok(best)
    }

    /// The number of blocks that wait on the trusted side, without those of held paths. It is exceeded with a
    /// probability below 2^-80, if the tree is at most half full. It extrapolates the measurements of
    /// `examples/path_tail.rs`, which computes the probability for each Z. For many subtrees it is a Gaussian, for a
    /// few a tail that falls geometrically.
    pub fn waiting_bound(&self) -> u32 {
        let (_, deviation) = self.waiting_per_subtree();
        // Blocks in which the probability falls by 2^-80 and more, with one subtree.
        let tail = if self.blocks_per_bucket < 4 { 160 } else { 110 };
        let waiting = self.waiting() + 10.5 * deviation * libm::sqrt(self.subtrees());
        (libm::ceil(waiting) as u32).saturating_add(tail)
    }

    /// The average number of blocks that wait in all subtrees, without those of held paths.
    pub fn waiting(&self) -> f64 {
        self.waiting_per_subtree().0 * self.subtrees()
    }

    /// The mean and the deviation of the number of blocks that wait for a subtree. They were measured in a tree that is
    /// half full, under scans and random reads, and are rounded up. A block waits until a path leads through its
    /// subtree. A subtree of one level is a single bucket, and has at times more blocks than places. With buckets of
    /// three, few blocks reach the root of a subtree.
    fn waiting_per_subtree(&self) -> (f64, f64) {
        match (self.blocks_per_bucket, self.path_buckets()) {
            (..4, 1..=4) => (1.3, 1.25),
            (..4, 5..=6) => (1.4, 1.5),
            (..4, 7..=8) => (1.6, 1.75),
            (..4, _) => (1.9, 2.2),
            (4, 1) => (1.45, 1.1),
            (blocks, 1) => {
                let uneven = 0.35 * libm::sqrt(blocks.into());
                (1.0 + uneven, 0.2 + uneven)
            }
            (_, 2) => (1.2, 1.1),
            _ => (1.15, 1.1),
        }
    }

    /// Returns the number of blocks that an access takes in on average, in a tree that is half full: upper buckets hold
    /// few.
    pub fn blocks_on_path(&self) -> f64 {
        (2.0 + 1.4 * self.path_buckets() as f64) * f64::from(self.blocks_per_bucket) / 4.0
    }

    fn subtrees(&self) -> f64 {
        libm::exp2(self.top.0.into())
    }

    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), PathParametersError> {
        self.validate_but_for_room()?;
        let max = max_blocks(self.blocks_per_bucket, self.leaf_level);
        if self.capacity > max {
            return Err(PathParametersError::TreeTooSmall { max, capacity: self.capacity });
        }
        Ok(())
    }

    /// Checks every range, but not that the tree is at most half full.
    pub(super) fn validate_but_for_room(&self) -> Result<(), PathParametersError> {
        if (1..MIN_BLOCKS).contains(&self.blocks_per_bucket) {
            return Err(PathParametersError::BucketsTooSmall { blocks_per_bucket: self.blocks_per_bucket });
        }
        let (levels, blocks) = ((self.leaf_level, self.top), (self.blocks_per_bucket, MIN_BLOCKS));
        range::check_tree(levels, blocks, self.bounds())?;
        let levels = self.path_buckets();
        if self.blocks_per_bucket == 3 && levels > MAX_LEVELS_OF_THREE {
            return Err(PathParametersError::TreeTooHigh { levels });
        }
        let needed = self.blocks_per_batch();
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

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes.
    pub fn layout(&self) -> Layout {
        self.geometry(Bucket(0)).layout()
    }

    /// Returns the number of buckets of a path in untrusted memory: those that one access reads, and writes back.
    pub fn path_buckets(&self) -> usize {
        planning::path_buckets(self.leaf_level, self.top)
    }

    /// The maximum number of blocks that one access can add to the stash: a path full of them, and a new one.
    fn blocks_per_access(&self) -> u32 {
        (self.path_buckets() as u32).saturating_mul(self.blocks_per_bucket).saturating_add(1)
    }

    /// The maximum number of blocks that a largest batch can add to the stash.
    pub(super) fn blocks_per_batch(&self) -> u32 {
        self.max_batch * self.blocks_per_access()
    }
}

/// The maximum number of blocks that a tree may have: half of it, or three quarters of its slots if that is less. The
/// trusted levels count as if they were buckets.
fn max_blocks(blocks_per_bucket: u32, leaf_level: Level) -> u64 {
    let slots = u64::from(blocks_per_bucket) * ((2 << leaf_level.0) - 1);
    (slots - slots / 4).min(planning::half_of_places(blocks_per_bucket, leaf_level))
}

#[cfg(test)]
crate::testing::parameters::test_tree_parameters! { PathParameters, [19, 13, 10, 5, 1],
    ("blocks_per_bucket is 0", |p| p.blocks_per_bucket = 0),
    ("buckets of 2 blocks overflow the stash", |p| p.blocks_per_bucket = 2),
    ("a tree for 4096 blocks is too small for 4097", |p| p.capacity = 4097),
    ("a stash of 16 blocks cannot take", |p| p.stash_bound = 16),
}
