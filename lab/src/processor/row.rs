//! A run's figures.

use super::preset::Preset;
use ameles_simulator::counts::Counts;
use ameles_simulator::machine::Outcome;

/// The figures of a run: a program by a scheme under a rate.
#[derive(Clone, Debug)]
pub struct Row {
    /// The set of choices under which it ran.
    pub preset: Preset,
    /// The seed.
    pub seed: u64,
    /// The program.
    pub program: String,
    /// The scheme.
    pub scheme: String,
    /// The rate of paths.
    pub pace: String,
    /// The number of blocks of a path in memory, in one direction: PL.
    pub path_blocks: u64,
    /// Bytes on the trusted side, without the last-level cache.
    pub on_chip: u64,
    /// The number of levels of the tree on the trusted side.
    pub top_levels: u32,
    /// The outcome of the simulation: cycles, paths and energy.
    pub outcome: Outcome,
    /// The number of blocks in the stash at the end.
    pub stash_blocks: usize,
}

impl Row {
    /// The paths.
    pub fn counts(&self) -> &Counts {
        &self.outcome.counts
    }

    /// Returns whether nothing missed the last-level cache; if so, no scheme changes the speed.
    pub fn is_silent(&self) -> bool {
        self.outcome.processor.loads + self.outcome.processor.stores == 0
    }

    /// The share of a kind of paths; no number without paths.
    pub fn share(&self, paths: u64) -> f64 {
        paths as f64 / self.counts().paths() as f64
    }

    /// The share of requests whose block was found in the stash, in the tree top or on the trusted levels of its
    /// path.
    pub fn top_share(&self) -> f64 {
        self.share_on_top(&[], 0)
    }

    /// The same with PosMap blocks whose paths were read, counted like requests: as IR-ORAM's authors count.
    pub fn top_share_with_posmap(&self) -> f64 {
        let Counts { posmap_found, posmap_found_in_stash, .. } = self.counts();
        self.share_on_top(posmap_found, *posmap_found_in_stash)
    }

    /// The share of what was found on the trusted side: of the requests, and of other blocks, given by level and in the
    /// stash.
    fn share_on_top(&self, others: &[u64], others_in_stash: u64) -> f64 {
        let Counts { top_hits, found, stash_hits, found_in_stash, fresh, .. } = self.counts();
        let read = |levels: &[u64]| levels.iter().take(self.top_levels as usize).sum::<u64>();
        let saved: u64 = top_hits.iter().sum();
        let in_stash = stash_hits + found_in_stash + others_in_stash;
        let all = saved + in_stash + fresh + found.iter().chain(others).sum::<u64>();
        (saved + read(found) + read(others) + in_stash) as f64 / all.max(1) as f64
    }

    /// The cycles of a path, with the rest after the path.
    pub fn cycles_a_path(&self) -> f64 {
        self.cycles() / self.counts().paths().max(1) as f64
    }

    /// Cycles.
    pub fn cycles(&self) -> f64 {
        self.outcome.cycles.0 as f64
    }
}
