//! The public part of a redraw: the buckets of a Ring ORAM that continues where another has ended. Every position is
//! drawn again.
//!
//! A bucket exists if an eviction has written it. So the buckets follow from the number of evictions, which is public.
//! The redraw repeats the evictions of the newest accesses, as many as there may be blocks. They end at the number of
//! evictions that the other had, and the next eviction is the one that the other would have made. No bucket is missing
//! and none is new. After a batch that was not checkpointed, a few more buckets are written, for the evictions that it
//! made due.

use super::RingParameters;
use super::incremental::Rest;
use super::slices::Slices;
use crate::tree::eviction_schedule::{EvictionSchedule, reverse_lexicographic};
use crate::tree::geometry::Geometry;
use crate::types::{Bucket, Level};
use alloc::vec::Vec;

/// The accesses of a Ring ORAM so far, and its evictions or their [slices](RingParameters::slices). Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingProgress(pub(super) EvictionSchedule);

impl RingProgress {
    /// The progress in the rest of a trusted state, as
    /// [`IncrementalSnapshot::rest`](crate::snapshot::incremental::IncrementalSnapshot::rest) writes it. `None` if it
    /// is not the rest of a Ring ORAM.
    pub fn of_rest(rest: &[u8]) -> Option<Self> {
        let (schedule, ..): Rest = borsh::from_slice(rest).ok()?;
        (schedule.emergencies <= schedule.begun).then_some(RingProgress(schedule))
    }

    /// The number of accesses, dummies included.
    pub fn accesses(&self) -> u64 {
        self.0.accesses
    }

    /// The progress after this many accesses in all, with every due eviction made.
    #[must_use]
    pub fn at(self, accesses: u64, parameters: &RingParameters) -> Self {
        let RingProgress(mut schedule) = self;
        schedule.accesses = accesses;
        schedule.begun += schedule.behind(parameters.pace());
        RingProgress(schedule)
    }

    /// Returns whether one of the evictions has written this bucket.
    fn has_written(&self, slices: &Slices, tree: &Geometry, (level, bucket): (Level, Bucket)) -> bool {
        // The first eviction of a bucket has the bits of its number within its level, mirrored.
        let first = reverse_lexicographic(bucket.0 - tree.first_of(level).0, level);
        slices.turns_before_write(first.0, level) < self.0.begun
    }
}

/// The buckets of a redraw, and its accesses. Public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingRedraw {
    pub(super) parameters: RingParameters,
    pub(super) progress: RingProgress,
    /// The number of accesses whose evictions are repeated: at least as many as there are blocks.
    pub(super) repeated: u64,
    buckets: Vec<(Level, Bucket)>,
}

impl RingRedraw {
    /// Plans the redraw of a Ring ORAM whose buckets `exist`, and which has had this many accesses since `old`.
    ///
    /// At most one block was written in an access. But the count of accesses of a Ring ORAM whose buckets all exist may
    /// have begun again since blocks were written: then there may be as many blocks as its capacity.
    pub fn plan(
        parameters: &RingParameters,
        old: RingProgress,
        accesses_since: u64,
        exists: impl Fn(Bucket) -> bool,
    ) -> Self {
        let (tree, slices) = (parameters.geometry(), Slices::of(parameters));
        let accesses = old.accesses().saturating_add(accesses_since);
        let is_complete = tree.all_buckets().all(|(_, bucket)| exists(bucket));
        let repeated = if is_complete { parameters.capacity } else { accesses.min(parameters.capacity) };
        let progress = old.at(accesses, parameters);
        let is_written = |at: &(Level, Bucket)| exists(at.1) || progress.has_written(&slices, &tree, *at);
        let buckets = tree.all_buckets().filter(is_written).collect();
        RingRedraw { parameters: parameters.clone(), progress, repeated, buckets }
    }

    /// The buckets that exist afterwards, in the order of their numbers. Each is written once.
    pub fn buckets(&self) -> &[(Level, Bucket)] {
        &self.buckets
    }

    /// The parameters of the Ring ORAM.
    pub fn parameters(&self) -> &RingParameters {
        &self.parameters
    }

    /// The maximum number of blocks.
    pub fn max_blocks(&self) -> u64 {
        self.repeated
    }

    /// The progress afterwards.
    pub fn progress(&self) -> RingProgress {
        self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::super::stash_bound::tests::{excess, from, sum};
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec;

    #[test]
    fn the_buckets_that_exist_are_those_that_the_evictions_so_far_have_written() {
        let whole = RingParameters::for_capacity(16_384, 0, 1024, 16);
        let sliced = RingParameters { slice_slots: whole.largest_bucket(), ..whole.clone() };
        assert!(sliced.is_sliced() && !whole.is_sliced(), "{sliced:?}");
        for parameters in [whole, sliced] {
            let (tree, slices) = (parameters.geometry(), Slices::of(&parameters));
            let mut written = BTreeSet::new();
            for begun in 0..=2 * tree.leaves() * slices.count() as u64 {
                let progress = RingProgress(EvictionSchedule { begun, ..EvictionSchedule::default() });
                let of_schedule = tree.all_buckets().filter(|at| progress.has_written(&slices, &tree, *at));
                let of_schedule: BTreeSet<(Level, Bucket)> = of_schedule.collect();
                assert_eq!(of_schedule, written, "after {begun}");
                written.extend(slices.writes(slices.turn(begun), &tree));
            }
        }
    }

    /// The distribution of a sum that is `accesses` with certainty.
    fn newest(accesses: u64) -> Vec<f64> {
        let mut distribution = vec![0.0; accesses as usize + 1];
        distribution[accesses as usize] = 1.0;
        distribution
    }

    /// A redraw repeats the evictions of accesses to as many blocks as there may be. Take a block that was accessed
    /// before the last of e evictions. It waits with probability 1 - 1/T at most, as in any other vault. Only e leaves
    /// have been written.
    #[test]
    fn the_exact_tail_after_a_redraw_at_any_time_is_below_the_planned_one() {
        for (capacity, trusted) in [(1024, 512), (4096, 1500)] {
            let planned = RingParameters::for_capacity(capacity, 0, trusted, 16);
            assert_eq!(planned.top, planned.leaf_level, "{planned:?}");
            let (rate, subtrees) = (u64::from(planned.eviction_rate), 1u64 << planned.top.0);
            let room = (planned.stash_bound - planned.max_batch) as usize;
            let mut waiting = vec![1.0];
            for evictions in 0..=2 * subtrees {
                // No eviction has come since the newest accesses, for which none is due yet.
                let mut exact = sum(&waiting, &newest(rate - 1));
                let blocks = (rate * (evictions + 1)).min(capacity) as f64;
                for _ in 0..evictions.min(subtrees) {
                    exact = sum(&exact, &excess(blocks / subtrees as f64, planned.leaf.blocks));
                    exact.truncate(2 * room);
                }
                let tail = from(&exact, room + 1);
                assert!(tail <= -80.0, "2^{tail:.1} after {evictions} evictions: {planned:?}");
                // One eviction more: the accesses before it have one more chance to be gone.
                if evictions + 1 < subtrees {
                    let waits = 1.0 - (evictions + 1) as f64 / subtrees as f64;
                    for _ in 0..rate {
                        waiting = sum(&waiting, &[1.0 - waits, waits]);
                    }
                }
            }
        }
    }
}
