//! RAW ORAM as a backend: accesses of single blocks, whose positions a front end keeps.
//!
//! So Tiny ORAM has it beneath the front end of Freecursive ORAM (section V-E). A block that is taken out is in the care of
//! whoever took it.
//!
//! **What the trace shows.** [`access_at`](RawOram::access_at), [`take_out`](RawOram::take_out) and
//! [`dummy`](RawOram::dummy) show the same: a path that was drawn for this access and never shown before.
//! [`put_in`](RawOram::put_in) shows nothing. How many there are, and when, shows.

use super::RawOram;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::OramError;
use crate::position_map::external::{ExternalPositions, PositionUpdate};
use crate::position_map::external_access::{self, ExternalPositionOram};
use crate::stash::Stash;
use crate::store::Store;
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Leaf};
use alloc::vec::Vec;
use core::cell::RefMut;
use rand_core::RngCore;

impl<S: Store, R: RngCore> RawOram<S, ExternalPositions<S::Error>, R> {
    /// Accesses a block at a position, and lets `serve` read and change its payload.
    ///
    /// # Errors
    /// Those of [`Oram::access`](crate::oram::Oram::access); [`OramError::Contradiction`] if the block is not there, or the
    /// new leaf is none of the tree's.
    pub async fn access_at(
        &self,
        block: BlockId,
        update: PositionUpdate,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        external_access::access_at(self, block, update, serve).await
    }

    /// Reads the path of a block, and takes the block out: `take` gets its payload, and the ORAM has it no more. A block
    /// that was never mapped is zeros.
    ///
    /// # Errors
    /// As [`access_at`](Self::access_at).
    pub async fn take_out(
        &self,
        block: BlockId,
        old: Option<Leaf>,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        external_access::take_out(self, block, old, take).await
    }

    /// Puts a block in that is not there: it waits in the stash for a path that leads to its leaf.
    ///
    /// # Errors
    /// [`OramError::StashFull`] at the hard bound; [`OramError::Contradiction`] if the block waits already, or the leaf is
    /// none of the tree's. Nothing is changed then.
    pub fn put_in(&self, block: BlockId, leaf: Leaf, payload: &[u8]) -> Result<(), OramError<S::Error>> {
        external_access::put_in(self, block, leaf, payload)
    }

    /// Lets `serve` read and change the payload of a block, if it is in the stash. It keeps its leaf, and nothing shows: to use this is
    /// [not oblivious](crate::schemes::freecursive::TrustedHits). Tells whether it was there.
    ///
    /// # Errors
    /// [`OramError::Poisoned`].
    pub fn serve_trusted(
        &self,
        block: BlockId,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<bool, OramError<S::Error>> {
        external_access::serve_waiting(self, block, serve)
    }

    /// Takes a block out of the stash, if it is there, as [`serve_trusted`](Self::serve_trusted) finds it. Returns the leaf that it keeps.
    ///
    /// # Errors
    /// [`OramError::Poisoned`].
    pub fn take_trusted(
        &self,
        block: BlockId,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<Option<Leaf>, OramError<S::Error>> {
        external_access::take_waiting(self, block, take)
    }

    /// All blocks of the stash, with their leaves. Secret: only simulations look.
    pub fn trusted_blocks(&self) -> Vec<(BlockId, Leaf)> {
        external_access::waiting(self)
    }

    /// Tells whether a block is in the stash. Secret: only simulations look.
    pub fn is_trusted(&self, block: BlockId) -> bool {
        self.state.borrow().stash.find(block).is_some()
    }

    /// Refuses everything from now on: a front end found out that the store lied.
    pub(crate) fn poison(&self) {
        drop(self.poison_flag.begin());
    }

    /// The tree of the headers, whose paths are those of the blocks.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.trees.headers
    }

    /// Reads a path that was drawn for nothing else.
    ///
    /// # Errors
    /// Those of [`Oram::access`](crate::oram::Oram::access).
    pub async fn dummy(&self) -> Result<(), OramError<S::Error>> {
        self.access_one(None, |_| ()).await
    }
}

impl<S: Store, R: RngCore> ExternalPositionOram for RawOram<S, ExternalPositions<S::Error>, R> {
    fn external_positions(&self) -> &ExternalPositions<S::Error> {
        &self.positions
    }

    fn leaves(&self) -> u64 {
        self.trees.headers.leaves()
    }

    fn stash(&self) -> (RefMut<'_, Stash>, usize) {
        let stash = RefMut::map(self.state.borrow_mut(), |state| &mut state.stash);
        (stash, self.parameters.stash_bound as usize)
    }

    fn poison_flag(&self) -> &PoisonFlag {
        &self.poison_flag
    }

    async fn access_one(
        &self,
        block: Option<BlockId>,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        let mut serve = Some(serve);
        let serve = |_, payload: &mut [u8]| {
            if let Some(serve) = serve.take() {
                serve(payload);
            }
        };
        self.update(1, |_| block, serve).await
    }
}
