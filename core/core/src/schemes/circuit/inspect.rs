//! A look at the trusted state of a Circuit ORAM.

use super::CircuitOram;
use crate::inspect::{self, Inspect, Inspection, TrustedBlock};
use crate::store::Store;
use alloc::vec::Vec;

impl<S: Store, P: Inspect, R> Inspect for CircuitOram<S, P, R> {
    /// Adds the blocks of held buckets to the stash: they are on the trusted side for now.
    fn inspect(&self) -> Option<Inspection> {
        let map = self.positions.inspect()?;
        let state = self.state.borrow();
        let held = &state.work.held;
        // An operation that has taken them leaves buckets of no bytes.
        if held.entry_bytes() == 0 {
            return None;
        }
        let mut stash: Vec<TrustedBlock> = inspect::stash(&state.stash);
        stash.extend(held.blocks().map(|(block, leaf, payload)| TrustedBlock {
            block,
            leaf: Some(leaf),
            payload: payload.to_vec(),
        }));
        Some(Inspection {
            stash,
            stale: held.buckets().to_vec(),
            counters: alloc::vec![
                ("accesses", state.schedule.accesses),
                ("evictions", state.schedule.evictions)
            ],
            ..map
        })
    }
}
