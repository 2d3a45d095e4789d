//! The ORAM of a controller: the front end over the tree, and what it shows of each step.

use crate::counts::{Counts, PathKind};
use crate::tree::store::TreeStore;
use futures_util::FutureExt;
use lethe_core::oram::{Oram, OramError};
use lethe_core::schemes::freecursive::{FreecursiveOram, Next};
use lethe_core::schemes::path::TrustedPlace;
use lethe_core::words::{BlockId, Leaf};
use rand_chacha::ChaCha8Rng;
use std::convert::Infallible;

type Failure = OramError<Infallible>;

/// The front end, and the store that it runs over.
pub(crate) struct MemorySide {
    pub(crate) oram: FreecursiveOram<TreeStore, ChaCha8Rng>,
    pub(crate) store: TreeStore,
    pub(crate) counts: Counts,
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
    /// A path was read; the block is served if the path is its own.
    Path { leaf: Leaf, kind: PathKind },
}

/// The store answers at once, so that one poll ends every operation.
fn now<T>(operation: impl Future<Output = T>) -> T {
    operation.now_or_never().expect("the store answers at once")
}

impl MemorySide {
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
        if let Next::PosMap(lacking) = self.oram.next(block)? {
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

    /// Reads a path for nothing.
    pub(crate) fn dummy(&mut self) -> Result<Step, Failure> {
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
