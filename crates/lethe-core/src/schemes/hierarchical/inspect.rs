//! A look at the trusted state of a hierarchical ORAM.

use super::HierarchicalOram;
use crate::inspect::{Inspect, Inspection};

impl<S, R> Inspect for HierarchicalOram<S, R> {
    fn inspect(&self) -> Option<Inspection> {
        let epoch = self.epoch.borrow();
        Some(Inspection {
            levels: epoch.hashes.iter().map(Option::is_some).collect(),
            counters: alloc::vec![("epoch", epoch.number), ("copies in the buffer", epoch.held)],
            ..Inspection::default()
        })
    }
}
