//! Fork Path: Zhang, Sun, Zhang, Zhang, Liang, Wang, Chen, Di, "Fork Path: Improving Efficiency of ORAM by Removing
//! Redundant Memory Accesses", MICRO 2015. Its abstract names three techniques: path merging, request scheduling and
//! merging-aware caching.
//!
//! ```text
//! labels, a queue of M leaves, each of a request or of a dummy; w, the path that was read last
//! to do the next path:
//!  1  put a leaf into each free place of the queue: that of the first request which waits, or a random one
//!  2  x <- a leaf that was passed over too often, if there is one; or else the one that shares most levels with w
//!  3  read and write with merging (see `ameles_core::schemes::path`): w stays but for what it does not share with x
//!  4  answer the request of x, if it has one and x is the path of its own block
//! ```
//!
//! The next path of a request is that of a PosMap block which it lacks, or of its own block. A block is in the queue
//! once at most: other requests that need it wait outside.
//!
//! **Merging-aware caching**: a path shares about lg M levels with the previous one. A cache of these levels would hold
//! what is not moved anyway, so the levels below them are cached.
//!
//! **What the trace shows** at a rate, if every path is read. With [`Choice::OneByOne`] one leaf enters and one leaves
//! the queue for each path. All leaves are uniform and independent, and no rule distinguishes a request from a dummy.
//! So the sequence of paths is exactly that of a queue with only dummies. A request waits for M paths on average. With
//! [`Choice::RequestsFirst`] a request never waits for a dummy. Then the levels that consecutive paths share tell how
//! many requests wait: the best of many leaves shares more than the best of a few. With M = 1 both are the same: paths
//! are merged, and their order is that of the requests.
//!
//! **Costs**: room for another path in the stash, M registers of a leaf, and the cache.

use ameles_core::types::Leaf;
use std::ops::RangeInclusive;

/// The options of Fork Path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkPathConfiguration {
    /// M, the number of leaves in the queue: 1 to 1024. With 1, paths are only merged.
    pub queue: u32,
    /// The leaves among which one is chosen.
    pub choice: Choice,
    /// The number of paths after which a leaf that was passed over each time comes next: 1 to 1,000,000.
    pub max_age: u32,
    /// The first and the last level whose buckets are on the trusted side, besides the tree top.
    pub cached_levels: Option<(u32, u32)>,
}

/// The leaves among which the next one is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Up to M requests that wait. A dummy comes only if none does.
    RequestsFirst,
    /// M leaves, dummies included. A request enters when a leaf has left.
    OneByOne,
}

/// The maximum of leaves in the queue.
pub(crate) const QUEUES: RangeInclusive<u32> = 1..=1024;
/// Paths for which a leaf may wait.
pub(crate) const AGES: RangeInclusive<u32> = 1..=1_000_000;

impl ForkPathConfiguration {
    /// Merging, with 64 leaves in the queue. Neither number could be checked in the paper.
    pub const STANDARD: Self =
        ForkPathConfiguration { queue: 64, choice: Choice::RequestsFirst, max_age: 256, cached_levels: None };

    /// Merging alone.
    pub const MERGING: Self = ForkPathConfiguration { queue: 1, ..Self::STANDARD };

    /// Returns whether a level is cached.
    pub(crate) fn caches(&self, level: u32) -> bool {
        self.cached_levels.is_some_and(|(first, last)| (first..=last).contains(&level))
    }
}

/// A leaf in the queue, and the work that its path is for; `None` for a dummy.
pub(crate) struct Label<W> {
    pub(crate) leaf: Leaf,
    pub(crate) work: Option<W>,
    /// The number of paths that were chosen before this one.
    age: u32,
}

/// The queue of leaves, the first one first.
pub(crate) struct LabelQueue<W> {
    configuration: ForkPathConfiguration,
    leaf_bits: u32,
    labels: Vec<Label<W>>,
}

impl<W> LabelQueue<W> {
    /// An empty queue for a tree of 2^`leaf_bits` leaves.
    pub(crate) fn new(configuration: ForkPathConfiguration, leaf_bits: u32) -> Self {
        LabelQueue { configuration, leaf_bits, labels: Vec::new() }
    }

    /// Returns whether a request may enter.
    pub(crate) fn has_room(&self) -> bool {
        self.labels.len() < self.configuration.queue as usize
    }

