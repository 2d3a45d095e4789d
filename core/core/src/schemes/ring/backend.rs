//! Ring ORAM as a backend: accesses of single blocks, whose positions a front end keeps.
//!
//! The front end of Freecursive ORAM uses it like Path ORAM and RAW ORAM. A path is a slot of every bucket on it. An
//! eviction may be writing a block of the stash out when the block is served or taken without its path. Then the block
//! is taken back: the bucket has a dummy in its place, as after an access.

use super::{FilledRing, RingOram, RingParameters, RingParametersError};
use crate::oram::OramError;
use crate::position_map::external::ExternalPositions;
use crate::position_map::external_access::{SingleAccess, TreeParts};
use crate::stash::Stash;
use crate::store::Store;
use crate::tree::geometry::Geometry;
use crate::types::BlockId;
use core::cell::RefMut;
use rand_core::RngCore;

impl<S: Store, R: RngCore> RingOram<S, ExternalPositions<S::Error>, R> {
    /// A Ring ORAM over a store that a simulation has filled. The simulation keeps the positions, which are not
    /// looked at here, and [puts](crate::position_map::external_access::ExternalPositionOram::put_in) the blocks of
    /// the stash in.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new); [`RingParametersError::Filled`].
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

    /// The tree of the paths.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.tree
    }
}

impl<S: Store, R: RngCore> SingleAccess for RingOram<S, ExternalPositions<S::Error>, R> {
    fn parts(&self) -> TreeParts<'_, S::Error> {
        TreeParts { positions: &self.positions, tree: &self.tree, poison_flag: &self.poison_flag }
    }

    /// Blocks that are listed in a bucket as well do not count against the bound.
    fn stash(&self) -> (RefMut<'_, Stash>, usize) {
        let state = self.state.borrow_mut();
        let max = self.parameters.stash_bound as usize + state.in_flight.listed();
        (RefMut::map(state, |state| &mut state.stash), max)
    }

    async fn access_one(
        &self,
        block: Option<BlockId>,
        mut serve: impl FnMut(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        let serve = |_, stash: &mut Stash, handle| serve(stash.payload_mut(handle));
        self.update(1, |_| block, serve).await
    }

    fn take_back(&self, block: BlockId) {
        self.state.borrow_mut().take_back(block, &self.tree);
    }
}
