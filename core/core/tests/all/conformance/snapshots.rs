//! A scheme continues from its snapshot as if nothing had happened, and from no other bytes.

use super::parameters::SchemeParameters;
use super::runs::{read_whatever_comes, run};
use super::{Scheme, check, split};
use crate::model::setup::{batches, rng};
use ameles_core::oram::{Access, Oram};
use ameles_core::snapshot::full::{FullSnapshot, SnapshotError};
use ameles_core::testing::{ArrayModel, Executor, Operation, TraceStore, TraceStoreError, finish_now};
use ameles_core::types::BlockId;
use borsh::BorshSerialize;
use proptest::prelude::*;
use proptest::sample::Index;
use rand_chacha::ChaCha8Rng;
use std::rc::Rc;

/// Returns the bytes of a scheme's snapshot.
pub(crate) fn bytes<O: FullSnapshot<ChaCha8Rng>>(oram: &O) -> Vec<u8> {
    let Ok(snapshot) = oram.snapshot() else { panic!("something is in flight") };
    borsh::to_vec(&snapshot).expect("bytes")
}

/// Restores a scheme from bytes, unless they are refused.
pub(crate) fn restored<O: FullSnapshot<ChaCha8Rng>>(bytes: &[u8], store: O::Store, seed: u64) -> Option<O> {
    O::restore(borsh::from_slice(bytes).ok()?, store, rng(seed)).ok()
}

/// A change of a snapshot's bytes, with the reason why it is refused.
pub(crate) type Change<'a> = (&'a str, &'a dyn Fn(&mut [u8]));

/// Asserts that a snapshot is restored as it is, and refused after each of these changes, for the reason given.
pub(crate) fn assert_contradictions_refused<O: FullSnapshot<ChaCha8Rng, Store: Clone>>(
    oram: &O,
    store: O::Store,
    changes: &[Change<'_>],
) {
    let snapshot = bytes(oram);
    assert!(restored::<O>(&snapshot, store.clone(), 1).is_some());
    for (reason, change) in changes {
        let mut changed = snapshot.clone();
        change(&mut changed);
        assert!(restored::<O>(&changed, store.clone(), 1).is_none(), "{reason}");
    }
}

/// Asserts that a snapshot is refused if its parts contradict one another: in parameters, positions or schedule, or
/// after each of these changes. The ORAM has four blocks of no bytes, all in its stash.
pub(crate) fn assert_contradicting_parts_refused<P: BorshSerialize, O>(
    (oram, store, parameters): (&O, O::Store, &P),
    more: &[Change<'_>],
) where
    O: FullSnapshot<ChaCha8Rng, Store: Clone>,
{
    let mut model = ArrayModel::new(4, 0);
    finish_now(model.batch(oram, &[0, 1, 2, 3].map(|block| Operation::Read(BlockId(block)))));
    assert!(oram.pending_steps() > 0, "all blocks are in the stash");
    // The parts are found by their places: the parameters are first, then the positions, and the schedule is last.
    let positions = borsh::to_vec(parameters).expect("bytes").len() + 4;
    let last = bytes(oram).len() - 1;
    let changes: [Change<'_>; 4] = [
        ("a block mapped to no leaf of the tree", &|bytes| bytes[positions] = 3),
        ("a block in the stash that is not mapped", &|bytes| bytes[positions] = 0),
        ("positions of more blocks than there are", &|bytes| bytes[0] = 3),
        ("more evictions outside of the schedule than evictions", &|bytes| bytes[last] = 1),
    ];
    assert_contradictions_refused(oram, store, &[&changes, more].concat());
}

impl<P, O> Scheme<P, O>
where
    P: SchemeParameters + PartialEq,
    O: FullSnapshot<ChaCha8Rng, Store = Rc<TraceStore>> + Oram<Error = TraceStoreError>,
{
    /// Checks the promises of a scheme, and those of its snapshots; `parameters` returns those of a scheme.
    pub(crate) fn conforms_with_snapshots(&self, parameters: fn(&O) -> &P) {
        self.conforms();
        self.goes_on_from_a_snapshot();
        self.has_no_snapshot_in_flight_or_after_a_failure();
        self.survives_any_bytes_of_a_snapshot(parameters);
    }

    /// A restored scheme shows the same trace as the one that continued, and loses nothing.
    fn goes_on_from_a_snapshot(&self) {
        let cases = self.with(|capacity| (batches(capacity), batches(capacity), any::<[u64; 2]>()));
        check(cases, |(parameters, (before, after, seeds))| {
            let (oram, store) = self.new_oram(&parameters, seeds[0]);
            let [before, after] = [before, after].map(|batches| split(&batches, oram.max_batch()));
            let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
            run(&oram, &mut model, &before);

            let copy = self.store(&parameters);
            copy.set_contents(&store.contents());
            let other: O = restored(&bytes(&oram), Rc::clone(&copy), seeds[1]).expect("a sound snapshot");
            assert_eq!(bytes(&other), bytes(&oram));
            assert_eq!(other.pending_steps(), oram.pending_steps());

            oram.reseed(rng(seeds[1]));
            store.take_trace();
            run(&oram, &mut model.clone(), &after);
            run(&other, &mut model, &after);
            assert_eq!(store.take_trace(), copy.take_trace());
            assert_eq!(bytes(&other), bytes(&oram));
            finish_now(model.read_all(&other));
        });
    }

    /// Checks that there is no snapshot while an access or a step waits for the store, and none after it failed.
    fn has_no_snapshot_in_flight_or_after_a_failure(&self) {
        check(self.with(|_| (any::<u64>(), any::<bool>())), |(parameters, (seed, is_step))| {
            let (oram, store) = self.new_oram(&parameters, seed);
            finish_now(oram.access(&mut [Access::Dummy])).unwrap();
            store.hold_back(true);
            let mut executor = Executor::new();
            executor.spawn(async {
                drop(if is_step { oram.step().await } else { oram.access(&mut [Access::Dummy]).await });
            });
            executor.run();
            if store.pending() > 0 {
                assert!(matches!(oram.snapshot(), Err(SnapshotError::InFlight)));
                store.fail(0);
                executor.run();
                assert!(matches!(oram.snapshot(), Err(SnapshotError::Poisoned)));
            }
        });
    }

    /// A snapshot with a changed byte is refused or restored, and never makes the scheme panic.
    fn survives_any_bytes_of_a_snapshot(&self, parameters_of: fn(&O) -> &P) {
        let cases = self.with(|capacity| (batches(capacity), any::<u64>(), any::<Index>(), 1u8..));
        check(cases, |(parameters, (batches, seed, at, change))| {
            let (oram, store) = self.new_oram(&parameters, seed);
            let batches = split(&batches, oram.max_batch());
            run(&oram, &mut ArrayModel::new(oram.capacity(), oram.block_bytes()), &batches);
            let mut snapshot = bytes(&oram);
            let at = at.index(snapshot.len());
            snapshot[at] ^= change;
            // Other parameters may be sound, but this store is not theirs.
            let other = restored::<O>(&snapshot, store, seed);
            if let Some(other) = other.filter(|other| parameters_of(other) == &parameters) {
                read_whatever_comes(&other);
            }
        });
    }
}
