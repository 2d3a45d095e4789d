//! A look at the trusted state of a hierarchical ORAM.

use super::HierarchicalOram;
use crate::inspect::{Inspect, Inspection};
use crate::store::Store;
use crate::types::Bucket;
use rand_core::RngCore;

impl<S: Store, R: RngCore> Inspect for HierarchicalOram<S, R> {
    /// Has the slots of the buffer as stale that hold what an earlier epoch wrote.
    fn inspect(&self) -> Option<Inspection> {
        let epoch = self.epoch.borrow();
        let parts = [(epoch.number, epoch.held), (epoch.number + 1, epoch.merging)];
        let holds: alloc::vec::Vec<Bucket> =
            parts.iter().flat_map(|(number, copies)| self.buffer(*number).take(*copies as usize)).collect();
        let slots = self.parameters.buffers() * u64::from(self.parameters.buffer);
        Some(Inspection {
            stale: (0..slots).map(|nth| self.bucket(nth)).filter(|slot| !holds.contains(slot)).collect(),
            levels: epoch.hashes.iter().map(Option::is_some).collect(),
            counters: alloc::vec![("epoch", epoch.number), ("copies in the buffer", epoch.held)],
            ..Inspection::default()
        })
    }
}
