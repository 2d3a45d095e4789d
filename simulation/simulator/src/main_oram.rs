//! The main ORAM of a controller: the front end over the tree, and what is visible of each step.

use crate::configuration_error::ConfigurationError;
use crate::counts::{Counts, PathKind};
use crate::oram_configuration::OramConfiguration;
use crate::tree::cache_lines::prefetch;
use crate::tree::slots::Slots;
use crate::tree::store::TreeStore;
use crate::tree_backend::{AnyTree, Failure, Step, TreeBackend, expect_ready};
use ameles_core::position_map::flat::Positions;
use ameles_core::schemes::freecursive::{FreecursiveOram, NextPath, Reservation};
use ameles_core::schemes::path::TrustedPlace;
use ameles_core::schemes::ring::FilledRing;
use ameles_core::types::{BlockId, Bucket, Leaf, Level};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The front end, and the store that it runs over.
pub(crate) struct MainOram {
    pub(crate) oram: FreecursiveOram<TreeStore, ChaCha8Rng>,
    pub(crate) store: TreeStore,
    pub(crate) counts: Counts,
    /// The block whose position was looked up, until it is served.
    looked_up: Option<BlockId>,
}

/// The parts of a tree with contents.
#[derive(Clone)]
pub(crate) struct TreeParts {
    pub(crate) slots: Slots,
    pub(crate) positions: Positions,
    /// The blocks on the trusted side, with their leaves.
    pub(crate) trusted: Vec<(BlockId, Leaf)>,
    /// The metadata of a Ring ORAM, in place of positions.
    pub(crate) ring: Option<FilledRing>,
}

/// The kind of access to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// The block stays in the tree, with a new leaf.
    Access,
    /// The block leaves the tree.
    TakeOut,
    /// The block comes into the tree again.
    PutIn,
}

/// A step towards the remapping of a block that is out of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemapStep {
    /// The block's position was drawn.
    Drawn(Leaf),
    /// The block's position is not on chip yet.
    Pending(Step),
}

impl TreeBackend for MainOram {
    fn tree(&self) -> AnyTree<'_> {
        AnyTree::Main(self.oram.tree())
    }

    fn store(&self) -> &TreeStore {
        &self.store
    }
}

impl MainOram {
    /// An ORAM over a tree with contents. What has no room on the trusted side sinks by background evictions.
    pub(crate) fn over(
        oram: &OramConfiguration,
        tree: TreeParts,
        random: &mut ChaCha8Rng,
    ) -> Result<Self, ConfigurationError> {
        let TreeParts { slots, positions, trusted, ring } = tree;
        let (store, for_oram) = (TreeStore::of(oram.scheme, slots), ChaCha8Rng::from_rng(random));
        let parameters = oram.parameters()?;
        let oram = match ring {
            Some(filled) => FreecursiveOram::over_filled_ring(parameters, filled, store.clone(), for_oram)?,
            None => {
                let store = store.clone();
                FreecursiveOram::over_filled_store(parameters, positions, Bucket(0), store, for_oram)?
            }
        };
        let memory = MainOram { oram, store, counts: Counts::default(), looked_up: None };
        memory.take_in(trusted).map_err(|_| ConfigurationError::Contents)?;
        Ok(memory)
    }

    /// Returns the tree in its present state, without the metadata of a Ring ORAM, which stay.
    pub(crate) fn into_parts(self) -> TreeParts {
        let trusted = self.oram.tree().trusted_blocks();
        let positions = self.oram.into_positions().expect("the positions are kept aside");
        TreeParts { slots: self.store.into_slots(), positions, trusted, ring: None }
    }

    /// Serves a block without a path, if it is on the trusted side. A block that comes into the tree is not.
    pub(crate) fn answer(&mut self, block: BlockId, access_kind: AccessKind) -> Result<bool, Failure> {
        let place = match access_kind {
            AccessKind::Access => self.oram.answer(block, |_| ())?,
            AccessKind::TakeOut => {
                let place = self.oram.trusted_place(block);
                self.oram.take_trusted_block_out(block, |_| ())?.then_some(place).flatten()
            }
            AccessKind::PutIn => None,
        };
        match place {
            Some(TrustedPlace::Stash) => self.counts.stash_hits += 1,
            Some(TrustedPlace::TreeTop(level)) => self.counts.add_top_hit(level),
            None => {}
        }
        Ok(place.is_some())
    }

    /// Asks the processor that simulates for the positions that an access to a block will need.
    pub(crate) fn prefetch_positions(&self, block: BlockId) {
        self.oram.visit_positions(block, prefetch);
    }

    /// Asks the processor that simulates for the path that an access to a block needs next. It comes while DRAM is
    /// simulated.
    pub(crate) fn prefetch_path(&self, block: BlockId) {
        self.oram.next_leaf(block).into_iter().for_each(|leaf| self.store.prefetch(leaf));
    }

