//! IR-Alloc's search: bucket sizes by level that make random accesses fastest, for a tree of any height. (Raoufi,
//! Zhang, Yang, "IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM", section IV-B.)
//!
//! ```text
//! search(tree, random trace):
//!  1  best <- Z on every level
//!  2  for z from Z - 1 to 1:                          the paper begins with Z - 1 on the last level that the space allows
//!  3      for last from the deepest level that has z + 1 up to the first:
//!  4          tried <- best with z slots on the first levels up to `last`
//!  5          skip it if more than 1 % of the space is lost
//!  6          run the trace; skip it if background evictions are more than 15 % of the paths beyond the best's
//!  7          if it is faster: best <- tried, and continue with the next z
//!  8  repeat: of the sizes that differ from the best's by one range's end, and pass 5 and 6, the fastest, while it is faster
//! ```
//!
//! Line 8 is ours: the paper's own sizes are not an end of lines 1 to 7. Random accesses are the worst case for the
//! levels in the middle, so the sizes hold for every program.

use crate::configuration::Configuration;
use crate::configuration_error::ConfigurationError;
use crate::machine::{Machine, RunError};
use crate::tree::filled::{Contents, FilledTree};
use crate::tree::steady_state::History;
use ameles_processor::trace::Miss;
use std::collections::BTreeMap;

/// The limits of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The largest share of the slots of the whole tree that may be given up.
    pub space_loss: f64,
    /// The largest share of all paths that background evictions may take beyond those of the tree without small
    /// buckets.
    pub more_evictions: f64,
}

impl Limits {
    /// The paper's limits: 1 % and 15 %.
    pub const IR_ORAM: Limits = Limits { space_loss: 0.01, more_evictions: 0.15 };
}

/// Sizes by level, which increase towards the leaves. The nth number is the first level with more than n + 1 slots. The
/// levels begin with `first`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sizes {
    first: u32,
    ends: Vec<u32>,
}

/// A configuration that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedSizes {
    /// The bucket sizes by level.
    pub sizes: Sizes,
    /// PL: the number of blocks of a path in memory.
    pub path_blocks: u64,
    /// The share of all slots that these sizes give up.
    pub space_loss: f64,
    /// The share of background evictions in all paths.
    pub evictions: f64,
    /// The number of cycles of the random trace.
    pub cycles: u64,
    /// True if evictions stayed within the limit.
    pub is_allowed: bool,
}

/// The reason why a search ended early.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The tree without small buckets is not a machine.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The trace stopped.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Sizes {
    /// Z on every level of a configuration.
    fn uniform(configuration: &Configuration) -> Self {
        let first = configuration.oram.top_levels;
        Sizes { first, ends: vec![first; configuration.oram.blocks_per_bucket as usize - 1] }
    }

    /// The ranges of levels with their size, as [`OramConfiguration`](crate::oram_configuration::OramConfiguration)
    /// has them.
    pub fn ranges(&self) -> Vec<(u32, u32, u32)> {
        let starts = [self.first].into_iter().chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends).zip(1..);
        ranges
            .filter(|((start, end), _)| start < *end)
            .map(|((start, end), size)| (start, end - 1, size))
            .collect()
    }

    /// The same with at most `size` slots above level `end`. No level gets more than it had.
    fn with(&self, size: usize, end: u32) -> Self {
        let mut sizes = self.clone();
        sizes.ends[size - 1..].iter_mut().for_each(|known| *known = end.max(*known));
        sizes
    }

    /// All that differ by the end of one range, deeper or higher by a level.
    fn neighbours(&self) -> Vec<Self> {
        let moved = |nth: usize, end: u32| {
            let mut sizes = self.clone();
            sizes.ends[nth] = end;
            (end >= self.first && sizes.ends.is_sorted()).then_some(sizes)
        };
        let ends = self.ends.iter().enumerate();
        ends.flat_map(|(nth, end)| [moved(nth, end + 1), moved(nth, end.saturating_sub(1))])
            .flatten()
            .collect()
    }

    /// Returns whether each bucket is at most as large as the bucket of `other` on the same level.
    fn is_within(&self, other: &Self) -> bool {
        self.ends.iter().zip(&other.ends).all(|(one, other)| one >= other)
    }
}

/// The search, with what it has tried so far.
struct Search<'a, T> {
    base: &'a Configuration,
    limits: Limits,
    seed: u64,
    /// Generates the random trace again.
    trace: T,
    tried: BTreeMap<Sizes, TriedSizes>,
    /// Evictions of the tree without small buckets.
    evictions: f64,
    on_try: &'a mut dyn FnMut(&TriedSizes),
}

/// Searches the sizes for a configuration, whose own sizes are ignored. `trace` generates a random trace, which every
/// try runs; `on_try` is called for each try. Returns the best.
///
/// # Errors
/// [`SearchError`].
pub fn search<I: Iterator<Item = Miss>>(
    base: &Configuration,
    limits: Limits,
    seed: u64,
    trace: impl Fn() -> I,
    on_try: &mut dyn FnMut(&TriedSizes),
) -> Result<TriedSizes, SearchError> {
    let mut search = Search { base, limits, seed, trace, tried: BTreeMap::new(), evictions: 0.0, on_try };
    let uniform = Sizes::uniform(base);
    let mut best = search.run(&uniform)?;
    search.evictions = best.evictions;
    for size in (1..base.oram.blocks_per_bucket as usize).rev() {
        let deepest = best.sizes.ends.get(size).copied().unwrap_or(base.oram.levels - 1);
        for end in (base.oram.top_levels + 1..=deepest).rev() {
            if let Some(better) = search.fastest_allowed(&[best.sizes.with(size, end)], &best)? {
                best = better;
                break;
            }
        }
    }
    while let Some(better) = search.fastest_allowed(&best.sizes.neighbours(), &best)? {
        best = better;
    }
    Ok(best)
}

