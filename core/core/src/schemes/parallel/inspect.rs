//! A look at the trusted state of an oblivious parallel RAM.

use super::ParallelOram;
use crate::inspect::{Inspect, Inspection, TrustedBlock, leaves};
use crate::network::Processor;
use crate::position_map::flat::FlatPositionMap;
use crate::store::Store;
use crate::types::Leaf;
use alloc::vec::Vec;

impl<S: Store, N, R> Inspect for ParallelOram<S, N, FlatPositionMap<S::Error>, R> {
    /// Gives the blocks of all processors, one after the other: a block is with the processor of its leaf's subtree.
    /// Leaves are those of the whole tree.
    fn inspect(&self) -> Option<Inspection> {
        let state = self.state.borrow();
        let parts = &state.as_ref()?.parts;
        let mut stash: Vec<TrustedBlock> = Vec::new();
        for (processor, part) in (0..).map(Processor).zip(parts) {
            let first = u64::from(processor.0) * self.parameters.subtree(processor).leaves();
            let of_whole_tree = |leaf: Leaf| Leaf(first + leaf.0);
            stash.extend(
                part.inspect()
                    .into_iter()
                    .map(|held| TrustedBlock { leaf: held.leaf.map(of_whole_tree), ..held }),
            );
        }
        Some(Inspection {
            stash,
            positions: self.positions.with_positions(leaves),
            stale: parts.iter().flat_map(|part| part.held_buckets()).copied().collect(),
            counters: alloc::vec![("emergencies", self.emergencies.get())],
            ..Inspection::default()
        })
    }
}