    /// The work that waits.
    pub(crate) fn work(&self) -> impl Iterator<Item = &W> {
        self.labels.iter().filter_map(|label| label.work.as_ref())
    }

    /// Puts the leaf of a request in.
    pub(crate) fn push(&mut self, leaf: Leaf, work: W) {
        self.labels.push(Label { leaf, work: Some(work), age: 0 });
    }

    /// Puts in the dummies that are missing: to fill the queue, or one if it is empty and dummies come last.
    pub(crate) fn push_dummies(&mut self, mut leaf: impl FnMut() -> Leaf) {
        let filled = match self.configuration.choice {
            Choice::RequestsFirst => 1,
            Choice::OneByOne => self.configuration.queue as usize,
        };
        while self.labels.len() < filled {
            self.labels.push(Label { leaf: leaf(), work: None, age: 0 });
        }
    }

    /// Line 2: takes the next leaf out of a queue that has one. Tests inject a bug by `prefers`, which puts some work
    /// first.
    pub(crate) fn take(&mut self, held: Option<Leaf>, prefers: impl Fn(&Label<W>) -> bool) -> Label<W> {
        let shared =
            |label: &Label<W>| held.map_or(0, |held| shared_levels(held, label.leaf, self.leaf_bits));
        let rank = |label: &Label<W>| {
            let is_due = label.age >= self.configuration.max_age;
            (prefers(label), is_due, if is_due { label.age } else { shared(label) })
        };
        // The first of several that are equal.
        let best = self.labels.iter().enumerate().rev().max_by_key(|(_, label)| rank(label));
        let nth = best.map_or(0, |(nth, _)| nth);
        let taken = self.labels.remove(nth);
        self.labels.iter_mut().for_each(|label| label.age += 1);
        taken
    }
}

/// The levels that the paths to two leaves share, of a tree with 2^`leaf_bits` leaves.
pub(crate) fn shared_levels(one: Leaf, other: Leaf, leaf_bits: u32) -> u32 {
    let differing_bits = u64::BITS - (one.0 ^ other.0).leading_zeros();
    leaf_bits + 1 - differing_bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(choice: Choice, max_age: u32) -> LabelQueue<u32> {
        let configuration = ForkPathConfiguration { queue: 3, choice, max_age, cached_levels: None };
        LabelQueue::new(configuration, 3)
    }

    #[test]
    fn two_paths_share_the_root_and_each_level_as_long_as_their_leaves_agree() {
        let shared = |one, other| shared_levels(Leaf(one), Leaf(other), 3);
        assert_eq!([shared(0, 7), shared(0, 3), shared(0, 1), shared(5, 5)], [1, 2, 3, 4]);
    }

    #[test]
    fn the_leaf_that_shares_most_with_the_held_path_is_next_and_the_first_of_equals() {
        let mut labels = queue(Choice::OneByOne, 100);
        for (leaf, work) in [(0, 10), (6, 11), (7, 12)] {
            labels.push(Leaf(leaf), work);
        }
        assert!(!labels.has_room());
        let mut take = |held| labels.take(Some(Leaf(held)), |_| false).work;
        assert_eq!([take(5), take(5), take(5)], [Some(11), Some(12), Some(10)]);
    }

    #[test]
    fn a_leaf_that_was_passed_over_too_often_is_next() {
        let mut labels = queue(Choice::OneByOne, 2);
        labels.push(Leaf(0), 10);
        let mut order = Vec::new();
        for _ in 0..4 {
            labels.push_dummies(|| Leaf(7));
            order.push(labels.take(Some(Leaf(7)), |_| false).work);
        }
        assert_eq!(order, [None, None, Some(10), None]);
    }

    #[test]
    fn dummies_fill_the_queue_or_come_only_if_nothing_waits() {
        for (choice, empty, with_one) in [(Choice::OneByOne, 3, 3), (Choice::RequestsFirst, 1, 1)] {
            let mut labels = queue(choice, 9);
            labels.push_dummies(|| Leaf(1));
            assert_eq!(labels.labels.len(), empty);
            let mut labels = queue(choice, 9);
            labels.push(Leaf(2), 1);
            labels.push_dummies(|| Leaf(1));
            assert_eq!((labels.labels.len(), labels.work().count()), (with_one, 1));
        }
    }
}
