//! Tests OPAM against an array. Right answers are all that it promises.

use super::setup::*;
use ameles_core::check_refusals;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::schemes::opam::{OpamOram, OpamParameters};
use ameles_core::store::Store;
use ameles_core::testing::{
    ArrayModel, Operation, TraceEntry, TraceStore, TraceStoreError, exercise, finish_now,
};
use ameles_core::types::{BlockId, Level};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

fn parameters(capacity: u64, leaf_level: u32, slots_per_bucket: u32) -> OpamParameters {
    OpamParameters {
        capacity,
        block_bytes: 3,
        leaf_level: Level(leaf_level),
        slots_per_bucket,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

pub(crate) fn opam<S: Store<Error = TraceStoreError>>(
    parameters: &OpamParameters,
    store: S,
    seed: u64,
) -> OpamOram<S, ChaCha8Rng> {
    OpamOram::new(parameters.clone(), store, rng(seed)).unwrap()
}

pub(crate) fn small() -> impl Strategy<Value = OpamParameters> {
    (0u32..6, 1u32..6).prop_flat_map(|(leaf_level, slots)| {
        let max = (u64::from(slots) * ((2 << leaf_level) - 1) * 3 / 4).max(1);
        (1..=max).prop_map(move |capacity| parameters(capacity, leaf_level, slots))
    })
}

/// The patterns: one page forever, sweeps both ways, a few pages in turn.
fn patterns(capacity: u64) -> Vec<Vec<Vec<Operation>>> {
    let fault = |out: u64, into: u64, seed: u64| {
        vec![Operation::Write(BlockId(out), seed as u8), Operation::Read(BlockId(into))]
    };
    let faults = |page: &dyn Fn(u64) -> u64| {
        (0..4 * capacity + 50).map(|nth| fault(page(nth), page(nth + 1), nth)).collect()
    };
    vec![
        faults(&|_| capacity - 1),
        faults(&|nth| nth % capacity),
        faults(&|nth| capacity - 1 - nth % capacity),
        faults(&|nth| nth % 3 % capacity),
    ]
}

#[test]
fn opam_answers_like_an_array_whatever_the_pattern() {
    for (capacity, leaf_level, slots) in [(1, 0, 2), (40, 3, 4), (40, 3, 5), (100, 5, 4)] {
        for (nth, batches) in patterns(capacity).iter().enumerate() {
            let store = TraceStore::new(parameters(capacity, leaf_level, slots).layout());
            let oram = opam(&parameters(capacity, leaf_level, slots), &store, nth as u64);
            exercise(&oram, batches, true);
        }
    }
}

#[test]
fn an_access_reads_one_slot_of_each_bucket_of_a_path_and_writes_the_same() {
    let parameters = OpamParameters::for_capacity(1000, 3).unwrap();
    assert_eq!((parameters.leaf_level, parameters.layout().buckets()), (Level(8), 4 * 511));
    let store = TraceStore::new(parameters.layout());
    let oram = opam(&parameters, &store, 1);
    let mut model = ArrayModel::new(1000, 3);
    let operations = [Operation::Write(BlockId(7), 1), Operation::Read(BlockId(8)), Operation::Dummy];
    for operation in operations.into_iter().cycle().take(30) {
        finish_now(model.batch(&oram, &[operation]));
        let trace = store.take_trace();
        let [TraceEntry::Read(read), TraceEntry::Write(written)] = &trace[..] else {
            panic!("{operation:?} showed {trace:?}");
        };
        assert_eq!(read.len(), 9);
        assert!(read.iter().map(|slot| slot.bucket).eq(written.iter().copied()));
    }
}

#[test]
fn the_planned_stash_holds_sweeps_of_a_tree_that_is_half_full() {
    let parameters = OpamParameters { block_bytes: 0, ..OpamParameters::for_capacity(1024, 0).unwrap() };
    let store = TraceStore::new(parameters.layout());
    store.record(false);
    let oram = opam(&parameters, &store, 1);
    let mut max = 0;
    for nth in 0..60_000 {
        finish_now(oram.access(&mut [Access::Read(BlockId(nth % 1024), &mut [])])).unwrap();
        max = max.max(oram.stash_blocks());
    }
    assert!((1..64).contains(&max), "{max} of at most {}", parameters.stash_bound);
}

#[test]
fn a_batch_that_could_exceed_the_stash_is_refused_before_anything_changes_and_idle_makes_room() {
    let mut parameters = parameters(30, 3, 4);
    parameters.stash_bound = 3 + 1 + MAX_BATCH + 2;
    let store = TraceStore::new(parameters.layout());
    let oram = opam(&parameters, &store, 3);
    let mut model = ArrayModel::new(30, 3);
    let mut refused = 0;
    for nth in 0..2000u64 {
        let batch: Vec<Operation> =
            (0..6).map(|more| Operation::Write(BlockId((nth * 6 + more) % 30), nth as u8)).collect();
        let prepared = model.prepare(&batch);
        store.take_trace();
        while let Err(error) = finish_now(prepared.try_run(&oram)) {
            let OramError::StashFull { held, max } = error else { panic!("{error}") };
            assert_eq!((held, max, store.take_trace()), (oram.stash_blocks(), 12, vec![]));
            finish_now(oram.step()).unwrap();
            assert_eq!(store.take_trace().len(), 2, "a dummy access");
            refused += 1;
            assert!(refused < 10_000, "idle makes no room");
        }
        assert_eq!(oram.emergencies(), refused);
    }
    assert!(refused > 0);
    for page in 0..30 {
        finish_now(model.batch(&oram, &[Operation::Read(BlockId(page)), Operation::Dummy]));
    }
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    check_refusals!(
        parameters(40, 3, 4),
        ("capacity is 46", |p| p.capacity = 46),
        ("leaf_level is 25", |p| p.leaf_level = Level(25)),
        ("slots_per_bucket is 0", |p| p.slots_per_bucket = 0),
        ("slots_per_bucket is 65", |p| p.slots_per_bucket = 65),
        ("stash_bound is 9", |p| p.stash_bound = 9)
    );
    assert!(OpamParameters::for_capacity(1 << 27, 4096).is_err());
}

#[test]
fn trusted_bytes_of_opam_are_map_table_stash_and_a_path() {
    let parameters = OpamParameters::for_capacity(16_384, 4096).unwrap();
    let store = TraceStore::new(parameters.layout());
    let oram = opam(&parameters, &store, 1);
    let min = 4 * 16_384 + 4 * 4 * ((2 << 12) - 1) + 13 * 4096;
    assert!((min..min + 2048).contains(&oram.trusted_bytes()), "{} of {min}", oram.trusted_bytes());
}
