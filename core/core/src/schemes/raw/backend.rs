//! RAW ORAM as a backend: accesses of single blocks, whose positions a front end keeps.
//!
//! Tiny ORAM has it in this way below the front end of Freecursive ORAM (section V-E).

use super::RawOram;
use crate::oram::OramError;
use crate::position_map::external::ExternalPositions;
use crate::position_map::external_access::{SingleAccess, TreeParts};
use crate::stash::Stash;
use crate::store::Store;
use crate::tree::geometry::Geometry;
use crate::types::BlockId;
use core::cell::RefMut;
use rand_core::RngCore;

impl<S: Store, R: RngCore> RawOram<S, ExternalPositions<S::Error>, R> {
    /// The tree of the headers, whose paths are those of the blocks.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.trees.headers
    }
}

impl<S: Store, R: RngCore> SingleAccess for RawOram<S, ExternalPositions<S::Error>, R> {
    fn parts(&self) -> TreeParts<'_, S::Error> {
        TreeParts {
            positions: &self.positions,
            tree: &self.trees.headers,
            poison_flag: self.exclusive.poison_flag(),
        }
    }

    fn stash(&self) -> (RefMut<'_, Stash>, usize) {
        let stash = RefMut::map(self.state.borrow_mut(), |state| &mut state.stash);
        (stash, self.parameters.stash_bound as usize)
    }

    async fn access_one(
        &self,
        block: Option<BlockId>,
        mut serve: impl FnMut(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        self.update(1, |_| block, |_, payload| serve(payload)).await
    }
}
