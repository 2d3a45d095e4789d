//! Path ORAM as a backend: accesses of single blocks, whose positions a front end keeps.
//!
//! So Freecursive ORAM has it (Fletcher, Ren, Kwon, van Dijk, Devadas, "Freecursive ORAM: [Nearly] Free Recursion and
//! Integrity Verification for Position-based Oblivious RAM", ASPLOS 2015): an access, `readrmv` and `append`. A block
//! that is taken out is in the care of whoever took it: a cache of PosMap blocks, or a processor's cache whose lines are
//! remapped late (Nagarajan, Shafiee, Balasubramonian, Tiwari, "ρ: Relaxed Hierarchical ORAM", ASPLOS 2019).
//!
//! **What the trace shows.** [`access_at`](PathOram::access_at), [`take_out`](PathOram::take_out) and
//! [`dummy`](PathOram::dummy) show the same: a path that was drawn for this access and never shown before.
//! [`put_in`](PathOram::put_in) shows nothing. How many there are, and when, shows.

use super::PathOram;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::OramError;
use crate::position_map::external::{ExternalPositions, PositionUpdate};
use crate::position_map::external_access::{self, ExternalPositionOram};
use crate::stash::Stash;
use crate::store::Store;
use crate::types::{BlockId, Leaf};
use core::cell::RefMut;
use rand_core::RngCore;

impl<S: Store, R: RngCore> PathOram<S, ExternalPositions<S::Error>, R> {
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

    /// Refuses everything from now on: a front end found out that the store lied.
    pub(crate) fn poison(&self) {
        drop(self.poison_flag.begin());
    }

    /// Reads a path that was drawn for nothing else.
    ///
    /// # Errors
    /// Those of [`Oram::access`](crate::oram::Oram::access).
    pub async fn dummy(&self) -> Result<(), OramError<S::Error>> {
        self.access_one(None, |_| ()).await
    }
}

impl<S: Store, R: RngCore> ExternalPositionOram for PathOram<S, ExternalPositions<S::Error>, R> {
    fn external_positions(&self) -> &ExternalPositions<S::Error> {
        &self.positions
    }

    fn leaves(&self) -> u64 {
        self.tree.leaves()
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
