//! The shape of a tree: its leaves, the levels that the trusted side keeps, the size of a bucket of each level.

use crate::oram::OramError;
use crate::tree::block_header::HEADER_BYTES;
use crate::tree::layout::{Extent, Layout};
use crate::types::{BlockId, Bucket, Leaf, Level};
use alloc::vec;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::error::Error;

/// A bucket's shape; every level may have its own (as IR-Alloc proposes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BucketShape {
    /// Z: the maximum number of real blocks.
    pub blocks: u32,
    /// The number of slots in untrusted memory.
    pub slots: u32,
    /// The number of plaintext bytes of a slot.
    pub slot_bytes: u32,
}

/// A binary tree of `2^L` leaves, of which the levels above `top` are on the trusted side.
///
/// The trusted levels are not buckets: all blocks above `top` are in the stash, sorted by the subtree they belong to
/// (see [`Stash`](crate::stash::Stash)). Untrusted memory holds the levels `top..=L`, each one [`Extent`] of its
/// [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Geometry {
    leaf_level: Level,
    top: Level,
    shapes: Vec<BucketShape>,
    first: Vec<u64>,
    slots_above: Vec<u64>,
}

impl Geometry {
    /// A tree whose buckets are one slot each, of Z blocks with their headers. A bucket is always read and written as a
    /// whole, and so it is sealed as a whole.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub(crate) fn of_whole_buckets(
        leaf_level: Level,
        top: Level,
        (blocks_per_bucket, block_bytes): (u32, u32),
        first_bucket: Bucket,
    ) -> Self {
        let slot_bytes = blocks_per_bucket * (HEADER_BYTES as u32 + block_bytes);
        let shape = BucketShape { blocks: blocks_per_bucket, slots: 1, slot_bytes };
        let levels = (leaf_level.0 + 1 - top.0) as usize;
        Geometry::new(leaf_level, top, vec![shape; levels], first_bucket)
    }

    /// Refuses a block that cannot be in a bucket: its number must be below the capacity, and the bucket must be on its
    /// path.
    ///
    /// # Errors
    /// [`OramError::Contradiction`].
    pub(crate) fn check_block<E: Error + 'static>(
        &self,
        (block, leaf): (BlockId, Leaf),
        capacity: u64,
        (level, bucket): (Level, Bucket),
    ) -> Result<(), OramError<E>> {
        if block.0 >= capacity || leaf.0 >= self.leaves() {
            return Err(OramError::Contradiction("a block lies beyond the capacity or the tree"));
        }
        if self.bucket(level, leaf) != bucket {
            return Err(OramError::Contradiction("a block is not on its path"));
        }
        Ok(())
    }

    /// A tree with `2^leaf_level` leaves whose levels `top..=leaf_level` have the given shapes (root side first)
    /// and whose buckets are numbered from `first_bucket`.
    ///
    /// # Panics
    /// If the number of shapes is not `leaf_level - top + 1`, or there are more than 2^31 leaves.
    pub fn new(leaf_level: Level, top: Level, shapes: Vec<BucketShape>, first_bucket: Bucket) -> Self {
        assert!(leaf_level.0 <= 31, "a tree of more than 2^31 leaves");
        assert_eq!(shapes.len() as u32, leaf_level.0 + 1 - top.0, "one shape a level");
        let mut next = first_bucket.0;
        let first = (top.0..=leaf_level.0)
            .map(|level| {
                let this = next;
                next += 1 << level;
                this
            })
            .collect();
        let mut slots = 0;
        let slots_above = (top.0..)
            .zip(&shapes)
            .map(|(level, shape)| {
                let before = slots;
                slots += u64::from(shape.slots) << level;
                before
            })
            .collect();
        Geometry { leaf_level, top, shapes, first, slots_above }
    }

    /// The untrusted memory that the tree needs.
    pub fn layout(&self) -> Layout {
        let extent = |(level, shape): (u32, &BucketShape)| Extent {
            buckets: 1 << level,
            slots: shape.slots,
            slot_bytes: shape.slot_bytes,
        };
        Layout::new((self.top.0..).zip(&self.shapes).map(extent).collect())
    }

    /// Returns the number of leaves, 2^L.
    #[inline]
    pub fn leaves(&self) -> u64 {
        1 << self.leaf_level.0
    }

    /// L, the level of the leaves.
    pub fn leaf_level(&self) -> Level {
        self.leaf_level
    }

    /// The first level in untrusted memory.
    pub fn top(&self) -> Level {
        self.top
    }

    /// The levels in untrusted memory, root side first.
    #[inline]
    pub fn levels(&self) -> impl DoubleEndedIterator<Item = Level> + use<> {
        (self.top.0..=self.leaf_level.0).map(Level)
    }

    /// The shape of the buckets of a level in untrusted memory.
    #[inline]
    pub fn shape(&self, level: Level) -> BucketShape {
        self.shapes[(level.0 - self.top.0) as usize]
    }

    /// The bucket of a level on the path to `leaf`.
    #[inline]
    pub fn bucket(&self, level: Level, leaf: Leaf) -> Bucket {
        Bucket(self.first[(level.0 - self.top.0) as usize] + (leaf.0 >> (self.leaf_level.0 - level.0)))
    }

    /// The leftmost leaf whose path goes through a bucket of a level.
    pub fn first_leaf_below(&self, level: Level, bucket: Bucket) -> Leaf {
        Leaf((bucket.0 - self.first_of(level).0) << (self.leaf_level.0 - level.0))
    }

    /// The first bucket of a level in untrusted memory.
    pub fn first_of(&self, level: Level) -> Bucket {
        Bucket(self.first[(level.0 - self.top.0) as usize])
    }

    /// Untrusted slots of all levels above this one.
    pub fn slots_above(&self, level: Level) -> u64 {
        self.slots_above[(level.0 - self.top.0) as usize]
    }

    /// All untrusted buckets on the path to `leaf`, root side first.
    pub fn path(&self, leaf: Leaf) -> impl DoubleEndedIterator<Item = (Level, Bucket)> + '_ {
        self.levels().map(move |level| (level, self.bucket(level, leaf)))
    }

    /// All untrusted buckets, in the order of their numbers.
    pub fn all_buckets(&self) -> impl Iterator<Item = (Level, Bucket)> + '_ {
        self.levels().flat_map(|level| {
            let first = self.first_of(level).0;
            (first..first + (1 << level.0)).map(move |bucket| (level, Bucket(bucket)))
        })
    }

    /// The level of an untrusted bucket.
    ///
    /// # Panics
    /// If the bucket is not one of this tree.
    #[inline]
    pub fn level_of(&self, bucket: Bucket) -> Level {
        assert!(self.first[0] <= bucket.0 && bucket.0 < self.end(), "{bucket} is not one of this tree");
        // Buckets are numbered level by level, as if those of the trusted levels came before.
        Level((bucket.0 - self.first[0] + (1 << self.top.0)).ilog2())
    }

    /// The first untrusted bucket of the tree.
    pub fn first_bucket(&self) -> Bucket {
        Bucket(self.first[0])
    }

    /// Untrusted buckets of the tree.
    pub fn buckets(&self) -> u64 {
        self.end() - self.first[0]
    }

    #[inline]
    fn end(&self) -> u64 {
        self.first[self.first.len() - 1] + self.leaves()
    }

    /// Subtrees below the trusted levels, 2^top.
    pub fn subtrees(&self) -> usize {
        1 << self.top.0
    }

    /// The subtree that a leaf belongs to.
    #[inline]
    pub fn subtree(&self, leaf: Leaf) -> usize {
        (leaf.0 >> (self.leaf_level.0 - self.top.0)) as usize
    }

    /// The deepest level that the paths to two leaves share.
    #[inline]
    pub fn deepest_common(&self, one: Leaf, other: Leaf) -> Level {
        Level(self.leaf_level.0 - (u64::BITS - (one.0 ^ other.0).leading_zeros()))
    }
}
