//! Ring ORAM's public schedule of writes, computed independently.

use super::super::driver::Event;
use super::super::trace_store::TraceEntry;
use super::observer::{Observations, Observer, ensure};
use super::ring_tree::Tree;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The observer for an adversary that sees writes only: the slices of evictions in their order, and now and then a
/// reshuffled bucket.
pub(super) struct SnapshotObserver {
    tree: Tree,
    /// The number of slices of evictions so far.
    turns: u64,
    observations: Observations,
}

impl SnapshotObserver {
    pub(super) fn new(tree: Tree) -> Self {
        SnapshotObserver { tree, turns: 0, observations: Observations::default() }
    }
}

impl Observer for SnapshotObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        let Event::StoreRequest(_, TraceEntry::Write(buckets)) = event else {
            return Ok(());
        };
        let changed: Vec<u64> = buckets.iter().map(|bucket| bucket.0).collect();
        // The slices of the first eviction write nothing, if there are several.
        let first = if self.tree.slices() == 1 { 0 } else { self.tree.slices() };
        self.turns = self.turns.max(first);
        if changed == self.tree.writes(self.turns) {
            self.turns += 1;
            self.observations.add("evictions", 1);
            return Ok(());
        }
        ensure(changed.len() == 1, || {
            format!("{changed:?} changed, which is neither an eviction's turn nor a single bucket")
        })?;
        self.observations.add("early reshuffles", 1);
        if self.tree.level(changed[0]) == self.tree.leaf_level {
            self.observations.add("early reshuffles of leaves", 1);
        }
        Ok(())
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
