//! Path ORAM as a backend: accesses of single blocks, whose positions a front end keeps.

use super::PathOram;
use crate::oram::OramError;
use crate::position_map::external::ExternalPositions;
use crate::position_map::external_access::{SingleAccess, TreeParts};
use crate::stash::Stash;
use crate::store::Store;
use crate::types::BlockId;
use core::cell::RefMut;
use rand_core::RngCore;

impl<S: Store, R: RngCore> SingleAccess for PathOram<S, ExternalPositions<S::Error>, R> {
    fn parts(&self) -> TreeParts<'_, S::Error> {
        TreeParts { positions: &self.positions, tree: &self.tree, poison_flag: &self.poison_flag }
    }

    fn stash(&self) -> (RefMut<'_, Stash>, usize) {
        let max = self.hard_bound();
        (RefMut::map(self.state.borrow_mut(), |state| &mut state.stash), max)
    }

    async fn access_one(
        &self,
        block: Option<BlockId>,
        mut serve: impl FnMut(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        self.update(1, |_| block, |_, payload| serve(payload)).await
    }
}
