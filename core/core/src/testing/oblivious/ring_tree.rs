//! The arithmetic of Ring ORAM's tree, done a second time.

use super::reverse_bits::reverse_bits;
use crate::schemes::ring::RingParameters;
use alloc::vec::Vec;
use core::ops::Range;

/// The tree's arithmetic.
pub(super) struct Tree {
    pub(super) leaf_level: u32,
    pub(super) top: u32,
}

impl Tree {
    pub(super) fn of(parameters: &RingParameters) -> Self {
        Tree { leaf_level: parameters.leaf_level.0, top: parameters.top.0 }
    }

    pub(super) fn leaves(&self) -> u64 {
        1 << self.leaf_level
    }

    /// Untrusted buckets: 2^top + .. + 2^L of them, the levels one after the other.
    pub(super) fn buckets(&self) -> u64 {
        (2 << self.leaf_level) - (1 << self.top)
    }

    pub(super) fn bucket(&self, level: u32, leaf: u64) -> u64 {
        (1 << level) - (1 << self.top) + (leaf >> (self.leaf_level - level))
    }

    pub(super) fn level(&self, bucket: u64) -> u32 {
        (bucket + (1 << self.top)).ilog2()
    }

    /// The leaves below a bucket.
    pub(super) fn below(&self, bucket: u64) -> Range<u64> {
        let level = self.level(bucket);
        let nth = bucket + (1 << self.top) - (1 << level);
        let width = self.leaf_level - level;
        nth << width..(nth + 1) << width
    }

    pub(super) fn path(&self, leaf: u64) -> impl Iterator<Item = u64> + '_ {
        (self.top..=self.leaf_level).map(move |level| self.bucket(level, leaf))
    }

    /// The path of an eviction, by the count of evictions before it.
    pub(super) fn eviction(&self, nth: u64) -> Vec<u64> {
        self.path(reverse_bits(self.leaf_level, nth)).collect()
    }
}
