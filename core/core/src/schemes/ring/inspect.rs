//! A look at the trusted state of a Ring ORAM.

use super::RingOram;
use crate::inspect::{self, Inspect, Inspection};
use crate::store::Store;
use crate::types::{BlockId, Bucket, Slot};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

impl<S: Store, P: Inspect, R> Inspect for RingOram<S, P, R> {
    fn inspect(&self) -> Option<Inspection> {
        let map = self.positions.inspect()?;
        let state = self.state.borrow();
        let metadata = &state.metadata;
        let mut used = Vec::new();
        let mut placed: Vec<(Slot, BlockId)> = Vec::new();
        let held: Vec<Bucket> =
            self.slices.held(&state.schedule, &self.tree).into_iter().map(|(_, bucket)| bucket).collect();
        for (level, bucket) in self.tree.all_buckets().filter(|(_, bucket)| !held.contains(bucket)) {
            let unread = |real| metadata.unread(&self.tree, level, bucket, real);
            let left: BTreeSet<Slot> = unread(true).chain(unread(false)).collect();
            let all = (0..self.tree.shape(level).slots).map(|index| Slot { bucket, index });
            used.extend(all.filter(|slot| !left.contains(slot)));
            placed.extend(
                unread(true).filter_map(|slot| Some((slot, metadata.block(&self.tree, level, slot)?))),
            );
        }
        Some(Inspection {
            stash: inspect::stash(&state.stash),
            used,
            placed: Some(placed),
            stale: held,
            counters: alloc::vec![
                ("accesses", state.schedule.accesses),
                ("evictions", self.slices.turn(state.schedule.begun).eviction),
                ("buckets to reshuffle", state.worn.len() as u64),
            ],
            ..map
        })
    }
}
