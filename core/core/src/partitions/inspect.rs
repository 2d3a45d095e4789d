//! A look at the trusted state of partitions.

use super::Partitions;
use crate::inspect::{self, Inspect, Inspection, Position};
use crate::types::{BlockId, Leaf};

impl<P: Inspect, R> Inspect for Partitions<P, R> {
    /// Joins the looks at all sub-ORAMs, in the order of their partitions. The stash is the cache, and what waits in
    /// them.
    fn inspect(&self) -> Option<Inspection> {
        let state = self.state.borrow();
        let position = |block| state.positions.get(block).map(|partition| Position::Partition(partition.0));
        let mut all = Inspection {
            stash: inspect::stash(&state.cache),
            positions: (0..state.positions.blocks()).map(BlockId).map(position).collect(),
            counters: alloc::vec![("accesses", state.accesses), ("evictions of the sweep", state.swept)],
            ..Inspection::default()
        };
        for (partition, at) in self.partitions.iter().zip(0..) {
            let mut one = partition.sub_oram.inspect()?;
            one.stash.iter_mut().for_each(|waiting| waiting.leaf = Some(Leaf(at)));
            all.stash.append(&mut one.stash);
            all.stale.append(&mut one.stale);
            all.used.append(&mut one.used);
            all.levels.append(&mut one.levels);
        }
        Some(all)
    }
}
