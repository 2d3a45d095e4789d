//! Ring ORAM as a backend: accesses of single blocks, whose positions a front end keeps.
//!
//! So the front end of Freecursive ORAM stands over it, as over Path ORAM and RAW ORAM. A block that is taken out is in the
//! care of whoever took it. A block of the stash that an eviction is writing out is taken back, when it is served or taken
//! without its path: the bucket has a dummy in its place, as it has after an access.
//!
//! **What the trace shows.** [`access_at`](RingOram::access_at), [`take_out`](RingOram::take_out) and
//! [`dummy`](RingOram::dummy) show the same: a slot of every bucket on a path that was drawn for this access and never shown
//! before. [`put_in`](RingOram::put_in) shows nothing. How many there are, and when, shows.

use super::{FilledRing, RingOram, RingParameters, RingParametersError};
use crate::concurrency::poison::PoisonFlag;
use crate::oram::OramError;
use crate::position_map::external::{ExternalPositions, PositionUpdate};
use crate::position_map::external_access::{self, ExternalPositionOram};
use crate::stash::{Handle, Stash};
use crate::store::Store;
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Leaf};
use alloc::vec::Vec;
use core::cell::RefMut;
use rand_core::RngCore;

impl<S: Store, R: RngCore> RingOram<S, ExternalPositions<S::Error>, R> {
    /// A Ring ORAM over a store that a simulation has filled. The simulation keeps the positions, which are not looked at here, and
    /// [puts](Self::put_in) the blocks of the stash in.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`RingParametersError::Filled`].
    pub fn over_filled_store(
        parameters: RingParameters,
        filled: FilledRing,
        store: S,
        random: R,
    ) -> Result<Self, RingParametersError> {
        parameters.validate()?;
        let parts = filled.into_parts(&parameters).ok_or(RingParametersError::Filled)?;
        let (metadata, schedule, worn) = parts;
        let ring = Self::over(parameters, metadata, store, ExternalPositions::default(), random);
        {
            let state = &mut *ring.state.borrow_mut();
            (state.schedule, state.worn) = (schedule, worn);
        }
        Ok(ring)
    }

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

    /// Puts a block in that is not there: it waits in the stash for an eviction that passes its leaf's path.
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
        self.state.borrow_mut().take_back(block, &self.tree);
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
        self.state.borrow_mut().take_back(block, &self.tree);
        external_access::take_waiting(self, block, take)
    }

    /// All blocks of the stash, with their leaves: those that are being written out, too. Secret: only simulations look.
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

    /// The tree of the paths.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.tree
    }

    /// Reads a path that was drawn for nothing else.
    ///
    /// # Errors
    /// Those of [`Oram::access`](crate::oram::Oram::access).
    pub async fn dummy(&self) -> Result<(), OramError<S::Error>> {
        self.access_one(None, |_| ()).await
    }
}

impl<S: Store, R: RngCore> ExternalPositionOram for RingOram<S, ExternalPositions<S::Error>, R> {
    fn external_positions(&self) -> &ExternalPositions<S::Error> {
        &self.positions
    }

    fn leaves(&self) -> u64 {
        self.tree.leaves()
    }

    /// Blocks that only wait for a write to complete do not count against the bound.
    fn stash(&self) -> (RefMut<'_, Stash>, usize) {
        let state = self.state.borrow_mut();
        let max = self.parameters.stash_bound as usize + state.in_flight.placed();
        (RefMut::map(state, |state| &mut state.stash), max)
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
        let serve = |_, stash: &mut Stash, handle: Handle| {
            if let Some(serve) = serve.take() {
                serve(stash.payload_mut(handle));
            }
        };
        self.update(1, |_| block, serve).await
    }
}
