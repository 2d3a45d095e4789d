//! A look at the next path for simulations, which fetch its buckets before they need them.

use super::labels::Labels;
use super::{FreecursiveOram, PositionEntry};
use crate::store::Store;
use crate::types::{BlockId, Leaf};
use rand_core::{RngCore, SeedableRng};

impl<S: Store, R: RngCore + SeedableRng> FreecursiveOram<S, R> {
    /// The leaf of the path that an access to a block needs next. `None` if a block on the trusted side saves the path,
    /// or if the needed block was never mapped. The call changes nothing. Secret: only simulations look ahead.
    pub fn next_leaf(&self, block: BlockId) -> Option<Leaf> {
        let mut at = block;
        while let PositionEntry::Block(above, _) = self.address_space().position_entry(at)
            && !self.is_buffered(above)
        {
            at = above;
        }
        self.position(at)
    }

    /// Lends the caller the words of the positions that an access to a block needs, the block's own first. Lends none
    /// unless all positions are kept aside. Secret: only simulations look ahead.
    pub fn visit_positions(&self, block: BlockId, mut visit: impl FnMut(&u32)) {
        let labels = &self.state.borrow().labels;
        let Labels::Separate(positions) = labels else { return };
        let mut next = Some(block);
        while let Some(at) = next {
            visit(&positions.words()[at.0 as usize]);
            next = match self.address_space().position_entry(at) {
                PositionEntry::Block(above, _) => Some(above),
                PositionEntry::Trusted(_) => None,
            };
        }
    }
}
