//! Path ORAM when the stash fills up. Every planned bucket size keeps working. A bound that is too tight costs
//! background evictions, never an answer.

use super::setup::*;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::path::{PathOram, PathParameters, PathParametersError};
use ameles_core::testing::{ArrayModel, ArrayStore, Operation, TraceEntry, TraceStore, finish_now};
use ameles_core::types::{BlockId, Bucket, Level};

/// A number of batches above that which a vault of buckets of two once survived.
const BATCHES: u64 = 2500;

/// A full vault whose stash has room for a largest batch and `spare` blocks that wait.
fn tight(top: u32, spare: u32) -> PathParameters {
    let levels = 6 - top;
    PathParameters {
        capacity: 128,
        block_bytes: 5,
        leaf_level: Level(5),
        top: Level(top),
        blocks_per_bucket: 4,
        max_batch: MAX_BATCH,
        stash_bound: MAX_BATCH * (4 * levels + 1) + spare,
    }
}

/// Does what must come before the next access, and checks that it ends.
fn make_ready(oram: &impl Oram) {
    let steps = (0..1000).take_while(|_| oram.must_step());
    steps.for_each(|_| {
        assert!(oram.pending_steps() > 0, "no step is pending");
        finish_now(oram.step()).expect("the step");
    });
    assert!(!oram.must_step(), "idle makes no room");
}

#[test]
fn a_full_vault_of_every_small_bucket_size_needs_no_emergency() {
    // Large tops leave only the leaf's bucket in the store; small ones leave it many levels to go up.
    for (blocks, capacity, trusted) in [3, 4, 5, 8].into_iter().flat_map(|z| [(z, 4096, 2600), (z, 1024, 0)])
    {
        let parameters = PathParameters::for_buckets_of(blocks, capacity, 0, trusted, 16).unwrap();
        let store = ArrayStore::new(&parameters.layout());
        let positions = FlatPositionMap::new(Positions::new(capacity));
        let oram = PathOram::new(parameters.clone(), Bucket(0), store, positions, rng(1)).unwrap();
        for nth in 0..BATCHES {
            make_ready(&oram);
            let mut nothing = [[0; 0]; 16];
            let requested = nothing.iter_mut().zip(nth * 16..);
            let mut batch: Vec<_> =
                requested.map(|(into, block)| Access::Read(BlockId(block % capacity), into)).collect();
            finish_now(oram.access(&mut batch)).unwrap();
        }
        assert_eq!(oram.emergencies(), 0, "{parameters:?}");
    }
}

#[test]
fn a_tight_stash_costs_background_evictions_and_no_answer() {
    for (top, spare, eager) in [(0, 0, true), (2, 3, true), (2, 3, false), (5, 60, true)] {
        let parameters = tight(top, spare);
        let store = TraceStore::new(parameters.layout());
        let oram = flat_path(&parameters, &store, 1);
        let mut model = ArrayModel::new(parameters.capacity, 5);
        for nth in 0..3000u64 {
            make_ready(&oram);
            let block = |at| BlockId((nth * 6 + at) % parameters.capacity);
            let batch: Vec<Operation> = (0..nth % 7)
                .map(|at| {
                    if nth % 3 == 0 {
                        Operation::Read(block(at))
                    } else {
                        Operation::Write(block(at), nth as u8)
                    }
                })
                .collect();
            finish_now(model.batch(&oram, &batch));
            assert!(oram.stash_blocks() <= parameters.stash_bound as usize);
            while eager && oram.pending_steps() > 0 {
                finish_now(oram.step()).unwrap();
            }
        }
        make_ready(&oram);
        finish_now(model.read_all(&oram));
        assert!(oram.emergencies() > 0, "{parameters:?}");
    }
}

#[test]
fn a_background_eviction_reads_a_path_and_writes_it_back() {
    let parameters = tight(2, 3);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_path(&parameters, &store, 1);
    let mut model = ArrayModel::new(parameters.capacity, 5);
    let mut leaves = [0; 32];
    for nth in 0..20_000 {
        finish_now(model.batch(&oram, &[Operation::Write(BlockId(nth % 128), 1)]));
        finish_now(oram.step()).unwrap();
        store.take_trace();
        while oram.must_step() {
            let refused = finish_now(oram.access(&mut [Access::Dummy]));
            assert!(matches!(refused, Err(OramError::Backlogged)));
            assert_eq!(store.take_trace(), [], "a refusal shows nothing");
            let before = oram.emergencies();
            finish_now(oram.step()).unwrap();
            assert_eq!(oram.emergencies(), before + 1);
            let trace = store.take_trace();
            let [TraceEntry::Read(read), TraceEntry::Write(written)] = &trace[..] else {
                panic!("{trace:?}")
            };
            assert!(read.iter().map(|slot| slot.bucket).eq(written.iter().copied()));
            assert_eq!(read.len(), 4);
            leaves[written[3].0 as usize - (4 + 8 + 16)] += 1;
        }
    }
    let all: u32 = leaves.iter().sum();
    assert!(all > 640 && leaves.iter().all(|times| (all / 64..all / 16).contains(times)), "{leaves:?}");
}

#[test]
fn buckets_that_keep_no_stash_bounded_are_refused_with_what_to_do() {
    for blocks in [1, 2] {
        let refused = PathParameters::for_buckets_of(blocks, 40_000, 64, 2500, 16).unwrap_err();
        assert_eq!(refused, PathParametersError::BucketsTooSmall { blocks_per_bucket: blocks });
        assert!(refused.to_string().contains("set blocks_per_bucket to 4 or more"), "{refused}");
    }
    let refused = PathParameters::for_buckets_of(3, 40_000, 64, 0, 16).unwrap_err();
    assert_eq!(refused, PathParametersError::TreeTooHigh { levels: 15 });
    assert!(refused.to_string().contains("more trusted memory"), "{refused}");
}

#[test]
fn parameters_that_earlier_versions_planned_are_good() {
    for (capacity, leaf_level, top, stash_bound) in
        [(40_000, 14, 11, 3510), (3, 0, 0, 263), (1 << 20, 18, 0, 2567)]
    {
        for blocks_per_bucket in [4, 8] {
            let parameters = PathParameters {
                capacity,
                block_bytes: 4096,
                leaf_level: Level(leaf_level),
                top: Level(top),
                blocks_per_bucket,
                max_batch: 16,
                stash_bound,
            };
            assert_eq!(parameters.validate(), Ok(()), "{parameters:?}");
        }
    }
}
