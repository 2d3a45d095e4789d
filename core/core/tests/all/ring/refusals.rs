//! The refusals of Ring ORAM, which change nothing, and its failures, which stop it permanently.

use super::setup::*;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::position_map::{Lookup, PositionMap};
use ameles_core::schemes::ring::{RingBucket, RingOram, RingParameters};
use ameles_core::snapshot::full::FullSnapshot;
use ameles_core::testing::{
    ArrayModel, Executor, Operation, TraceStore, TraceStoreError, finish_now, settle, small_ring,
};
use ameles_core::types::{BlockId, Bucket, Leaf, Level, Slot};
use proptest::prelude::*;
use rand_chacha::rand_core::RngCore;
use std::cell::RefCell;

/// Four subtrees of seven buckets.
fn parameters() -> RingParameters {
    RingParameters {
        block_bytes: 3,
        top: Level(2),
        inner: RingBucket { blocks: 4, slots: 12 },
        leaf: RingBucket { blocks: 10, slots: 16 },
        ..small_ring(10)
    }
}

fn state<S, R>(ring: &RingOram<S, FlatPositionMap<S::Error>, R>) -> Vec<u8>
where
    S: ameles_core::store::Store,
    R: RngCore,
{
    borsh::to_vec(&ring.snapshot().expect("nothing is in flight")).expect("bytes")
}

fn write_all(ring: &FlatRing<&TraceStore>, model: &mut ArrayModel) {
    finish_now(async {
        for block in 0..ring.capacity() {
            settle(ring).await;
            model.batch(ring, &[Operation::Write(BlockId(block), block as u8)]).await;
        }
    });
}

