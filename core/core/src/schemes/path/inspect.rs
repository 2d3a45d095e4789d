//! A look at the trusted state of a Path ORAM.

use super::PathOram;
use crate::inspect::{self, Inspect, Inspection};
use crate::store::Store;
use alloc::collections::BTreeSet;

impl<S: Store, P: Inspect, R> Inspect for PathOram<S, P, R> {
    fn inspect(&self) -> Option<Inspection> {
        let map = self.positions.inspect()?;
        let state = self.state.borrow();
        let held = state.held.iter().flat_map(|leaf| self.tree.path(*leaf));
        let stale: BTreeSet<_> = held.map(|(_, bucket)| bucket).collect();
        Some(Inspection {
            stash: inspect::stash(&state.stash),
            stale: stale.into_iter().collect(),
            counters: alloc::vec![("paths held", state.held.len() as u64)],
            ..map
        })
    }
}
