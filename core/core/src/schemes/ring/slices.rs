//! The slices of an eviction. Their order follows from the parameters and from the number of slices before.
//!
//! A path of more slots than [`RingParameters::slice_slots`] is not read and written at once. Its levels form slices.
//! Each slice is a run of levels with at most `slice_slots` slots. With m slices, the `nth` step of eviction k reads
//! slice `nth` of path k, and writes slice `nth` of path k - 1. After its last read, eviction k places blocks into the
//! buckets of its whole path. So each step moves one slice either way, m steps come in A accesses, and two steps overlap
//! as two evictions of one slice do.
//!
//! The slice of the leaves comes first. Blocks move down: a block that goes from one bucket to a lower one is written
//! before its old bucket is overwritten. So its payload is in the store at any time.
//!
//! Between two steps, these buckets are *held*: those of path k - 1 from slice `nth` on, and those of path k before it.
//! Together they have one bucket on each level. The blocks of held buckets are in the stash. Accesses do not read held
//! buckets. Two successive paths part at the root, so with a trusted top no bucket is on both.

use super::parameters::{RingBucket, RingParameters};
use crate::tree::eviction_schedule::{EvictionSchedule, Pace, reverse_lexicographic};
use crate::tree::geometry::Geometry;
use crate::types::{Bucket, Leaf, Level};
use alloc::vec::Vec;
use core::ops::Range;

/// The slices of every eviction of a Ring ORAM, in their order.
#[derive(Debug)]
pub(super) struct Slices {
    levels: Vec<Range<u32>>,
    leaf_level: Level,
}

/// A slice of an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The number of evictions before.
    pub(super) eviction: u64,
    /// The number of slices of the previous eviction.
    pub(super) nth: usize,
}

impl RingParameters {
    /// The levels of each slice of an eviction, from the top to the leaves.
    pub fn slices(&self) -> Vec<Range<u32>> {
        let mut slices: Vec<Range<u32>> = Vec::new();
        let mut slots = 0;
        for level in self.top.0..=self.leaf_level.0 {
            let more = u64::from(self.bucket_at(level).slots);
            match slices.last_mut() {
                Some(slice) if slots + more <= self.slice_slots.into() => {
                    (slice.end, slots) = (level + 1, slots + more)
                }
                _ => {
                    slices.push(level..level + 1);
                    slots = more;
                }
            }
        }
        slices
    }

    /// Returns the number of slots in the largest slice: the most that a step of an eviction writes, and the most that
    /// it reads.
    pub fn largest_slice(&self) -> u64 {
        let slots = |slice: Range<u32>| slice.map(|level| u64::from(self.bucket_at(level).slots)).sum();
        self.slices().into_iter().map(slots).max().unwrap_or_default()
    }

    /// Returns the number of slots in the largest bucket: the least [`slice_slots`](Self::slice_slots).
    pub fn largest_bucket(&self) -> u32 {
        (self.top.0..=self.leaf_level.0).map(|level| self.bucket_at(level).slots).max().unwrap_or_default()
    }

    /// The maximum number of blocks in the stash between two steps: those that the bound counts, and those of the held
    /// buckets, which are one on each level.
    pub fn max_blocks_at_rest(&self) -> u64 {
        u64::from(self.stash_bound) + self.max_held_blocks()
    }

    /// The maximum number of blocks of the held buckets, between two steps.
    pub fn max_held_blocks(&self) -> u64 {
        if self.is_sliced() { self.blocks_on_path() } else { 0 }
    }

    /// Returns whether an eviction has more than one slice.
    pub fn is_sliced(&self) -> bool {
        self.slots_on_path() > self.slice_slots.into()
    }

    fn bucket_at(&self, level: u32) -> RingBucket {
        if level == self.leaf_level.0 { self.leaf } else { self.inner }
    }

    /// The pace of the schedule: the slices of an eviction every A accesses.
    pub(super) fn pace(&self) -> Pace {
        Pace { evictions: self.slices().len() as u64, accesses: self.eviction_rate.into() }
    }
}

impl Slices {
    pub(super) fn of(parameters: &RingParameters) -> Self {
        let levels = parameters.slices().into_iter().rev().collect();
        Slices { levels, leaf_level: parameters.leaf_level }
    }

    /// The number of slices of an eviction.
    pub(super) fn count(&self) -> usize {
        self.levels.len()
    }

    /// The turn after this many others.
    pub(super) fn turn(&self, turns: u64) -> Turn {
        let count = self.levels.len() as u64;
        Turn { eviction: turns / count, nth: (turns % count) as usize }
    }

    /// The path of an eviction.
    pub(super) fn path(&self, eviction: u64) -> Leaf {
        reverse_lexicographic(eviction, self.leaf_level)
    }

    /// The eviction that places its blocks at the end of a turn.
    pub(super) fn fills(&self, turn: Turn) -> Option<u64> {
        (turn.nth + 1 == self.count()).then_some(turn.eviction)
    }

