//! A look at the trusted state of a Circuit ORAM.

use super::CircuitOram;
use crate::inspect::{self, Inspect, Inspection, TrustedBlock};
use crate::store::Store;

impl<S: Store, P: Inspect, R> Inspect for CircuitOram<S, P, R> {
    /// Adds the blocks of held buckets to the stash: they are on the trusted side for now.
    fn inspect(&self) -> Option<Inspection> {
        let map = self.positions.inspect()?;
        let state = self.state.borrow();
        let held = &state.work.held;
        let mut inspection = inspect::with_held_buckets(map, &state.stash, held, &state.schedule)?;
        inspection.stash.extend(held.blocks().map(|(block, leaf, payload)| TrustedBlock {
            block,
            leaf: Some(leaf),
            payload: payload.to_vec(),
        }));
        Some(inspection)
    }
}
