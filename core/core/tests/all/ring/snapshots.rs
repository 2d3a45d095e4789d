//! A Ring ORAM continues from its snapshot as if nothing had happened, and from no other bytes.

use super::setup::*;
use crate::conformance::snapshots::{Change, assert_contradictions_refused, bytes, restored};
use ameles_core::oram::{Access, Oram};
use ameles_core::schemes::ring::{RingParameters, RingSnapshotError};
use ameles_core::snapshot::full::FullSnapshot;
use ameles_core::testing::{ArrayModel, Executor, Operation, finish_now};
use ameles_core::types::{BlockId, Level};
use proptest::prelude::*;
use proptest::sample::Index;

proptest! {
    #[test]
    fn ring_oram_goes_on_from_a_snapshot_as_if_nothing_had_happened(
        (parameters, batches) in with_batches(small()), order in order(), seed: u64, cut: Index,
    ) {
        let (before, after) = batches.split_at(cut.index(batches.len() + 1));
        let store = store_for(&parameters);
        let ring = flat_ring(&parameters, &store, seed);
        let mut model = ArrayModel::new(parameters.capacity, parameters.block_bytes as usize);
        interleave(&ring, &store, &mut model, before, &order);

        let snapshot = bytes(&ring);
        let other_store = store_for(&parameters);
        other_store.set_contents(&store.contents());
        let other: FlatRing<_> = restored(&snapshot, &other_store, !seed).expect("a sound snapshot");
        prop_assert_eq!(bytes(&other), snapshot);
        ring.reseed(rng(!seed));

        let mut other_model = model.clone();
        let events = interleave(&ring, &store, &mut model, after, &order);
        prop_assert_eq!(interleave(&other, &other_store, &mut other_model, after, &order), events);
        prop_assert_eq!(bytes(&other), bytes(&ring));
        assert_nothing_lost(&other, &mut other_model);
    }
}

#[test]
fn there_is_no_snapshot_while_anything_is_in_flight() {
    let parameters = RingParameters::for_capacity(64, 3, 24, 4);
    let store = store_for(&parameters);
    let ring = flat_ring(&parameters, &store, 1);
    let mut model = ArrayModel::new(64, 3);
    finish_now(async {
        for block in 0..64 {
            model.batch(&ring, &[Operation::Write(BlockId(block), 1)]).await;
            while ring.must_step() {
                ring.step().await.expect("the step");
            }
        }
    });
    assert!(ring.pending_steps() > 0);
    store.hold_back(true);
    let in_flight = |executor: &mut Executor<'_>| {
        executor.run();
        while executor.unfinished() > 0 {
            assert!(matches!(ring.snapshot(), Err(RingSnapshotError::InFlight)));
            store.complete(0);
            executor.run();
        }
        assert!(ring.snapshot().is_ok());
    };
    let mut executor = Executor::new();
    // Dummies pin no block, but may take real ones instead of dummy slots.
    executor.spawn(async { ring.access(&mut [Access::Dummy, Access::Dummy]).await.expect("the access") });
    in_flight(&mut executor);
    executor.spawn(async { ring.step().await.expect("the step") });
    in_flight(&mut executor);
}

#[test]
fn a_snapshot_whose_parts_contradict_one_another_is_refused() {
    // Found by their place: a capacity of 5 blocks of no bytes, on one bucket.
    let parameters =
        RingParameters { leaf_level: Level(0), top: Level(0), ..RingParameters::for_capacity(5, 0, 1, 1) };
    let store = store_for(&parameters);
    let ring = flat_ring(&parameters, &store, 1);
    let mut model = ArrayModel::new(5, 0);
    finish_now(model.read_all(&ring));
    let positions = borsh::to_vec(&parameters).expect("bytes").len() + 4;
    let changes: [Change<'_>; 3] = [
        ("a block mapped to no leaf of the tree", &|bytes| bytes[positions] += 1),
        ("a block in the tree that is not mapped", &|bytes| bytes[positions] = 0),
        ("positions of more blocks than there are", &|bytes| bytes[0] = 4),
    ];
    assert_contradictions_refused(&ring, &store, &changes);
}
