//! A tree over its store, and the paths that it shows: what the trees of a machine have in common.

use crate::counts::PathKind;
use crate::tree::store::TreeStore;
use ameles_core::oram::{Oram, OramError};
use ameles_core::position_map::external::ExternalPositions;
use ameles_core::position_map::external_access::ExternalPositionOram;
use ameles_core::schemes::freecursive::Backend;
use ameles_core::schemes::path::PathOram;
use ameles_core::types::{BlockId, Leaf};
use futures_util::FutureExt;
use rand_chacha::ChaCha8Rng;
use std::convert::Infallible;

/// The maximum of background evictions that make room for one block while a tree is filled or settles.
const MAX_EVICTIONS: usize = 10_000;

pub(crate) type Failure = OramError<Infallible>;

/// A Path ORAM whose positions a front end supplies.
pub(crate) type ExternalPath = PathOram<TreeStore, ExternalPositions<Infallible>, ChaCha8Rng>;

/// The tree of a main ORAM.
pub(crate) type ExternalTree = Backend<TreeStore, ChaCha8Rng>;

/// A tree of either kind.
#[derive(Clone, Copy)]
pub(crate) enum AnyTree<'a> {
    /// The tree of a main ORAM.
    Main(&'a ExternalTree),
    /// A small one.
    Small(&'a ExternalPath),
}

/// Does the same with either.
macro_rules! with_tree {
    ($any:expr, $tree:ident => $work:expr) => {
        match $any {
            AnyTree::Main($tree) => $work,
            AnyTree::Small($tree) => $work,
        }
    };
}

/// A step towards a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The block is served, without a path.
    Answered,
    /// The step only brought PosMap blocks into the buffer: now there is no room for the blocks of a path.
    TooFull,
    /// A path was read; the block is served if the path is its own.
    Path { leaf: Leaf, kind: PathKind },
}

/// The store answers at once, so one poll ends every operation.
pub(crate) fn expect_ready<T>(operation: impl Future<Output = T>) -> T {
    operation.now_or_never().expect("the store answers at once")
}

/// A tree of the machine.
pub(crate) trait TreeBackend {
    fn tree(&self) -> AnyTree<'_>;

    fn store(&self) -> &TreeStore;

    /// Reads a path for no block, or for an eviction if one comes first.
    fn dummy(&self) -> Result<Step, Failure> {
        if self.must_evict() {
            return self.evict();
        }
        with_tree!(self.tree(), tree => expect_ready(tree.dummy()))?;
        Ok(self.path(PathKind::Dummy))
    }

    /// Writes back what an access leaves to be written of its path.
    fn write_back(&self) -> Result<(), Failure> {
        if let AnyTree::Main(Backend::Ring(_)) = self.tree() {
            return Ok(());
        }
        with_tree!(self.tree(), tree => expect_ready(tree.step()))?;
        self.store().take_observed();
        Ok(())
    }

    /// Returns whether an eviction comes before the next access: one that is due by the schedule, or that the stash
    /// needs. Nothing may be left to be written back.
    fn must_evict(&self) -> bool {
        with_tree!(self.tree(), tree => tree.pending_steps() > 0)
    }

    /// Evictions of a Ring ORAM's paths so far, not counting reshuffles; `None` for another scheme.
    fn ring_evictions(&self) -> Option<u64> {
        if let AnyTree::Main(Backend::Ring(ring)) = self.tree() { Some(ring.evictions()) } else { None }
    }

    /// Does an eviction: a path that is written back at once, or a reshuffle that comes before it.
    fn evict(&self) -> Result<Step, Failure> {
        let evictions = self.ring_evictions();
        let is_emergency = with_tree!(self.tree(), tree => {
            let before = tree.emergencies();
            expect_ready(tree.step())?;
            tree.emergencies() > before
        });
        Ok(self.path(match is_emergency {
            true => PathKind::Background,
            false if evictions.is_some() && self.ring_evictions() == evictions => PathKind::Reshuffle,
            false => PathKind::Eviction,
        }))
    }

    /// Does the evictions that come before the next access, but no more than a tree that can hold its blocks ever
    /// needs.
    fn make_room(&self) -> Result<(), Failure> {
        for _ in 0..MAX_EVICTIONS {
            if !self.must_evict() {
                break;
            }
            self.evict()?;
        }
        Ok(())
    }

    /// The path that was read.
    fn path(&self, kind: PathKind) -> Step {
        let (observed, held) = (self.store().take_observed(), self.held_path());
        // Of merged paths a leaf may be left out, and with siblings there are two.
        let is_whole = kind == PathKind::Reshuffle || held.is_some() || observed.read <= 2;
        debug_assert!(is_whole, "a step reads one path");
        // A path that is the same as the one before shows no bucket.
        Step::Path { leaf: held.or(observed.path).unwrap_or(Leaf(0)), kind }
    }

    /// The path that is held until the next one is known, if paths are merged.
    fn held_path(&self) -> Option<Leaf> {
        match self.tree() {
            AnyTree::Main(tree) => tree.held_path(),
            AnyTree::Small(_) => None,
        }
    }

    /// Stores the blocks of the trusted side: in the tree top as far as they fit, and in the stash. What has no room
    /// there sinks by background evictions.
    fn take_in(&self, trusted: Vec<(BlockId, Leaf)>) -> Result<(), Failure> {
        for (block, leaf) in trusted {
            if with_tree!(self.tree(), tree => tree.put_in_tree_top(block, leaf))? {
                continue;
            }
            self.make_room()?;
            with_tree!(self.tree(), tree => tree.put_in(block, leaf, &[]))?;
        }
        Ok(())
    }
}