proptest! {
    #[test]
    fn a_driver_that_forgets_pending_work_is_refused_before_anything_changes(
        (parameters, batches) in with_batches(small()), seed: u64,
    ) {
        let store = store_for(&parameters);
        let ring = flat_ring(&parameters, &store, seed);
        let mut model = ArrayModel::new(parameters.capacity, parameters.block_bytes as usize);
        for batch in batches.iter().cycle().take(4 * batches.len()) {
            let before = (state(&ring), ring.must_step());
            store.take_trace();
            let prepared = model.prepare(batch);
            match finish_now(prepared.try_run(&ring)) {
                Ok(()) => prop_assert!(!before.1),
                Err(OramError::Backlogged) => {
                    prop_assert!(before.1);
                    prop_assert_eq!(store.take_trace(), []);
                    prop_assert_eq!(&state(&ring), &before.0);
                    while ring.must_step() {
                        finish_now(ring.step()).expect("the step");
                    }
                    finish_now(prepared.run(&ring));
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
        assert_nothing_lost(&ring, &mut model);
    }

    #[test]
    fn no_bytes_in_the_store_make_ring_oram_panic(
        (parameters, batches) in with_batches(small()), seed: u64, tampering: Vec<(u64, u32, u8)>,
    ) {
        let store = store_for(&parameters);
        let ring = flat_ring(&parameters, &store, seed);
        let layout = parameters.geometry().layout();
        for (nth, batch) in batches.iter().enumerate() {
            if let Some((bucket, index, byte)) = tampering.get(nth) {
                let bucket = Bucket(bucket % layout.buckets());
                let index = index % layout.extent(bucket).slots;
                store.tamper(Slot { bucket, index }, |bytes| bytes.fill(*byte));
            }
            let mut payload = vec![[1u8; 9]; batch.len()];
            let mut requested: Vec<Access<'_>> = batch
                .iter()
                .zip(&mut payload)
                .map(|(operation, payload)| match operation {
                    Operation::Read(block) => Access::Read(*block, &mut payload[..ring.block_bytes()]),
                    Operation::Write(block, _) => Access::Write(*block, &payload[..ring.block_bytes()]),
                    Operation::Dummy => Access::Dummy,
                })
                .collect();
            let lost = |outcome: Result<(), OramError<_>>| matches!(
                outcome,
                Err(OramError::Contradiction(_) | OramError::Poisoned)
            );
            while ring.must_step() {
                if lost(finish_now(ring.step())) {
                    return Ok(());
                }
            }
            if lost(finish_now(ring.access(&mut requested))) {
                return Ok(());
            }
        }
    }
}

/// Every leaf is the first one: no eviction finds room for long.
struct WorstCaseRng;

impl RngCore for WorstCaseRng {
    fn next_u32(&mut self) -> u32 {
        0
    }
    fn next_u64(&mut self) -> u64 {
        0
    }
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

#[test]
fn a_full_stash_refuses_before_anything_has_changed() {
    let parameters = RingParameters { capacity: 4096, ..RingParameters::for_capacity(4096, 3, 300, 4) };
    let store = store_for(&parameters);
    let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
    let ring = RingOram::new(parameters.clone(), &store, positions, WorstCaseRng).expect("valid parameters");
    let write = |block: u64| finish_now(ring.access(&mut [Access::Write(BlockId(block), &[7; 3])]));
    let mut written = 0;
    // As long as the pending work helps, do it.
    while written < parameters.capacity {
        let patience = (0..10_000).take_while(|_| ring.must_step());
        patience.for_each(|_| finish_now(ring.step()).expect("the step"));
        if ring.must_step() {
            break;
        }
        write(written).expect("there is room");
        written += 1;
    }
    assert!(ring.emergencies() > 0, "{written} blocks fit");
    let before = state(&ring);
    store.take_trace();
    // The bound leaves room for one largest batch before the emergency, no more.
    let held = ring.stash_blocks();
    assert_eq!(held + parameters.max_batch as usize, parameters.stash_bound as usize + 1);
    let mut full = [const { Access::Dummy }; 4];
    match finish_now(ring.access(&mut full)) {
        Err(OramError::StashFull { held: found, max }) => {
            assert_eq!((found, max as u64), (held, parameters.max_stash_blocks()));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(write(0), Err(OramError::Backlogged)));
    assert_eq!(store.take_trace(), []);
    assert_eq!(state(&ring), before);
}

#[test]
fn what_the_schedule_will_empty_calls_for_no_emergency() {
    let parameters = RingParameters {
        stash_bound: 110,
        ..RingParameters::for_rate(128, 3, 256, 64, 4).expect("all blocks have room")
    };
    let room = parameters.stash_bound - parameters.max_batch;
    assert!(room + 1 >= 3 * parameters.eviction_rate, "several evictions are due after the batch");
    let store = store_for(&parameters);
    let ring = flat_ring(&parameters, &store, 1);
    let mut model = ArrayModel::new(128, 3);
    let batch: Vec<Operation> =
        (0..u64::from(room) + 1).map(|nth| Operation::Write(BlockId(nth), 5)).collect();
    finish_now(model.batch(&ring, &batch));
    assert!(ring.stash_blocks() > room as usize, "there is no room for a largest batch");
    finish_now(settle(&ring));
    assert_eq!(ring.emergencies(), 0);
    assert_nothing_lost(&ring, &mut model);
}

fn filled(store: &TraceStore) -> (FlatRing<&TraceStore>, ArrayModel) {
    let parameters = parameters();
    let ring = flat_ring(&parameters, store, 1);
    let mut model = ArrayModel::new(ring.capacity(), ring.block_bytes());
    write_all(&ring, &mut model);
    finish_now(settle(&ring));
    (ring, model)
}

#[test]
fn accesses_begun_together_read_together_and_are_served_in_their_order() {
    let store = store_for(&parameters());
    let (ring, mut model) = filled(&store);
    store.hold_back(true);
    let mut executor = Executor::new();
    for operation in
        [Operation::Write(BlockId(0), 9), Operation::Read(BlockId(0)), Operation::Read(BlockId(1))]
    {
        executor.spawn(model.prepare(&[operation]).run(&ring));
    }
    executor.run();
    // The newest reads end first.
    for pending in [3, 2, 1] {
        assert_eq!((executor.ended(), store.pending()), (0, pending));
        store.complete(pending - 1);
        executor.run();
    }
    assert_eq!(executor.unfinished(), 0);
}

#[test]
fn an_access_that_waits_for_an_eviction_learns_that_it_failed() {
    let parameters =
        RingParameters { leaf_level: Level(0), top: Level(0), ..RingParameters::for_capacity(8, 3, 1, 1) };
    assert_eq!(parameters.validate(), Ok(()), "one bucket, which every access meets");
    let store = store_for(&parameters);
    let ring = flat_ring(&parameters, &store, 1);
    finish_now(async {
        let rounds = 2 * u64::from(parameters.eviction_rate);
        for block in 0..rounds {
            ring.access(&mut [Access::Write(BlockId(block % 8), &[1; 3])]).await.expect("the access");
            if block + 1 < rounds {
                settle(&ring).await;
            }
        }
    });
    assert_eq!(ring.pending_steps(), 1);
    store.hold_back(true);
    let outcome = RefCell::new(None);
    let mut executor = Executor::new();
    executor.spawn(async { assert!(ring.step().await.is_err()) });
    executor.run();
    executor.spawn(async { *outcome.borrow_mut() = Some(ring.access(&mut [Access::Dummy]).await) });
    executor.run();
    assert_eq!(executor.unfinished(), 2, "the access waits for the eviction's reads");
    store.fail(0);
    executor.run();
    assert_eq!(executor.unfinished(), 0);
    assert!(matches!(outcome.take(), Some(Err(OramError::Poisoned))));
}

#[test]
fn a_store_operation_that_never_ends_holds_up_only_what_needs_it() {
    let store = store_for(&parameters());
    let (ring, mut model) = filled(&store);
    // An eviction is begun and never gets its reads.
    finish_now(async {
        while ring.pending_steps() == 0 {
            model.batch(&ring, &[Operation::Read(BlockId(1))]).await;
        }
    });
    store.hold_back(true);
    let mut executor = Executor::new();
    executor.spawn(async { ring.step().await.expect("the step") });
    executor.run();
    store.hold_back(false);
    let mut served = 0;
    while !ring.must_step() {
        let before = executor.ended();
        executor.spawn(model.prepare(&[Operation::Read(BlockId(served % 64))]).run(&ring));
        executor.run();
        if executor.ended() == before {
            break;
        }
        served += 1;
    }
    // Those that do not meet its path are served, until one does or the next eviction is due.
    assert!(served > 0, "nothing was served");
    store.complete(0);
    executor.run();
    assert_eq!(executor.unfinished(), 0);
    assert_nothing_lost(&ring, &mut model);
}

/// A position map that has every block on a leaf that the tree does not have.
struct OutOfTreePositions;

impl PositionMap for OutOfTreePositions {
    type Error = TraceStoreError;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<TraceStoreError>> {
        lookups.iter_mut().for_each(|lookup| lookup.old = Some(Leaf(1 << 40)));
        Ok(())
    }

    fn trusted_bytes(&self) -> usize {
        0
    }
}

#[test]
fn a_leaf_beyond_the_tree_is_refused_and_not_looked_for() {
    let parameters = parameters();
    let store = store_for(&parameters);
    let ring = RingOram::new(parameters, &store, OutOfTreePositions, rng(1)).expect("valid parameters");
    let refused = finish_now(ring.access(&mut [Access::Read(BlockId(0), &mut [0; 3])]));
    assert!(matches!(refused, Err(OramError::Contradiction(_))), "{refused:?}");
    assert_eq!(store.take_trace(), []);
}
