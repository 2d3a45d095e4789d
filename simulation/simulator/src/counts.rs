//! The counts of a run.

use crate::pattern::Tree;
use ameles_core::types::Level;

/// The reason of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathKind {
    /// The path reads the block of a request.
    Data,
    /// The path brings a PosMap block of this level for a request.
    PosMap(u32),
    /// The path serves nothing: nothing was pending.
    Dummy,
    /// The stash was too full.
    Background,
    /// The schedule requires it: an eviction after a fixed number of paths.
    Eviction,
    /// A bucket of Ring ORAM was read too often: it is not a path, but it takes the turn of one.
    Reshuffle,
    /// The path replaces a dummy. It writes a dirty line of the cache back, or reads a PosMap block for that or for a
    /// remapping ahead.
    Early,
    /// The path takes a block that lost its tag out of the small tree, or brings in a PosMap block for its return.
    Leaving,
}

impl PathKind {
    /// Returns whether the path is written back as a whole, and serves nothing.
    pub(crate) fn is_eviction(self) -> bool {
        matches!(self, PathKind::Background | PathKind::Eviction | PathKind::Reshuffle)
    }
}

/// The counts of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    // Wide: each field is a separate count, shown in tables.
    /// The number of paths that read a requested block.
    pub data: u64,
    /// Paths that bring PosMap blocks, by level: those of PosMap 1 first.
    pub posmap: Vec<u64>,
    /// The number of dummies.
    pub dummy: u64,
    /// The number of background evictions.
    pub background: u64,
    /// The number of scheduled evictions.
    pub evictions: u64,
    /// The number of reshuffles of single buckets, which take the turns of paths.
    pub reshuffles: u64,
    /// The number of paths that write lines back early.
    pub early: u64,
    /// The number of paths for blocks that move from the small tree back into the main one.
    pub leaving: u64,
    /// The number of all paths of the small tree, of any kind.
    pub small: u64,
    /// The number of requests that a path of the small tree served.
    pub small_hits: u64,
    /// The number of requests that were answered without a path, from the stash.
    pub stash_hits: u64,
    /// Requests that were answered without a path, from the tree top, by level.
    pub top_hits: Vec<u64>,
    /// Requests whose block was found on its path, by level.
    pub found: Vec<u64>,
    /// The number of requests that read a path although their block was in the stash.
    pub found_in_stash: u64,
    /// PosMap blocks that were found on their path, by level.
    pub posmap_found: Vec<u64>,
    /// The number of PosMap blocks whose path was read although they were in the stash.
    pub posmap_found_in_stash: u64,
    /// The number of requests whose position was on chip when their turn came. Requests that needed no turn, and
    /// requests of Fork Path, are neither hits nor misses.
    pub plb_hits: u64,
    /// The number of requests whose position was not on chip.
    pub plb_misses: u64,
    /// The number of requests for blocks that had never been written.
    pub fresh: u64,
    /// The number of blocks put in without a path, under delayed remapping.
    pub put_in: u64,
    /// The number of lines written back early or remapped ahead, to completion.
    pub early_lines: u64,
}

impl Counts {
    /// All paths, and reshuffles.
    pub fn paths(&self) -> u64 {
        let evictions = self.background + self.evictions + self.reshuffles;
        self.data + self.posmap_paths() + self.dummy + evictions + self.early + self.leaving
    }

    /// Paths that bring PosMap blocks for requests.
    pub fn posmap_paths(&self) -> u64 {
        self.posmap.iter().sum()
    }

    pub(crate) fn add_path(&mut self, tree: Tree, kind: PathKind) {
        self.small += u64::from(tree == Tree::Small);
        match kind {
            PathKind::Data => self.data += 1,
            PathKind::PosMap(level) => add_at(&mut self.posmap, level - 1),
            PathKind::Dummy => self.dummy += 1,
            PathKind::Background => self.background += 1,
            PathKind::Eviction => self.evictions += 1,
            PathKind::Reshuffle => self.reshuffles += 1,
            PathKind::Early => self.early += 1,
            PathKind::Leaving => self.leaving += 1,
        }
    }

    pub(crate) fn add_top_hit(&mut self, level: Level) {
        add_at(&mut self.top_hits, level.0);
    }

    pub(crate) fn add_found(&mut self, level: Level) {
        add_at(&mut self.found, level.0);
    }

    pub(crate) fn add_posmap_found(&mut self, level: Level) {
        add_at(&mut self.posmap_found, level.0);
    }
}

fn add_at(counts: &mut Vec<u64>, at: u32) {
    let at = at as usize;
    if counts.len() <= at {
        counts.resize(at + 1, 0);
    }
    counts[at] += 1;
}
