//! The arithmetic of Ring ORAM's tree, done a second time.

use super::reverse_bits::reverse_bits;
use crate::schemes::ring::RingParameters;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

/// The tree's arithmetic.
pub(super) struct Tree {
    pub(super) leaf_level: u32,
    pub(super) top: u32,
    /// The first level of each slice of an eviction, and the level behind the leaves.
    slice_starts: Vec<u32>,
}

impl Tree {
    pub(super) fn of(parameters: &RingParameters) -> Self {
        let (leaf_level, top) = (parameters.leaf_level.0, parameters.top.0);
        let slots = |level| if level < leaf_level { parameters.inner.slots } else { parameters.leaf.slots };
        let (mut slice_starts, mut room) = (Vec::new(), 0);
        for level in top..=leaf_level {
            if level == top || slots(level) > room {
                slice_starts.push(level);
                room = parameters.slice_slots;
            }
            room -= slots(level);
        }
        slice_starts.push(leaf_level + 1);
        Tree { leaf_level, top, slice_starts }
    }

    /// The number of slices of an eviction.
    pub(super) fn slices(&self) -> u64 {
        self.slice_starts.len() as u64 - 1
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

    /// The buckets that a slice of an eviction reads, by the count of slices before it.
    pub(super) fn reads(&self, turn: u64) -> Vec<u64> {
        self.slice(turn / self.slices(), turn % self.slices())
    }

    /// The buckets that it writes: those of the previous eviction, if an eviction has several slices.
    pub(super) fn writes(&self, turn: u64) -> Vec<u64> {
        match (turn / self.slices(), turn % self.slices()) {
            _ if self.slices() == 1 => self.reads(turn),
            (0, _) => Vec::new(),
            (eviction, nth) => self.slice(eviction - 1, nth),
        }
    }

    /// The buckets that this number of slices has written.
    pub(super) fn written(&self, turns: u64) -> BTreeSet<u64> {
        // Two rounds of evictions write every bucket, whatever is still held.
        (0..turns.min(2 * self.leaves() * self.slices())).flat_map(|turn| self.writes(turn)).collect()
    }

    /// The buckets that were read after this number of slices, and will be written by the next eviction.
    pub(super) fn held(&self, turns: u64) -> BTreeSet<u64> {
        let read = if self.slices() == 1 { 0 } else { self.slices() };
        (turns.saturating_sub(read)..turns).flat_map(|turn| self.reads(turn)).collect()
    }

    fn slice(&self, eviction: u64, nth: u64) -> Vec<u64> {
        let leaf = reverse_bits(self.leaf_level, eviction);
        // The slice of the leaves comes first.
        let at = (self.slices() - 1 - nth) as usize;
        let (first, end) = (self.slice_starts[at], self.slice_starts[at + 1]);
        (first..end).map(|level| self.bucket(level, leaf)).collect()
    }
}
