//! A look at the trusted state of a RAW ORAM.

use super::RawOram;
use crate::inspect::{self, Inspect, Inspection};
use crate::store::Store;

impl<S: Store, P: Inspect, R> Inspect for RawOram<S, P, R> {
    /// The headers that are held are stale in the store; the payloads that they name are there.
    fn inspect(&self) -> Option<Inspection> {
        let map = self.positions.inspect()?;
        let state = self.state.borrow();
        let held = &state.work.held;
        // An operation that has taken them leaves buckets of no bytes.
        if held.entry_bytes() == 0 {
            return None;
        }
        Some(Inspection {
            stash: inspect::stash(&state.stash),
            stale: held.buckets().to_vec(),
            counters: alloc::vec![
                ("accesses", state.schedule.accesses),
                ("evictions", state.schedule.evictions)
            ],
            ..map
        })
    }
}
