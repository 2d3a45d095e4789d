//! A Circuit ORAM goes on from its snapshot as if nothing had happened, and from no other bytes.

use super::setup::*;
use crate::conformance::snapshots::{Change, assert_contradictions_refused, bytes};
use ameles_core::oram::Oram;
use ameles_core::schemes::circuit::CircuitParameters;
use ameles_core::testing::{ArrayModel, Operation, TraceStore, finish_now};
use ameles_core::types::BlockId;

#[test]
fn a_snapshot_whose_parts_contradict_one_another_is_refused() {
    // Found by their place: seven parameters of 40 bytes, then the positions.
    let parameters = CircuitParameters { block_bytes: 0, capacity: 4, ..parameters(1, 0) };
    let store = TraceStore::new(parameters.layout());
    let oram = flat_circuit(&parameters, &store, 1);
    let mut model = ArrayModel::new(4, 0);
    finish_now(model.batch(&oram, &[0, 1, 2, 3].map(|block| Operation::Read(BlockId(block)))));
    assert!(oram.pending_steps() > 0, "all blocks are in the stash");
    let positions = borsh::to_vec(&parameters).expect("bytes").len() + 4;
    let last = bytes(&oram).len() - 1;
    let changes: [Change<'_>; 4] = [
        ("a block mapped to no leaf of the tree", &|bytes| bytes[positions] = 3),
        ("a block in the stash that is not mapped", &|bytes| bytes[positions] = 0),
        ("positions of more blocks than there are", &|bytes| bytes[0] = 3),
        ("more evictions outside of the schedule than evictions", &|bytes| bytes[last] = 1),
    ];
    assert_contradictions_refused(&oram, &store, &changes);
}
