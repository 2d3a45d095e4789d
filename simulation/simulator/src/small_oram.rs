//! ρ's small tree in a machine, and the blocks in transit from it back into the main tree.

use crate::configuration_error::ConfigurationError;
use crate::counts::PathKind;
use crate::main_oram::TreeParts;
use crate::small_tree::{Admission, SmallTreeConfiguration, SmallTreeError};
use crate::tree::slots::Slots;
use crate::tree::steady_state::{self, EvictionModel, History, SteadyState};
use crate::tree::store::TreeStore;
use crate::tree_backend::{AnyTree, Failure, Step, TreeBackend, expect_ready};
use ameles_core::schemes::freecursive::AddressSpace;
use ameles_core::schemes::rho::{EvictedBlock, SmallTree, SmallTreeParameters};
use ameles_core::types::{BlockId, Bucket, Leaf, Level};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::{BTreeSet, VecDeque};

/// Blocks of a page.
const RUN: usize = 64;

/// The small tree, and what leaves it.
pub(crate) struct SmallOram {
    small: SmallTree<TreeStore, ChaCha8Rng>,
    store: TreeStore,
    /// Blocks that lost their tags, the first one first.
    leaving: VecDeque<LeavingBlock>,
    max_leaving: usize,
    /// True if the stash and the tree top answer without a path.
    saves_paths: bool,
}

/// A block in transit into the main tree.
#[derive(Clone, Copy, Debug)]
enum LeavingBlock {
    /// The block is still in the small tree.
    Inside(EvictedBlock),
    /// The block is in neither tree: it waits on the trusted side for its position in the main one.
    Outside(BlockId),
}

impl LeavingBlock {
    fn block(&self) -> BlockId {
        match self {
            LeavingBlock::Inside(leaving) => leaving.block(),
            LeavingBlock::Outside(block) => *block,
        }
    }
}

impl TreeBackend for SmallOram {
    fn tree(&self) -> AnyTree<'_> {
        AnyTree::Small(self.small.tree())
    }

    fn store(&self) -> &TreeStore {
        &self.store
    }
}

impl SmallOram {
    /// A small tree whose tags all belong to blocks of random pages, which are removed from the contents of the main
    /// tree. It is empty if the main tree is empty, or if the small tree admits blocks only when the cache evicts them.
    pub(crate) fn draw(
        configuration: &SmallTreeConfiguration,
        saves_paths: bool,
        (main, blocks): (&mut TreeParts, u64),
        random: &mut ChaCha8Rng,
    ) -> Result<Self, ConfigurationError> {
        let parameters = configuration.parameters()?;
        let top = configuration.top_levels;
        let mut slots = Slots::new(Level(top), &parameters.tree.blocks()[top as usize..]);
        let (mut tagged_blocks, mut trusted) = (Vec::new(), Vec::new());
        let is_full = configuration.admission == Admission::OnAccess;
        if is_full && main.positions.words().iter().any(|position| *position != 0) {
            let space = AddressSpace::new(parameters.tags(), 2, parameters.tags());
            let settled = (History::Random, EvictionModel::ByEachPath);
            let SteadyState { positions, trusted: waiting } =
                steady_state::fill(&mut slots, &space, settled, Vec::new(), random);
            let leaves = positions.iter().map(|position| Leaf(u64::from(position - 1)));
            tagged_blocks =
                blocks_for_tags(&parameters, main, blocks, random).into_iter().zip(leaves).collect();
            trusted = waiting;
        }
        let store = TreeStore::of_path(slots);
        let for_tree = ChaCha8Rng::from_rng(random);
        let small =
            SmallTree::over_filled_store(&parameters, &tagged_blocks, Bucket(0), store.clone(), for_tree)
                .map_err(SmallTreeError::from)?;
        let max_leaving = configuration.leaving as usize;
        let side = SmallOram { small, store, leaving: VecDeque::new(), max_leaving, saves_paths };
        side.take_in(trusted).map_err(|_| ConfigurationError::Contents)?;
        Ok(side)
    }

    /// Bytes of the tree, and of what it has on the trusted side.
    pub(crate) fn bytes(&self) -> usize {
        self.store.with_slots(Slots::bytes) + self.small.trusted_bytes()
    }

    /// Returns whether a block is in the small tree, or in transit from there into the main one.
    pub(crate) fn has(&self, block: BlockId) -> bool {
        self.small.holds(block) || self.leaving.iter().any(|leaving_block| leaving_block.block() == block)
    }

    /// Returns whether a block may come from the main tree.
    pub(crate) fn has_room(&self) -> bool {
        self.small.has_room() && !self.is_full_of_leaving()
    }

