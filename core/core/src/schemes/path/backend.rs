//! Path ORAM as a backend: accesses of single blocks, whose positions a front end keeps.

use super::PathOram;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::OramError;
use crate::position_map::external::ExternalPositions;
use crate::position_map::external_access::SingleAccess;
use crate::stash::Stash;
use crate::store::Store;
use crate::types::BlockId;
use core::cell::RefMut;
use rand_core::RngCore;

impl<S: Store, R: RngCore> SingleAccess for PathOram<S, ExternalPositions<S::Error>, R> {
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
