//! Tests of Square-Root ORAM beyond right answers.

use super::setup::*;
use ameles_core::schemes::square_root::SquareRootParameters;
use ameles_core::test_refusals;
use ameles_core::testing::{ArrayModel, Operation, TraceStore, finish_now};
use ameles_core::types::BlockId;

const PARAMETERS: SquareRootParameters =
    SquareRootParameters { capacity: 100, block_bytes: 5, shelter: 10, run_blocks: 30, max_batch: MAX_BATCH };

#[test]
fn costs_are_as_documented() {
    let store = TraceStore::new(PARAMETERS.layout());
    let oram = square_root(&PARAMETERS, &store, 1);
    let mut model = ArrayModel::new(100, 5);
    for (before, batch) in [(0, 2), (2, 2), (4, 1)] {
        finish_now(model.batch(&oram, &vec![Operation::Read(BlockId(7)); batch]));
        let trace = store.take_trace();
        assert_eq!((trace.len(), traffic(&trace)), (2, (before + batch, batch)));
    }
    // Four runs of 30 records: each twice by itself, and twice in the five comparators of merge exchange.
    assert_eq!(PARAMETERS.runs(), 4);
    let moved = 2 * (4 + 2 * 5) * 30;
    assert_rebuilds(&oram, &store, moved);
    assert_eq!(oram.trusted_bytes(), 110 * 4 + 10 * 16);
}

#[test]
fn the_papers_shelter_has_as_many_slots_as_the_root_of_the_blocks() {
    for (capacity, shelter) in [(1, 6), (36, 6), (37, 7), (100, 10), (1 << 20, 1 << 10), (u64::MAX, u32::MAX)]
    {
        assert_eq!(SquareRootParameters::for_capacity(capacity, 1, 1, MAX_BATCH).shelter, shelter);
    }
}

test_refusals! { PARAMETERS,
    ("capacity is 4294967296", |p| p.capacity = 1 << 32),
    ("run_blocks is 0", |p| p.run_blocks = 0),
    ("shelter is 5", |p| p.shelter = 5),
}