    /// The number of turns before the one that writes the buckets of this level, on the path of this eviction.
    pub(super) fn turns_before_write(&self, eviction: u64, level: Level) -> u64 {
        let count = self.count() as u64;
        let nth = self.levels.iter().take_while(|levels| levels.start > level.0).count() as u64;
        if count == 1 { eviction } else { (eviction + 1) * count + nth }
    }

    /// The buckets that a turn reads.
    pub(super) fn reads(&self, turn: Turn, tree: &Geometry) -> impl Iterator<Item = (Level, Bucket)> {
        self.buckets(turn.eviction, turn.nth..turn.nth + 1, tree)
    }

    /// The buckets that a turn writes: of the same path if an eviction has one slice, otherwise of the previous path.
    pub(super) fn writes(&self, turn: Turn, tree: &Geometry) -> impl Iterator<Item = (Level, Bucket)> {
        let before = if self.count() == 1 { Some(turn.eviction) } else { turn.eviction.checked_sub(1) };
        before.into_iter().flat_map(move |path| self.buckets(path, turn.nth..turn.nth + 1, tree))
    }

    /// The buckets that are held after this number of turns, when nothing is in flight.
    pub(super) fn held(&self, schedule: &EvictionSchedule, tree: &Geometry) -> Vec<(Level, Bucket)> {
        self.filled(schedule, tree).chain(self.unfilled(schedule, tree)).collect()
    }

    /// The held buckets whose eviction has placed its blocks.
    pub(super) fn filled(
        &self,
        schedule: &EvictionSchedule,
        tree: &Geometry,
    ) -> impl Iterator<Item = (Level, Bucket)> {
        let Turn { eviction, nth } = self.turn(schedule.begun);
        let before = if self.count() == 1 { None } else { eviction.checked_sub(1) };
        before.into_iter().flat_map(move |path| self.buckets(path, nth..self.count(), tree))
    }

    /// The held buckets whose eviction has not placed its blocks.
    pub(super) fn unfilled(
        &self,
        schedule: &EvictionSchedule,
        tree: &Geometry,
    ) -> impl Iterator<Item = (Level, Bucket)> {
        let Turn { eviction, nth } = self.turn(schedule.begun);
        self.buckets(eviction, 0..nth, tree)
    }

    /// The buckets of these slices of an eviction's path.
    fn buckets(
        &self,
        eviction: u64,
        slices: Range<usize>,
        tree: &Geometry,
    ) -> impl Iterator<Item = (Level, Bucket)> {
        let leaf = self.path(eviction);
        let levels = self.levels[slices].iter().cloned().flatten();
        levels.map(move |level| (Level(level), tree.bucket(Level(level), leaf)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_ring;

    fn sliced(slice_slots: u32) -> RingParameters {
        RingParameters { slice_slots, ..small_ring(6) }
    }

    #[test]
    fn a_slice_is_as_many_levels_as_its_slots_allow() {
        // Levels 1 to 3 have ten slots each, the leaves sixteen.
        for (slots, slices) in [
            (16, &[(1, 2), (2, 3), (3, 4), (4, 5)][..]),
            (20, &[(1, 3), (3, 4), (4, 5)][..]),
            (30, &[(1, 4), (4, 5)][..]),
            (45, &[(1, 4), (4, 5)][..]),
            (46, &[(1, 5)][..]),
            (u32::MAX, &[(1, 5)][..]),
        ] {
            let parameters = sliced(slots);
            let levels: Vec<(u32, u32)> =
                parameters.slices().iter().map(|slice| (slice.start, slice.end)).collect();
            assert_eq!(levels, slices, "{slots}");
            assert_eq!(parameters.is_sliced(), slices.len() > 1);
            assert!(parameters.largest_slice() <= slots.into());
        }
        assert_eq!((sliced(20).largest_slice(), sliced(20).largest_bucket()), (20, 16));
    }

    #[test]
    fn held_buckets_are_one_path_from_the_second_eviction_on() {
        for slots in [16, 20, 30] {
            let parameters = sliced(slots);
            let (slices, tree) = (Slices::of(&parameters), parameters.geometry());
            let mut held: Vec<(Level, Bucket)> = Vec::new();
            for turns in 0..40 {
                let schedule = EvictionSchedule { begun: turns, ..EvictionSchedule::default() };
                let mut now = slices.held(&schedule, &tree);
                let mut levels: Vec<Level> = now.iter().map(|(level, _)| *level).collect();
                levels.sort_unstable();
                if turns >= slices.count() as u64 {
                    assert!(levels.into_iter().eq(tree.levels()), "one bucket of each level after {turns}");
                }
                held.sort_unstable();
                now.sort_unstable();
                assert_eq!(now, held, "after {turns}");
                let turn = slices.turn(turns);
                held.retain(|bucket| slices.writes(turn, &tree).all(|written| written != *bucket));
                held.extend(slices.reads(turn, &tree));
            }
        }
    }
}
