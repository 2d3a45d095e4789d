//! A look at the trusted state of a PracticalOS.

use super::{PracticalOs, State};
use crate::inspect::{Inspect, Inspection, Position, TrustedBlock};
use crate::tree::block_header::HEADER_BYTES;
use crate::types::Bucket;

impl<S, R> Inspect for PracticalOs<S, R> {
    fn inspect(&self) -> Option<Inspection> {
        self.epochs.with_state(|state| self.inspect_state(state))
    }
}

impl<S, R> PracticalOs<S, R> {
    fn inspect_state(&self, state: &State<R>) -> Inspection {
        let slot_bytes = self.parameters.slot_bytes();
        let stash = state.cached.iter().map(|(block, at)| TrustedBlock {
            block: *block,
            leaf: None,
            payload: state.cache[at * slot_bytes + HEADER_BYTES..(at + 1) * slot_bytes].to_vec(),
        });
        let place = |block| Bucket(self.first_bucket.0 + state.permutation.place(block));
        Inspection {
            stash: stash.collect(),
            positions: (0..self.parameters.capacity)
                .map(|block| Some(Position::Bucket(place(block))))
                .collect(),
            counters: alloc::vec![("accesses of the epoch", state.served)],
            ..Inspection::default()
        }
    }
}