impl<I: Iterator<Item = Miss>, T: Fn() -> I> Search<'_, T> {
    /// The fastest of several sizes, if it is allowed and faster than the best so far.
    fn fastest_allowed(
        &mut self,
        candidates: &[Sizes],
        best: &TriedSizes,
    ) -> Result<Option<TriedSizes>, SearchError> {
        let mut fastest: Option<TriedSizes> = None;
        for sizes in candidates {
            let is_known = self.tried.contains_key(sizes);
            // If buckets of some sizes cause too many evictions, buckets that are not larger do so too.
            let has_too_many_evictions =
                self.tried.values().any(|tried| !tried.is_allowed && sizes.is_within(&tried.sizes));
            if is_known || has_too_many_evictions || self.space_loss(sizes) > self.limits.space_loss {
                continue;
            }
            let tried = match self.run(sizes) {
                // Buckets that cannot hold the blocks do not end the search.
                Err(SearchError::Configuration(_)) => continue,
                tried => tried?,
            };
            let min = fastest.as_ref().map_or(best.cycles, |tried| tried.cycles);
            if tried.is_allowed && tried.cycles < min {
                fastest = Some(tried);
            }
        }
        Ok(fastest)
    }

    /// Runs the trace over a tree with these sizes.
    fn run(&mut self, sizes: &Sizes) -> Result<TriedSizes, SearchError> {
        let mut configuration = self.base.clone();
        configuration.oram.sizes = sizes.ranges();
        configuration.check()?;
        let tree = FilledTree::draw(&configuration.oram, Contents::Steady(History::Random), self.seed)?;
        let path_blocks = configuration.path_blocks()?;
        let outcome =
            Machine::over(configuration, tree.into_copy(), self.seed)?.run((self.trace)(), 0, |_| ())?;
        let evictions = outcome.counts.background as f64 / outcome.counts.paths().max(1) as f64;
        let tried = TriedSizes {
            sizes: sizes.clone(),
            path_blocks,
            space_loss: self.space_loss(sizes),
            evictions,
            cycles: outcome.cycles.0,
            is_allowed: evictions - self.evictions <= self.limits.more_evictions,
        };
        self.tried.insert(sizes.clone(), tried.clone());
        (self.on_try)(&tried);
        Ok(tried)
    }

    /// The share of the slots of the whole tree that sizes give up.
    fn space_loss(&self, sizes: &Sizes) -> f64 {
        let oram = &self.base.oram;
        let slots = f64::from(oram.blocks_per_bucket) * ((1u64 << oram.levels) - 1) as f64;
        let lost = sizes.ranges().into_iter().flat_map(|(first, last, size)| {
            let fewer = f64::from(oram.blocks_per_bucket - size);
            (first..=last).map(move |level| fewer * (1u64 << level) as f64)
        });
        lost.sum::<f64>().abs() / slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};

    fn sizes(first: u32, ends: &[u32]) -> Sizes {
        Sizes { first, ends: ends.to_vec() }
    }

    fn random(levels: u32) -> impl Iterator<Item = Miss> {
        let lines = 2 << levels;
        let shape = Shape { pattern: Pattern::Random, lines, stores: 0.5, instructions: 40, seed: 1 };
        Synthetic::new(shape).expect("a sound shape").take(2000)
    }

    #[test]
    fn sizes_are_ranges_that_grow_towards_the_leaves() {
        let paper = sizes(10, &[16, 19, 19]);
        assert_eq!(paper.ranges(), [(10, 15, 1), (16, 18, 2)]);
        assert_eq!(sizes(10, &[10, 10, 10]).ranges(), []);
        assert_eq!(sizes(0, &[0, 4, 4]).ranges(), [(0, 3, 2)]);
        let uniform = Sizes::uniform(&Configuration::baseline(25));
        let three = uniform.with(3, 20).with(2, 18).with(1, 13);
        assert_eq!(three.ranges(), [(10, 12, 1), (13, 17, 2), (18, 19, 3)]);
        assert!(paper.is_within(&sizes(10, &[10, 19, 19])) && !paper.is_within(&sizes(10, &[17, 19, 19])));
        assert_eq!(sizes(10, &[10, 10, 10]).neighbours(), [sizes(10, &[10, 10, 11])]);
    }

    #[test]
    fn a_search_ends_with_sizes_within_its_limits_that_no_neighbour_within_them_beats() {
        for levels in [13, 15] {
            let mut base = Configuration::baseline(levels);
            base.oram.top_levels = 4;
            base.oram.trusted_positions = 128;
            let mut tries = Vec::new();
            let limits = Limits::IR_ORAM;
            let best = search(&base, limits, 1, || random(levels), &mut |tried| tries.push(tried.clone()))
                .expect("the search ends");
            let uniform = &tries[0];
            assert!(best.cycles < uniform.cycles && best.path_blocks < uniform.path_blocks, "{best:?}");
            assert!(best.space_loss <= limits.space_loss);
            assert!(best.evictions - uniform.evictions <= limits.more_evictions);
            for tried in tries.iter().filter(|tried| tried.is_allowed) {
                assert!(tried.cycles >= best.cycles, "{tried:?} beats {best:?}");
            }
        }
    }

    /// A limit of nothing on evictions, or on lost space, lets no bucket shrink.
    #[test]
    fn limits_of_nothing_leave_every_bucket_as_it_is() {
        let base = Configuration::baseline(13);
        let limits = Limits { space_loss: 0.0, more_evictions: 0.15 };
        let best = search(&base, limits, 1, || random(13), &mut |_| ()).expect("the search ends");
        assert_eq!(best.sizes.ranges(), []);
    }
}
