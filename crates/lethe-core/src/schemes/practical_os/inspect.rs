//! A look at the trusted state of a PracticalOS.

use super::PracticalOs;
use crate::block_header::HEADER_BYTES;
use crate::inspect::{Inspect, Inspection, Position, TrustedBlock};
use crate::words::Bucket;

impl<S, R> Inspect for PracticalOs<S, R> {
    fn inspect(&self) -> Option<Inspection> {
        let state = self.state.borrow();
        let state = state.as_ref()?;
        let slot_bytes = self.parameters.slot_bytes();
        let stash = state.cached.iter().map(|(block, at)| TrustedBlock {
            block: *block,
            leaf: None,
            payload: state.cache[at * slot_bytes + HEADER_BYTES..(at + 1) * slot_bytes].to_vec(),
        });
        let place = |block| Bucket(self.first_bucket.0 + state.permutation.place(block));
        Some(Inspection {
            stash: stash.collect(),
            positions: (0..self.parameters.capacity)
                .map(|block| Some(Position::Bucket(place(block))))
                .collect(),
            counters: alloc::vec![("accesses of the epoch", state.served)],
            ..Inspection::default()
        })
    }
}
