//! A look at the trusted state of a RAW ORAM.

use super::RawOram;
use crate::inspect::{self, Inspect, Inspection};
use crate::store::Store;

impl<S: Store, P: Inspect, R> Inspect for RawOram<S, P, R> {
    /// The headers that are held are stale in the store; the payloads that they name are there.
    fn inspect(&self) -> Option<Inspection> {
        let map = self.positions.inspect()?;
        let state = self.state.borrow();
        inspect::with_held_buckets(map, &state.stash, &state.work.held, &state.schedule)
    }
}
