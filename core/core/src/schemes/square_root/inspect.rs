//! A look at the trusted state of a Square-Root ORAM.

use super::{SquareRootOram, State};
use crate::inspect::{Inspect, Inspection, Position};
use crate::types::{BlockId, Bucket};

impl<S, R> Inspect for SquareRootOram<S, R> {
    fn inspect(&self) -> Option<Inspection> {
        self.epochs.with_state(|state| self.inspect_state(state))
    }
}

impl<S, R> SquareRootOram<S, R> {
    fn inspect_state(&self, state: &State<R>) -> Inspection {
        let place = |block| {
            let copy = state.shelter.iter().rposition(|held| *held == Some(BlockId(block)));
            let place = match copy {
                Some(copy) => self.parameters.permuted() + copy as u64,
                None => state.permutation.place(block),
            };
            Some(Position::Bucket(Bucket(self.first_bucket.0 + place)))
        };
        Inspection {
            positions: (0..self.parameters.capacity).map(place).collect(),
            counters: alloc::vec![("copies in the shelter", state.shelter.len() as u64)],
            ..Inspection::default()
        }
    }
}