    /// Does the next step towards a block: one path at most.
    pub(crate) fn step(&mut self, block: BlockId, access_kind: AccessKind) -> Result<Step, Failure> {
        self.look_up(block);
        if let Some(step) = self.bring_position(block)? {
            return Ok(step);
        }
        self.looked_up = None;
        // The position may now be on chip.
        if self.answer(block, access_kind)? {
            return Ok(Step::Answered);
        }
        if access_kind == AccessKind::PutIn {
            self.oram.put_block_in(block, &[])?;
            self.counts.put_in += 1;
            return Ok(Step::Answered);
        }
        let place = self.oram.trusted_place(block);
        self.store.search_for(Some(block));
        match access_kind {
            AccessKind::TakeOut => expect_ready(self.oram.take_block_out(block, |_| ()))?,
            AccessKind::Access | AccessKind::PutIn => expect_ready(self.oram.access_block(block, |_| ()))?,
        }
        self.store.search_for(None);
        self.count_found(place, self.store.observed().found);
        Ok(self.path(PathKind::Data))
    }

    /// Counts whether the PLB has the position of a block, at the first step towards it.
    fn look_up(&mut self, block: BlockId) {
        if self.looked_up.replace(block) == Some(block) {
            return;
        }
        match self.oram.is_position_available(block) {
            true => self.counts.plb_hits += 1,
            false => self.counts.plb_misses += 1,
        }
    }

    /// Accesses a block that was reserved, by its path.
    pub(crate) fn access_reserved(&mut self, reservation: &Reservation) -> Result<PathKind, Failure> {
        let (block, position) = (reservation.block(), reservation.leaf());
        let level = self.oram.address_space().level(block);
        let place = self.oram.tree().trusted_place(block, position);
        self.store.search_for(Some(block));
        expect_ready(self.oram.access_reserved(reservation, |_| ()))?;
        self.store.search_for(None);
        let found = self.store.take_observed().found;
        if level == 0 {
            self.count_found(place, found);
            return Ok(PathKind::Data);
        }
        self.count_posmap_found(place, found);
        Ok(PathKind::PosMap(level))
    }

    /// Reads the path to a leaf for no block.
    pub(crate) fn dummy_at(&self, leaf: Leaf) -> Result<(), Failure> {
        expect_ready(self.oram.tree().dummy_at(leaf))
    }

    fn count_found(&mut self, place: Option<TrustedPlace>, found: Option<Level>) {
        match (place, found) {
            (Some(TrustedPlace::TreeTop(level)), _) | (_, Some(level)) => self.counts.add_found(level),
            (Some(TrustedPlace::Stash), _) => self.counts.found_in_stash += 1,
            (None, None) => self.counts.fresh += 1,
        }
    }

    fn count_posmap_found(&mut self, place: Option<TrustedPlace>, found: Option<Level>) {
        match (place, found) {
            (Some(TrustedPlace::TreeTop(level)), _) | (_, Some(level)) => self.counts.add_posmap_found(level),
            (Some(TrustedPlace::Stash), _) => self.counts.posmap_found_in_stash += 1,
            (None, None) => {}
        }
    }

    /// Does a step towards the remapping of a block that is out of the tree: one path at most.
    pub(crate) fn remap_ahead(&mut self, block: BlockId) -> Result<RemapStep, Failure> {
        Ok(match self.bring_position(block)? {
            Some(step) => RemapStep::Pending(step),
            None => RemapStep::Drawn(self.oram.remap_ahead(block)?),
        })
    }

    /// Puts in a block that was remapped ahead, if the stash has room.
    pub(crate) fn put_in_at(&mut self, block: BlockId, leaf: Leaf) -> Result<bool, Failure> {
        let has_room = !self.must_evict();
        if has_room {
            self.oram.put_block_in_remapped(block, leaf, &[])?;
            self.counts.put_in += 1;
        }
        Ok(has_room)
    }

    /// Brings a PosMap block that is lacking for a block: the step that this took, or `None` if nothing is lacking.
    pub(crate) fn bring_position(&mut self, block: BlockId) -> Result<Option<Step>, Failure> {
        let next = self.oram.next(block)?;
        if self.must_evict() {
            return Ok(Some(Step::TooFull));
        }
        let NextPath::PosMap(lacking) = next else { return Ok(None) };
        let place = self.oram.trusted_place(lacking);
        self.store.search_for(Some(lacking));
        expect_ready(self.oram.fetch(lacking))?;
        self.store.search_for(None);
        self.count_posmap_found(place, self.store.observed().found);
        let level = self.oram.address_space().level(lacking);
        Ok(Some(self.path(PathKind::PosMap(level))))
    }
}
