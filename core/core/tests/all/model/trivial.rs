//! Tests of Trivial ORAM beyond right answers.

use super::setup::*;
use ameles_core::schemes::trivial::{TrivialOram, TrivialParameters};
use ameles_core::test_refusals;
use ameles_core::testing::{ArrayModel, Executor, Operation, TraceEntry, TraceStore, finish_now};
use ameles_core::types::{BlockId, Bucket, Slot};

const PARAMETERS: TrivialParameters =
    TrivialParameters { capacity: 10, block_bytes: 3, chunk_blocks: 4, max_batch: MAX_BATCH };

#[test]
fn every_batch_shows_the_same_scan() {
    let store = TraceStore::new(PARAMETERS.layout());
    let oram = TrivialOram::new(PARAMETERS, Bucket(0), &store).unwrap();
    let chunk = |blocks: std::ops::Range<u64>| {
        let buckets: Vec<Bucket> = blocks.map(Bucket).collect();
        let slots = buckets.iter().map(|bucket| Slot { bucket: *bucket, index: 0 }).collect();
        [TraceEntry::Read(slots), TraceEntry::Write(buckets)]
    };
    let scan = [chunk(0..4), chunk(4..8), chunk(8..10)].concat();
    let mut model = ArrayModel::new(10, 3);
    let (read, write) = (Operation::Read(BlockId(9)), Operation::Write(BlockId(0), 7));
    for batch in [vec![read], vec![write], vec![Operation::Dummy; 6], vec![write, read, write, read]] {
        finish_now(model.batch(&oram, &batch));
        assert_eq!(store.take_trace(), scan);
    }
    finish_now(model.batch(&oram, &[]));
    assert_eq!(store.take_trace(), []);
}

#[test]
fn scans_begun_side_by_side_come_one_after_the_other() {
    let store = TraceStore::new(PARAMETERS.layout());
    let oram = TrivialOram::new(PARAMETERS, Bucket(0), &store).unwrap();
    let mut model = ArrayModel::new(10, 3);
    store.hold_back(true);
    let mut executor = Executor::new();
    let (read, write) = (Operation::Read(BlockId(9)), Operation::Write(BlockId(9), 7));
    for operation in [write, read, read] {
        executor.spawn(model.prepare(&[operation]).run(&oram));
    }
    executor.run();
    for _ in 0..3 * 6 {
        assert_eq!(store.pending(), 1);
        store.complete(0);
        executor.run();
    }
    assert_eq!(executor.unfinished(), 0);
}

test_refusals! { PARAMETERS, ("chunk_blocks is 0", |p| p.chunk_blocks = 0) }
