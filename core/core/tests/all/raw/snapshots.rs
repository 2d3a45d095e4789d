//! A RAW ORAM goes on from its snapshot as if nothing had happened, and from no other bytes.

use super::setup::*;
use crate::delta_copy::DeltaCopy;
use crate::model::setup::batches;
use crate::snapshots::read_whatever_comes;
use ameles_core::oram::Oram;
use ameles_core::schemes::raw::{RawOram, RawParameters, RawSnapshot};
use ameles_core::snapshot::full::FullSnapshot;
use ameles_core::testing::{ArrayModel, Operation, TraceStore, finish_now};
use ameles_core::types::BlockId;
use proptest::prelude::*;
use proptest::sample::Index;

fn bytes(oram: &FlatRaw<'_>) -> Vec<u8> {
    borsh::to_vec(&oram.snapshot().expect("nothing is in flight")).expect("bytes")
}

fn restored<'a>(bytes: &[u8], store: &'a TraceStore, seed: u64) -> Option<FlatRaw<'a>> {
    let snapshot: RawSnapshot = borsh::from_slice(bytes).ok()?;
    RawOram::restore(snapshot, store, rng(seed)).ok()
}

/// Runs batches, leaving what may be left undone.
fn run(oram: &FlatRaw<'_>, model: &mut ArrayModel, batches: &[Vec<Operation>]) {
    finish_now(async {
        for batch in batches {
            while oram.must_step() {
                oram.step().await.expect("idle works");
            }
            model.batch(oram, batch).await;
        }
    });
}

proptest! {
    #[test]
    fn raw_oram_goes_on_from_a_snapshot_as_if_nothing_had_happened(
        (parameters, before, after) in small()
            .prop_flat_map(|p| (Just(p.clone()), batches(p.capacity), batches(p.capacity))),
        seeds: [u64; 2],
    ) {
        let store = TraceStore::new(parameters.layout());
        let oram = flat_raw(&parameters, &store, seeds[0]);
        let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
        run(&oram, &mut model, &before);

        let copy = TraceStore::new(parameters.layout());
        copy.set_contents(&store.contents());
        let other = restored(&bytes(&oram), &copy, seeds[1]).expect("a sound snapshot");
        prop_assert_eq!(bytes(&other), bytes(&oram));
        prop_assert_eq!(other.pending_steps(), oram.pending_steps());

        oram.reseed(rng(seeds[1]));
        store.take_trace();
        run(&oram, &mut model.clone(), &after);
        run(&other, &mut model, &after);
        prop_assert_eq!(store.take_trace(), copy.take_trace());
        prop_assert_eq!(bytes(&other), bytes(&oram));
        finish_now(model.read_all(&other));
    }

    #[test]
    fn raw_oram_that_was_written_down_bit_by_bit_is_the_one_that_went_on(
        (parameters, batches) in small().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        every in 1usize..8,
    ) {
        let store = TraceStore::new(parameters.layout());
        let oram = flat_raw(&parameters, &store, seed);
        let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
        let mut delta_copy = DeltaCopy::begin(&oram, &parameters);
        for batches in batches.chunks(every) {
            run(&oram, &mut model, batches);
            delta_copy.write(&oram);
        }
        let copy = TraceStore::new(parameters.layout());
        copy.set_contents(&store.contents());
        let other: FlatRaw<'_> =
            delta_copy.resume(parameters, (&copy, rng(!seed)), |_| {}).expect("a sound state");
        prop_assert_eq!(bytes(&other), bytes(&oram));
        finish_now(model.read_all(&other));
    }

    #[test]
    fn no_word_of_a_written_state_makes_raw_oram_panic(
        (parameters, batches) in small().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        at: Index,
        change in 1u32..,
    ) {
        let store = TraceStore::new(parameters.layout());
        let oram = flat_raw(&parameters, &store, seed);
        let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
        let mut delta_copy = DeltaCopy::begin(&oram, &parameters);
        run(&oram, &mut model, &batches);
        delta_copy.write(&oram);
        let corrupt = |words: &mut Vec<u32>| {
            let at = at.index(words.len());
            words[at] ^= change;
        };
        let resumed: Result<FlatRaw<'_>, _> = delta_copy.resume(parameters, (&store, rng(seed)), corrupt);
        if let Ok(oram) = resumed {
            read_whatever_comes(&oram);
        }
    }

    #[test]
    fn no_bytes_of_a_snapshot_make_raw_oram_panic(
        (parameters, batches) in small().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        at: Index,
        change in 1u8..,
    ) {
        let store = TraceStore::new(parameters.layout());
        let oram = flat_raw(&parameters, &store, seed);
        run(&oram, &mut ArrayModel::new(parameters.capacity, parameters.block_bytes as usize), &batches);
        let mut snapshot = bytes(&oram);
        let at = at.index(snapshot.len());
        snapshot[at] ^= change;
        // Other parameters may be sound, but this store is not theirs.
        let restored = restored(&snapshot, &store, seed);
        if let Some(oram) = restored.filter(|oram| oram.parameters() == &parameters) {
            read_whatever_comes(&oram);
        }
    }
}

#[test]
fn a_snapshot_whose_parts_contradict_one_another_is_refused() {
    // Found by their place: the parameters, then the positions; at the end the accesses whose headers are not written, and
    // the schedule.
    let parameters = RawParameters { block_bytes: 0, capacity: 4, ..parameters(1, 0) };
    let store = TraceStore::new(parameters.layout());
    let oram = flat_raw(&parameters, &store, 1);
    let mut model = ArrayModel::new(4, 0);
    run(&oram, &mut model, &[(0..4).map(|block| Operation::Read(BlockId(block))).collect()]);
    assert!(oram.pending_steps() > 0, "all blocks are in the stash");
    let snapshot = bytes(&oram);
    let positions = borsh::to_vec(&parameters).expect("bytes").len() + 4;
    let sound = |change: &dyn Fn(&mut [u8])| {
        let mut changed = snapshot.clone();
        change(&mut changed);
        restored(&changed, &store, 1).is_some()
    };
    assert!(sound(&|_| {}));
    assert!(!sound(&|bytes| bytes[positions] = 3), "a block mapped to no leaf of the tree");
    assert!(!sound(&|bytes| bytes[positions] = 0), "a block in the stash that is not mapped");
    assert!(!sound(&|bytes| bytes[0] = 3), "positions of more blocks than there are");
    let last = snapshot.len() - 1;
    assert!(!sound(&|bytes| bytes[last - 31] = 0), "held headers, and no access that left them");
    assert!(!sound(&|bytes| bytes[last] = 1), "more evictions outside of the schedule than evictions");
}
