//! A Circuit ORAM continues from its snapshot as if nothing had happened, and from no other bytes.

use super::setup::*;
use crate::conformance::snapshots::assert_contradicting_parts_refused;
use ameles_core::schemes::circuit::CircuitParameters;
use ameles_core::testing::TraceStore;

#[test]
fn a_snapshot_whose_parts_contradict_one_another_is_refused() {
    let parameters = CircuitParameters { block_bytes: 0, capacity: 4, ..parameters(1, 0) };
    let store = TraceStore::new(parameters.layout());
    let oram = flat_circuit(&parameters, &store, 1);
    assert_contradicting_parts_refused((&oram, &store, &parameters), &[]);
}
