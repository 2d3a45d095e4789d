//! The ORAM of a controller: the front end over the tree, and what it shows of each step.

use crate::configuration::{ConfigurationError, OramConfiguration};
use crate::counts::{Counts, PathKind};
use crate::tree::slots::Slots;
use crate::tree::store::TreeStore;
use futures_util::FutureExt;
use lethe_core::oram::{Oram, OramError};
use lethe_core::position_map::flat::Positions;
use lethe_core::schemes::freecursive::{FreecursiveOram, Next};
use lethe_core::schemes::path::TrustedPlace;
use lethe_core::words::{BlockId, Bucket, Leaf};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::convert::Infallible;

/// The most background evictions that make room for one block while a tree is filled.
const MOST_EVICTIONS: usize = 10_000;

type Failure = OramError<Infallible>;

/// The front end, and the store that it runs over.
pub(crate) struct MemorySide {
    pub(crate) oram: FreecursiveOram<TreeStore, ChaCha8Rng>,
    pub(crate) store: TreeStore,
    pub(crate) counts: Counts,
}

/// The parts of a tree with contents.
#[derive(Clone, Debug)]
pub(crate) struct TreeParts {
    pub(crate) slots: Slots,
    /// A word for each block: its leaf + 1.
    pub(crate) positions: Vec<u32>,
    /// The blocks on the trusted side, with their leaves.
    pub(crate) trusted: Vec<(BlockId, Leaf)>,
}

/// The way in which a block is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// It stays in the tree, with a new leaf.
    Access,
    /// It leaves the tree.
    TakeOut,
    /// It comes into the tree again.
    PutIn,
}

/// A step towards a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The block is served, without a path.
    Answered,
    /// Nothing was done but that PosMap blocks came into the buffer: now the stash is too full for a path.
    TooFull,
    /// A path was read; the block is served if the path is its own.
    Path { leaf: Leaf, kind: PathKind },
}

/// The store answers at once, so that one poll ends every operation.
fn now<T>(operation: impl Future<Output = T>) -> T {
    operation.now_or_never().expect("the store answers at once")
}

impl MemorySide {
    /// An ORAM over a tree with contents. What has no room on the trusted side sinks by background evictions.
    pub(crate) fn over(
        oram: &OramConfiguration,
        tree: TreeParts,
        random: &mut ChaCha8Rng,
    ) -> Result<Self, ConfigurationError> {
        let TreeParts { slots, positions, trusted } = tree;
        let store = TreeStore::new(slots);
        let (positions, for_oram) = (Positions::from_words(positions), ChaCha8Rng::from_rng(random));
        let parameters = oram.parameters()?;
        let oram =
            FreecursiveOram::over_filled_store(parameters, positions, Bucket(0), store.clone(), for_oram)?;
        let mut memory = MemorySide { oram, store, counts: Counts::default() };
        memory.take_in(trusted).map_err(|_| ConfigurationError::Contents)?;
        Ok(memory)
    }

    /// Gives the tree away, as it stands.
    pub(crate) fn into_parts(self) -> TreeParts {
        let trusted = self.oram.tree().trusted_blocks();
        let positions = self.oram.into_positions();
        TreeParts { slots: self.store.into_slots(), positions, trusted }
    }

    /// Takes in the blocks of the trusted side: into the tree top as far as it goes, and into the stash.
    fn take_in(&mut self, trusted: Vec<(BlockId, Leaf)>) -> Result<(), Failure> {
        for (block, leaf) in trusted {
            if self.oram.tree().put_in_tree_top(block, leaf)? {
                continue;
            }
            for _ in 0..MOST_EVICTIONS {
                if !self.is_too_full() {
                    break;
                }
                self.evict()?;
            }
            self.oram.tree().put_in(block, leaf, &[])?;
        }
        Ok(())
    }

    /// Serves a block without a path, if it is on the trusted side. A block that comes into the tree is not.
    pub(crate) fn answer(&mut self, block: BlockId, want: Want) -> Result<bool, Failure> {
        let place = match want {
            Want::Access => self.oram.answer(block, |_| ())?,
            Want::TakeOut => {
                let place = self.oram.trusted_place(block);
                self.oram.take_trusted_block_out(block, |_| ())?.then_some(place).flatten()
            }
            Want::PutIn => None,
        };
        match place {
            Some(TrustedPlace::Stash) => self.counts.stash_hits += 1,
            Some(TrustedPlace::TreeTop(level)) => self.counts.add_top_hit(level),
            None => {}
        }
        Ok(place.is_some())
    }

    /// Does the next step towards a block: one path at most.
    pub(crate) fn step(&mut self, block: BlockId, want: Want) -> Result<Step, Failure> {
        let next = self.oram.next(block)?;
        if self.is_too_full() {
            return Ok(Step::TooFull);
        }
        if let Next::PosMap(lacking) = next {
            now(self.oram.fetch(lacking))?;
            let level = self.oram.address_space().level(lacking);
            return Ok(self.path(PathKind::PosMap(level)));
        }
        // The position may have come to hand by that.
        if self.answer(block, want)? {
            return Ok(Step::Answered);
        }
        if want == Want::PutIn {
            self.oram.put_block_in(block, &[])?;
            self.counts.put_in += 1;
            return Ok(Step::Answered);
        }
        let place = self.oram.trusted_place(block);
        self.store.look_for(Some(block));
        match want {
            Want::TakeOut => now(self.oram.take_block_out(block, |_| ()))?,
            Want::Access | Want::PutIn => now(self.oram.access_block(block, |_| ()))?,
        }
        self.store.look_for(None);
        match (place, self.store.shown().found) {
            (Some(TrustedPlace::TreeTop(level)), _) | (_, Some(level)) => self.counts.add_found(level),
            _ => self.counts.fresh += 1,
        }
        Ok(self.path(PathKind::Data))
    }

    /// Reads a path for nothing, or for a background eviction if the stash is too full.
    pub(crate) fn dummy(&mut self) -> Result<Step, Failure> {
        if self.is_too_full() {
            return self.evict();
        }
        now(self.oram.tree().dummy())?;
        Ok(self.path(PathKind::Dummy))
    }

    /// Writes the path back that was read.
    pub(crate) fn write_back(&mut self) -> Result<(), Failure> {
        now(self.oram.idle())?;
        self.store.take_shown();
        Ok(())
    }

    /// Tells whether the stash needs a background eviction.
    pub(crate) fn is_too_full(&self) -> bool {
        self.oram.must_idle()
    }

    /// Does a background eviction: a path that is written back at once.
    pub(crate) fn evict(&mut self) -> Result<Step, Failure> {
        now(self.oram.idle())?;
        Ok(self.path(PathKind::Background))
    }

    fn path(&mut self, kind: PathKind) -> Step {
        let shown = self.store.take_shown();
        debug_assert_eq!(shown.read, 1, "a step reads one path");
        Step::Path { leaf: shown.path.expect("the step read a path"), kind }
    }
}