    /// Returns whether no more blocks may be in transit.
    pub(crate) fn is_full_of_leaving(&self) -> bool {
        self.leaving.len() >= self.max_leaving
    }

    /// Serves a block without a path, if it is on the trusted side. A block that is in neither tree has no leaf, so
    /// that this shows nothing.
    pub(crate) fn answer(&mut self, block: BlockId) -> Result<bool, Failure> {
        let Some(leaving_block) =
            self.leaving.iter_mut().find(|leaving_block| leaving_block.block() == block)
        else {
            return Ok(self.saves_paths && self.small.answer(block, |_| ())?.is_some());
        };
        match *leaving_block {
            LeavingBlock::Outside(_) => Ok(true),
            LeavingBlock::Inside(leaving) => {
                let is_out = self.saves_paths && self.small.take_trusted_out(leaving, |_| ())?;
                if is_out {
                    *leaving_block = LeavingBlock::Outside(block);
                }
                Ok(is_out)
            }
        }
    }

    /// Serves a block that [it has](Self::has), by its path.
    pub(crate) fn step(&mut self, block: BlockId) -> Result<Step, Failure> {
        if self.must_evict() {
            return Ok(Step::TooFull);
        }
        match self.leaving.iter_mut().find(|leaving_block| leaving_block.block() == block) {
            None => expect_ready(self.small.access(block, |_| ()))?,
            Some(LeavingBlock::Outside(_)) => return Ok(Step::Answered),
            Some(leaving_block @ LeavingBlock::Inside(_)) => {
                let LeavingBlock::Inside(leaving) = *leaving_block else { return Ok(Step::Answered) };
                expect_ready(self.small.take_out(leaving, |_| ()))?;
                *leaving_block = LeavingBlock::Outside(block);
            }
        }
        Ok(self.path(PathKind::Data))
    }

    /// Inserts a block that was removed from the main tree. Afterwards the block that loses its tag to it is in
    /// transit.
    pub(crate) fn put_in(&mut self, block: BlockId) -> Result<(), Failure> {
        self.leaving.extend(self.small.put_in(block, &[])?.map(LeavingBlock::Inside));
        Ok(())
    }

    /// Takes out the first block that lost its tag, by its path. Returns `None` if there is none, it needs no path, or
    /// an eviction comes first. A block that came in since the last path may have filled the stash.
    pub(crate) fn take_out_next(&mut self) -> Result<Option<Step>, Failure> {
        for nth in 0..self.leaving.len() {
            let LeavingBlock::Inside(leaving) = self.leaving[nth] else { continue };
            let is_out = self.saves_paths && self.small.take_trusted_out(leaving, |_| ())?;
            if !is_out {
                if self.must_evict() {
                    break;
                }
                expect_ready(self.small.take_out(leaving, |_| ()))?;
            }
            self.leaving[nth] = LeavingBlock::Outside(leaving.block());
            if !is_out {
                return Ok(Some(self.path(PathKind::Leaving)));
            }
        }
        Ok(None)
    }

    /// The first block that waits for its position in the main tree.
    pub(crate) fn first_outside(&self) -> Option<BlockId> {
        self.leaving.iter().find_map(|leaving_block| match leaving_block {
            LeavingBlock::Outside(block) => Some(*block),
            LeavingBlock::Inside(_) => None,
        })
    }

    /// Removes a block that is in the main tree again.
    pub(crate) fn remove_leaving(&mut self, block: BlockId) {
        self.leaving.retain(|leaving_block| leaving_block.block() != block);
    }
}

/// Blocks for all tags, removed from the main tree. They are in runs of a random page each, as a program would have
/// left them: consecutive sets lose consecutive blocks.
fn blocks_for_tags(
    parameters: &SmallTreeParameters,
    main: &mut TreeParts,
    blocks: u64,
    random: &mut ChaCha8Rng,
) -> Vec<BlockId> {
    let sets = u64::from(parameters.sets);
    let mut all = Vec::new();
    for first in (0..sets).step_by(RUN) {
        let mut rows = BTreeSet::new();
        while rows.len() < parameters.ways as usize {
            // Blocks of a set are a row of all sets apart; the last row may be too short.
            rows.insert(random.next_u64() % (blocks / sets) * sets);
        }
        let run = first..sets.min(first + RUN as u64);
        all.extend(rows.into_iter().flat_map(|row| run.clone().map(move |set| BlockId(row + set))));
    }
    for block in &all {
        if let Some(leaf) = main.positions.get(*block)
            && !main.slots.take(*block, leaf)
        {
            main.trusted.retain(|(trusted, _)| trusted != block);
        }
    }
    all
}
