//! A tree that requests visit, and the steps of a visit. What a step reads follows from the order of the requests
//! alone, not from the time.

use crate::configuration_error::ConfigurationError;
use crate::counts::PathKind;
use crate::machine::RunError;
use crate::main_oram::MainOram;
use crate::oram_configuration::OramConfiguration;
use crate::tree::filled::{Contents, FilledTree};
use crate::tree::steady_state::History;
use crate::tree::store::MovedSlots;
use crate::tree_backend::{Step as Maintenance, TreeBackend};
use crate::tree_scheme::{Headers, TreeScheme};
use ameles_core::types::{BlockId, Leaf, Level};
use ameles_dram::{Block, Geometry, Layout, SubtreeLayout};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

/// The maximum of levels of a subtree that is contiguous in the memory.
const MAX_SUBTREE: usize = 7;

/// Blocks that are read together, and the blocks that are written when the read ones have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    pub(crate) reads: Vec<Block>,
    pub(crate) writes: Vec<Block>,
}

/// The visit of a request to a tree.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    /// The path that is read.
    pub(crate) leaf: Leaf,
    pub(crate) steps: Vec<Step>,
    /// The number of steps until the block has arrived.
    pub(crate) answers_after: usize,
    /// The number of steps until the next request may visit the tree.
    pub(crate) releases_after: usize,
}

/// A Ring ORAM in a part of the memory.
pub(crate) struct VisitedTree {
    oram: MainOram,
    first: u64,
    layout: SubtreeLayout,
    /// Blocks of a bucket by level.
    slots: Vec<u32>,
    has_metadata: bool,
}

impl VisitedTree {
    /// A tree from block `first` of the memory on.
    pub(crate) fn new(
        configuration: &OramConfiguration,
        first: u64,
        geometry: &Geometry,
        random: &mut ChaCha8Rng,
    ) -> Result<Self, ConfigurationError> {
        let has_metadata =
            matches!(configuration.scheme, TreeScheme::Ring { metadata: Headers::InMemory, .. });
        // The metadata of a bucket are a block, as in the authors' simulator.
        let mut slots = configuration.blocks(&configuration.parameters()?.tree);
        slots.iter_mut().for_each(|slots| *slots += u32::from(has_metadata));
        slots[..configuration.top_levels as usize].fill(0);
        // An odd number of blocks: the first ones of the buckets, with their metadata, are spread over the channels.
        let padded: Vec<u32> = slots.iter().map(|slots| if *slots == 0 { 0 } else { slots | 1 }).collect();
        let largest = u64::from(padded.iter().copied().max().unwrap_or(1));
        let fits = |levels: &usize| ((1 << levels) - 1) * largest <= geometry.super_row_blocks();
        let height = (1..=MAX_SUBTREE).rev().find(fits).unwrap_or(1);
        let layout = SubtreeLayout::new(&padded, configuration.top_levels as usize, height, geometry)?;
        let contents = Contents::Steady(History::Random);
        let tree = FilledTree::draw(configuration, contents, random.next_u64())?.into_copy();
        Ok(VisitedTree {
            oram: MainOram::over(configuration, tree.into_parts(), random)?,
            first,
            layout,
            slots,
            has_metadata,
        })
    }

