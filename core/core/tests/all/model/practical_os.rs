//! Tests of PracticalOS beyond right answers.

use super::setup::*;
use ameles_core::schemes::practical_os::PracticalOsParameters;
use ameles_core::test_refusals;
use ameles_core::testing::{ArrayModel, Operation, TraceStore, finish_now};
use ameles_core::types::BlockId;

const PARAMETERS: PracticalOsParameters =
    PracticalOsParameters { capacity: 100, block_bytes: 5, cache: 10, run_blocks: 30, max_batch: MAX_BATCH };

#[test]
fn costs_are_as_documented() {
    let store = TraceStore::new(PARAMETERS.layout());
    let oram = practical_os(&PARAMETERS, &store, 1);
    let mut model = ArrayModel::new(100, 5);
    for batch in [2, 2, 1] {
        finish_now(model.batch(&oram, &vec![Operation::Read(BlockId(7)); batch]));
        let trace = store.take_trace();
        assert_eq!((trace.len(), traffic(&trace)), (1, (batch, 0)));
    }
    // Four runs of 30 records: each by itself, and twice in the five comparators of merge exchange.
    assert_eq!(PARAMETERS.runs(), 4);
    let moved = (4 + 2 * 5) * 30;
    assert_rebuilds(&oram, &store, moved);
    assert_eq!(oram.trusted_bytes(), 110 * 4 + 10 * (16 + 16 + 5));
}

#[test]
fn the_papers_client_holds_twice_the_root_of_the_blocks() {
    for (capacity, cache) in [(1, 6), (36, 6), (37, 7), (100, 10), (1 << 20, 1 << 10)] {
        let parameters = PracticalOsParameters::for_capacity(capacity, 1, MAX_BATCH);
        parameters.validate().unwrap();
        assert_eq!(parameters.cache, cache);
        // Two runs are held in addition to the cache.
        assert!(parameters.cache + 2 * parameters.run_blocks <= 2 * cache);
    }
}

test_refusals! { PARAMETERS,
    ("capacity is 4294967296", |p| p.capacity = 1 << 32),
    ("cache is 5", |p| p.cache = 5),
    ("run_blocks is 0", |p| p.run_blocks = 0),
}
