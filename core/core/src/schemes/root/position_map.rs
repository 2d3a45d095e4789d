//! The position map of Root ORAM: a new leaf may be near the old one.

use crate::oram::OramError;
use crate::position_map::flat::Positions;
use crate::position_map::{Lookup, PositionMap};
use crate::types::Leaf;
use core::cell::RefCell;
use core::error::Error;
use core::marker::PhantomData;
use rand_core::RngCore;

/// A flat map that keeps a block in its subtree with a probability, and otherwise gives it the uniform leaf that was
/// drawn.
pub struct NearPositionMap<E, R> {
    positions: RefCell<Positions>,
    coins: RefCell<R>,
    /// λ, in units of 2^-32.
    near: u32,
    /// The number of leaves of a subtree, less one: the bits of a leaf that say where it is in its subtree.
    within: u64,
    error: PhantomData<E>,
}

impl<E, R: RngCore> NearPositionMap<E, R> {
    pub(super) fn new(positions: Positions, leaves_of_subtree: u64, near: u32, coins: R) -> Self {
        NearPositionMap {
            positions: RefCell::new(positions),
            coins: RefCell::new(coins),
            near,
            within: leaves_of_subtree - 1,
            error: PhantomData,
        }
    }

    /// Lets the caller look at the positions.
    #[cfg(feature = "inspect")]
    pub(super) fn with_positions<T>(&self, with_positions: impl FnOnce(&Positions) -> T) -> T {
        with_positions(&self.positions.borrow())
    }
}

impl<E: Error + 'static, R: RngCore> PositionMap for NearPositionMap<E, R> {
    type Error = E;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<E>> {
        let (positions, coins) = (&mut *self.positions.borrow_mut(), &mut *self.coins.borrow_mut());
        for lookup in lookups {
            let stays = coins.next_u32() < self.near;
            let Some(block) = lookup.block else { continue };
            let old = positions.get(block);
            if let (true, Some(old)) = (stays, old) {
                lookup.new = Leaf(old.0 & !self.within | lookup.new.0 & self.within);
            }
            lookup.old = positions.replace(block, lookup.new);
        }
        Ok(())
    }

    fn trusted_bytes(&self) -> usize {
        size_of_val(self.positions.borrow().words())
    }
}
