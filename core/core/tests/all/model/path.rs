//! Tests of Path ORAM beyond right answers. It refuses before it changes anything, continues from a
//! snapshot, and overlaps write-backs. It never answers from a poisoned state or a store that lies.

use super::setup::*;
use crate::conformance::runs::{assert_alike, run, written};
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::position_map::flat::FlatPositionMap;
use ameles_core::position_map::recursive::RecursivePositionMap;
use ameles_core::schemes::path::{PathOram, PathParameters, PathSnapshot, PathSnapshotError};
use ameles_core::testing::{ArrayModel, Executor, Operation, TraceEntry, TraceStore, finish_now, settle};
use ameles_core::types::{BlockId, Bucket, Level};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_recursive_map_goes_on_from_a_snapshot_as_if_nothing_had_happened(
        (parameters, map, before, after) in small_path()
            .prop_flat_map(|p| (Just(p.clone()), small_map(p.capacity), batches(p.capacity), batches(p.capacity))),
        seeds: [u64; 3],
    ) {
        let (first, layout) = (Bucket(parameters.layout().buckets()), with_map_layout(parameters.layout(), &map));
        let store = TraceStore::new(layout.clone());
        let oram = recursive_path((&parameters, &map), &store, seeds[0]);
        let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
        run(&oram, &mut model, &before);
        let snapshot = borsh::to_vec(&(oram.snapshot().unwrap(), oram.positions().snapshot().unwrap())).unwrap();

        let copy = TraceStore::new(layout);
        copy.set_contents(&store.contents());
        let (state, positions) = borsh::from_slice(&snapshot).unwrap();
        let positions =
            RecursivePositionMap::restore(&map, first, &copy, &mut rng(seeds[1]), &positions).unwrap();
        let state: PathSnapshot = state;
        let restored =
            PathOram::restore(parameters.clone(), Bucket(0), &copy, positions, rng(seeds[2]), &state).unwrap();

        oram.positions().reseed(&mut rng(seeds[1]));
        oram.reseed(rng(seeds[2]));
        assert_alike((&oram, &store), (&restored, &copy), model, &after);
    }
}

#[test]
fn reads_overlap_a_write_back_unless_they_meet_its_subtree() {
    let (store, oram) = recorded_path(&full_path(6, 3));
    let mut model = written(&oram);
    store.take_trace();
    store.hold_back(true);
    let subtree = |bucket: Bucket| match bucket.0 {
        0..8 => bucket.0,
        8..24 => (bucket.0 - 8) / 2,
        24..56 => (bucket.0 - 24) / 4,
        56.. => (bucket.0 - 56) / 8,
    };
    let (mut overlapped, mut waited) = (0, 0);
    for nth in 0..200 {
        let mut executor = Executor::new();
        executor.spawn(model.prepare(&[Operation::Read(BlockId(nth))]).run(&oram));
        executor.run();
        store.complete(0);
        executor.run();
        executor.spawn(async { oram.step().await.unwrap() });
        executor.spawn(model.prepare(&[Operation::Read(BlockId(nth + 7))]).run(&oram));
        executor.run();
        let at_once = store.pending() == 2;
        *(if at_once { &mut overlapped } else { &mut waited }) += 1;
        store.complete(0);
        executor.run();
        assert_eq!(store.pending(), 1, "only the read is left");
        store.complete(0);
        executor.run();
        assert_eq!(executor.unfinished(), 0);
        store.hold_back(false);
        finish_now(settle(&oram));
        store.hold_back(true);
        let trace = store.take_trace();
        let [TraceEntry::Read(_), TraceEntry::Write(written), TraceEntry::Read(read), TraceEntry::Write(_)] =
            &trace[..]
        else {
            panic!("{trace:?}")
        };
        assert_eq!(at_once, subtree(written[0]) != subtree(read[0].bucket));
    }
    assert!(overlapped > 150 && waited > 5, "{overlapped} overlapped, {waited} waited");
}

#[test]
fn whatever_is_begun_side_by_side_takes_turns() {
    let (store, oram) = recorded_path(&full_path(4, 2));
    let mut model = written(&oram);
    for nth in 0..100 {
        store.hold_back(true);
        let mut executor = Executor::new();
        for block in [nth % 64, 3, nth * 7 % 64, 3] {
            executor.spawn(model.prepare(&[Operation::Write(BlockId(block), nth as u8)]).run(&oram));
            executor.spawn(async { oram.step().await.unwrap() });
        }
        executor.run();
        while executor.unfinished() > 0 {
            assert!((1..=2).contains(&store.pending()), "at most a read beside a write");
            store.complete(store.pending() - 1);
            executor.run();
        }
        store.hold_back(false);
    }
    finish_now(model.read_all(&oram));
}

#[test]
fn an_access_that_waits_for_a_write_back_learns_that_it_failed() {
    let (store, oram) = recorded_path(&full_path(3, 0));
    let write = &mut [Access::Write(BlockId(1), &[1; 5])];
    finish_now(oram.access(write)).unwrap();
    store.hold_back(true);
    let mut executor = Executor::new();
    executor.spawn(async { assert!(matches!(oram.step().await, Err(OramError::Store(_)))) });
    executor.spawn(async {
        let error = oram.access(&mut [Access::Read(BlockId(1), &mut [0; 5])]).await.unwrap_err();
        assert!(matches!(error, OramError::Poisoned));
    });
    executor.run();
    assert_eq!((store.pending(), executor.unfinished()), (1, 2));
    store.fail(0);
    executor.run();
    assert_eq!(executor.unfinished(), 0);
}

#[test]
fn positions_of_another_moment_are_found_out() {
    let parameters = full_path(6, 6);
    let (store, oram) = recorded_path(&parameters);
    finish_now(oram.access(&mut [Access::Write(BlockId(1), &[1; 5])])).unwrap();
    let before = FlatPositionMap::new(oram.positions().snapshot());
    finish_now(oram.access(&mut [Access::Write(BlockId(1), &[2; 5])])).unwrap();
    let snapshot = oram.snapshot().unwrap();
    let poisoned = PathOram::restore(parameters, Bucket(0), &store, before, rng(2), &snapshot).unwrap();
    let outcome = finish_now(poisoned.access(&mut [Access::Read(BlockId(1), &mut [0; 5])]));
    assert!(matches!(outcome, Err(OramError::Contradiction("a block is not where the position map has it"))));
}

#[test]
fn a_snapshot_of_other_parameters_is_refused() {
    let small = full_path(3, 0);
    let (_, oram) = recorded_path(&small);
    finish_now(oram.access(&mut [Access::Write(BlockId(31), &[1; 5])])).unwrap();
    let snapshot = oram.snapshot().unwrap();
    for other in [
        PathParameters { capacity: 31, ..small.clone() },
        PathParameters { block_bytes: 4, ..small.clone() },
        PathParameters { capacity: 3, leaf_level: Level(0), ..small.clone() },
    ] {
        let store = TraceStore::new(other.layout());
        let positions = FlatPositionMap::new(oram.positions().snapshot());
        let refused = PathOram::restore(other, Bucket(0), &store, positions, rng(1), &snapshot).err();
        assert_eq!(refused, Some(PathSnapshotError::Mismatch));
    }
}
