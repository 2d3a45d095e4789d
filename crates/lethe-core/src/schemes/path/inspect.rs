//! A look at the trusted state of a Path ORAM.

use super::PathOram;
use crate::inspect::{self, Inspect, Inspection};
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::store::Store;
use alloc::collections::BTreeSet;

impl<S, P, R> PathOram<S, P, R> {
    /// Looks at it, whatever its position map is; `positions` are those of that map.
    pub(in crate::schemes) fn inspect_with(&self, positions: &Positions) -> Inspection {
        let state = self.state.borrow();
        let held = state.held.iter().flat_map(|leaf| self.tree.path(*leaf));
        let stale: BTreeSet<_> = held.map(|(_, bucket)| bucket).collect();
        Inspection {
            stash: inspect::stash(&state.stash),
            positions: inspect::leaves(positions),
            stale: stale.into_iter().collect(),
            counters: alloc::vec![("paths held", state.held.len() as u64)],
            ..Inspection::default()
        }
    }
}

impl<S: Store, R> Inspect for PathOram<S, FlatPositionMap<S::Error>, R> {
    fn inspect(&self) -> Option<Inspection> {
        Some(self.positions.look(|positions| self.inspect_with(positions)))
    }
}