    /// The block behind its last one.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.layout.blocks()
    }

    /// Visits the tree for a block, or for none.
    pub(crate) fn visit(&mut self, block: Option<BlockId>) -> Result<Visit, RunError> {
        match block {
            Some(block) => {
                let reservation = self.oram.oram.reserve(block)?;
                self.oram.access_reserved(&reservation)?;
            }
            None => {
                self.oram.dummy()?;
            }
        }
        self.steps()
    }

    /// The steps of the access that was just made, with the evictions and reshuffles that it makes due.
    pub(crate) fn steps(&mut self) -> Result<Visit, RunError> {
        self.oram.store.take_observed();
        let moved = self.oram.store.take_moved().unwrap_or_default();
        // The last bucket of a path is a leaf.
        let leaf = moved.read.last().map_or(Leaf(0), |(_, index, _)| Leaf(*index));
        let mut steps = Vec::new();
        self.push_metadata(&moved, &mut steps);
        let mut access = Step { reads: self.slots(&moved), writes: self.metadata(&moved) };
        let (looks, mut releases_after) = (steps.len(), steps.len());
        let mut evictions = Vec::new();
        while self.oram.must_evict() {
            let Maintenance::Path { kind, .. } = self.oram.evict()? else { continue };
            let moved = self.oram.store.take_moved().unwrap_or_default();
            let (reads, writes) = (self.slots(&moved), self.written(&moved));
            if kind == PathKind::Reshuffle {
                access.reads.extend(reads);
                access.writes.retain(|block| !writes.contains(block));
                access.writes.extend(writes);
                releases_after = looks + 1;
            } else {
                self.push_metadata(&moved, &mut evictions);
                evictions.push(Step { reads, writes });
            }
        }
        steps.push(access);
        if !evictions.is_empty() {
            steps.append(&mut evictions);
            releases_after = steps.len();
        }
        Ok(Visit { leaf, steps, answers_after: looks + 1, releases_after })
    }

    fn push_metadata(&self, moved: &MovedSlots, steps: &mut Vec<Step>) {
        if self.has_metadata {
            steps.push(Step { reads: self.metadata(moved), writes: Vec::new() });
        }
    }

    /// The blocks of the metadata of the buckets that are moved.
    fn metadata(&self, moved: &MovedSlots) -> Vec<Block> {
        if !self.has_metadata {
            return Vec::new();
        }
        moved.buckets().into_iter().map(|(level, index)| self.block(level, index, 0)).collect()
    }

    /// The slots that are read.
    fn slots(&self, moved: &MovedSlots) -> Vec<Block> {
        let before = u64::from(self.has_metadata);
        let block =
            |(level, index, slot): &(Level, u64, u32)| self.block(*level, *index, before + u64::from(*slot));
        moved.read.iter().map(block).collect()
    }

    /// The blocks of the buckets that are written.
    fn written(&self, moved: &MovedSlots) -> Vec<Block> {
        let blocks = |(level, index): &(Level, u64)| {
            let (level, index) = (*level, *index);
            let slots = u64::from(self.slots[level.0 as usize]);
            (0..slots).map(move |nth| self.block(level, index, nth))
        };
        moved.written.iter().flat_map(blocks).collect()
    }

    fn block(&self, level: Level, index: u64, nth: u64) -> Block {
        Block(self.first + self.layout.bucket(level.0 as usize, index).0 + nth)
    }
}

#[cfg(test)]
mod faulty {
    use super::super::tests::InjectedBug;
    use super::{BlockId, RunError, Visit, VisitedTree};
    use ameles_core::schemes::freecursive::Reservation;

    impl VisitedTree {
        /// Visits the tree with a bug that tests inject. `last` is the reservation of the previous request.
        pub(in super::super) fn faulty_visit(
            &mut self,
            block: Option<BlockId>,
            bug: Option<InjectedBug>,
            last: &mut Option<Reservation>,
        ) -> Result<Visit, RunError> {
            let Some((block, bug)) = block.zip(bug) else { return self.visit(block) };
            let is_here = self.oram.oram.trusted_place(block).is_some();
            match bug {
                InjectedBug::PathIsReadAgain => {
                    let again = last.take().filter(|last| is_here && last.block() == block);
                    let reservation = again.map_or_else(|| self.oram.oram.reserve(block), Ok)?;
                    self.oram.access_reserved(&reservation)?;
                    *last = Some(reservation);
                    self.steps()
                }
                InjectedBug::StashAnswersEarly => {
                    let mut visit = self.visit(Some(block))?;
                    visit.answers_after *= usize::from(!is_here);
                    Ok(visit)
                }
            }
        }
    }
}
