//! Accesses of single blocks whose positions a front end keeps, for the schemes that are its backend.

use crate::concurrency::poison::PoisonFlag;
use crate::oram::{Oram, OramError};
use crate::position_map::external::{ExternalPositions, PositionUpdate};
use crate::stash::Stash;
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Leaf};
use alloc::vec::Vec;
use core::cell::RefMut;

/// The parts of a scheme over a tree that accesses of single blocks need.
pub(crate) struct TreeParts<'a, E> {
    /// The positions that the front end hands in.
    pub(crate) positions: &'a ExternalPositions<E>,
    /// The tree of the paths.
    pub(crate) tree: &'a Geometry,
    /// The poison flag of the state.
    pub(crate) poison_flag: &'a PoisonFlag,
}

/// A scheme over a tree that can access single blocks.
pub(crate) trait SingleAccess: Oram {
    /// Returns the parts of the tree ORAM.
    fn parts(&self) -> TreeParts<'_, Self::Error>;

    /// The stash, and its hard bound in blocks.
    fn stash(&self) -> (RefMut<'_, Stash>, usize);

    /// Accesses the block, or a dummy, and lets `serve` read and change the payload. It calls `serve` at most once.
    async fn access_one(
        &self,
        block: Option<BlockId>,
        serve: impl FnMut(&mut [u8]),
    ) -> Result<(), OramError<Self::Error>>;

    /// Takes a block back into the stash that an eviction is writing out. By default there is none.
    fn take_back(&self, _block: BlockId) {}
}

/// An ORAM whose positions a front end keeps.
///
/// These are Freecursive ORAM's operations: an access, `readrmv` and `append`. (Fletcher, Ren, Kwon, van Dijk, Devadas,
/// "Freecursive ORAM: \[Nearly\] Free Recursion and Integrity Verification for Position-based Oblivious RAM", ASPLOS
/// 2015.) A block that is taken out belongs to the caller: a cache of PosMap blocks, or a processor's cache whose lines
/// are remapped late. (Nagarajan, Shafiee, Balasubramonian, Tiwari, "ρ: Relaxed Hierarchical ORAM", ASPLOS 2019.)
///
/// **What the trace shows.** [`access_at`](Self::access_at), [`take_out`](Self::take_out) and [`dummy`](Self::dummy)
/// show the same: a path that was drawn for this access and never shown before. [`put_in`](Self::put_in) shows nothing.
/// An adversary sees how many operations there are, and when.
#[allow(async_fn_in_trait, reason = "one thread drives a scheme; its futures need not be Send")]
pub trait ExternalPositionOram: Oram {
    /// Accesses a block at a position, and lets `serve` read and change its payload.
    ///
    /// # Errors
    /// The errors of [`Oram::access`]; [`OramError::Contradiction`] if the ORAM does not have the block, or the new
    /// leaf is none of the tree's.
    async fn access_at(
        &self,
        block: BlockId,
        update: PositionUpdate,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<Self::Error>>;

    /// Reads the path of a block, and takes the block out: `take` gets its payload, and the ORAM has it no more. A
    /// block that was never mapped is zeros.
    ///
    /// # Errors
    /// The errors of [`access_at`](Self::access_at).
    async fn take_out(
        &self,
        block: BlockId,
        old: Option<Leaf>,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<Self::Error>>;

    /// Puts in a block that the ORAM does not have: it waits in the stash for an eviction that passes the path to its
    /// leaf.
    ///
    /// # Errors
    /// [`OramError::StashFull`] at the hard bound; [`OramError::Contradiction`] if the block waits already, or the leaf
    /// is none of the tree's. In this case nothing is changed.
    fn put_in(&self, block: BlockId, leaf: Leaf, payload: &[u8]) -> Result<(), OramError<Self::Error>>;

    /// Reads a path that was drawn only for this.
    ///
    /// # Errors
    /// The errors of [`Oram::access`].
    async fn dummy(&self) -> Result<(), OramError<Self::Error>>;

    /// Lets `serve` read and change the payload of a block, if it is in the stash. The block keeps its leaf, and an
    /// adversary sees nothing: to use this is [not oblivious](crate::schemes::freecursive::TrustedHits). Returns
    /// whether it was there.
    ///
    /// # Errors
    /// [`OramError::Poisoned`].
    fn serve_from_stash(
        &self,
        block: BlockId,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<bool, OramError<Self::Error>>;

    /// Takes a block out of the stash, if it is there, as [`serve_from_stash`](Self::serve_from_stash) finds it.
    /// Returns the leaf of the block, which does not change.
    ///
    /// # Errors
    /// [`OramError::Poisoned`].
    fn take_from_stash(
        &self,
        block: BlockId,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<Option<Leaf>, OramError<Self::Error>>;

    /// All blocks of the stash, with their leaves: those that are being written out, too. Secret: only simulations
    /// look.
    fn blocks_in_stash(&self) -> Vec<(BlockId, Leaf)>;

    /// Returns whether a block is in the stash. Secret: only simulations look.
    fn is_in_stash(&self, block: BlockId) -> bool;

    /// Refuses everything from now on, because a front end detected tampering.
    fn poison(&self);
}

impl<O: SingleAccess> ExternalPositionOram for O {
    async fn access_at(
        &self,
        block: BlockId,
        update: PositionUpdate,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<O::Error>> {
        check(self, block, update.new)?;
        self.parts().positions.set_next(update);
        let mut serve = Some(serve);
        let serve_once = |payload: &mut [u8]| {
            if let Some(serve) = serve.take() {
                serve(payload);
            }
        };
        self.access_one(Some(block), serve_once).await
    }

    async fn take_out(
        &self,
        block: BlockId,
        old: Option<Leaf>,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<O::Error>> {
        self.access_at(block, PositionUpdate { old, new: old.unwrap_or(Leaf(0)) }, take).await?;
        let (mut stash, _) = self.stash();
        if let Some(handle) = stash.find(block) {
            stash.remove(handle);
        }
        Ok(())
    }

    fn put_in(&self, block: BlockId, leaf: Leaf, payload: &[u8]) -> Result<(), OramError<O::Error>> {
        check(self, block, leaf)?;
        let (mut stash, max) = self.stash();
        let held = stash.len();
        if held >= max {
            return Err(OramError::StashFull { held, max });
        }
        if stash.find(block).is_some() {
            return Err(OramError::Contradiction("the block that is put in is already there"));
        }
        stash.insert_with(block, leaf, payload);
        Ok(())
    }

    async fn dummy(&self) -> Result<(), OramError<O::Error>> {
        self.access_one(None, |_| ()).await
    }

    fn serve_from_stash(
        &self,
        block: BlockId,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<bool, OramError<O::Error>> {
        self.take_back(block);
        self.parts().poison_flag.check()?;
        let (mut stash, _) = self.stash();
        let found = stash.find(block);
        if let Some(handle) = found {
            serve(stash.payload_mut(handle));
        }
        Ok(found.is_some())
    }

    fn take_from_stash(
        &self,
        block: BlockId,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<Option<Leaf>, OramError<O::Error>> {
        self.take_back(block);
        self.parts().poison_flag.check()?;
        let (mut stash, _) = self.stash();
        let Some(handle) = stash.find(block) else { return Ok(None) };
        let leaf = stash.leaf(handle);
        take(stash.payload_mut(handle));
        stash.remove(handle);
        Ok(Some(leaf))
    }

    fn blocks_in_stash(&self) -> Vec<(BlockId, Leaf)> {
        let (stash, _) = self.stash();
        stash.iter().map(|at| (stash.block(at), stash.leaf(at))).collect()
    }

    fn is_in_stash(&self, block: BlockId) -> bool {
        self.stash().0.find(block).is_some()
    }

    fn poison(&self) {
        drop(self.parts().poison_flag.begin());
    }
}

fn check<O: SingleAccess>(oram: &O, block: BlockId, leaf: Leaf) -> Result<(), OramError<O::Error>> {
    let capacity = oram.capacity();
    if block.0 >= capacity {
        return Err(OramError::OutOfRange { block, capacity });
    }
    if leaf.0 >= oram.parts().tree.leaves() {
        return Err(OramError::Contradiction("a position lies beyond the tree"));
    }
    Ok(())
}
