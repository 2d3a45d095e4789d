//! The slots of the store that still have the current payload of a block in the stash.

use super::setup::*;
use crate::conformance::delta_copy::DeltaCopy;
use ameles_core::oram::{Access, Oram};
use ameles_core::schemes::ring::{RingBucket, RingParameters};
use ameles_core::snapshot::incremental::IncrementalSnapshot;
use ameles_core::store::Store;
use ameles_core::testing::{ArrayModel, TraceStore, finish_now, small_ring};
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::types::{BlockId, Slot};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A tree whose leaves are half full and have no slots beyond Z: some reads take blocks in place of dummies. Its evictions
/// have one slice, or several.
fn with_few_dummies(is_sliced: bool) -> RingParameters {
    let parameters = RingParameters {
        capacity: 130,
        eviction_rate: 12,
        inner: RingBucket { blocks: 14, slots: 17 },
        leaf: RingBucket { blocks: 17, slots: 17 },
        max_batch: 1,
        stash_bound: 130,
        slice_slots: if is_sliced { 17 } else { u32::MAX },
        ..small_ring(17)
    };
    assert_eq!((parameters.validate(), parameters.is_sliced()), (Ok(()), is_sliced));
    parameters
}

fn payload_in(store: &TraceStore, slot: Slot, block_bytes: u32) -> (Option<BlockId>, Vec<u8>) {
    let mut bytes = vec![0; HEADER_BYTES + block_bytes as usize];
    finish_now(store.read_buffer(&[slot], &mut bytes)).expect("the store");
    (block_header::read(&bytes).map(|(block, _)| block), bytes.split_off(HEADER_BYTES))
}

/// The blocks of the stash that have origins. The store has the payload of each there.
fn checked_origins(
    ring: &FlatRing<&TraceStore>,
    store: &TraceStore,
    parameters: &RingParameters,
) -> BTreeSet<BlockId> {
    let stash: BTreeSet<BlockId> = ring.stash_order().into_iter().collect();
    let origins = ring.origins();
    assert!(origins.slots.len() as u64 <= origins.max, "{} of {}", origins.slots.len(), origins.max);
    for (block, slot) in &origins.slots {
        let (found, payload) = payload_in(store, *slot, parameters.block_bytes);
        assert_eq!(found, Some(*block), "{slot:?}");
        if stash.contains(block) {
            ring.with_payload(*block, &mut |current| assert_eq!(payload, current, "{block:?} in {slot:?}"));
        }
    }
    // The next driver would take these reads for its own.
    store.take_trace();
    let with_origins = origins.slots.iter().map(|(block, _)| *block);
    with_origins.filter(|block| stash.contains(block)).collect()
}

proptest! {
    #[test]
    fn an_origin_has_the_current_payload_whatever_is_in_flight(
        (parameters, batches) in with_batches(small()), order in order(), seed: u64, every in 1usize..8,
    ) {
        let store = store_for(&parameters);
        let ring = flat_ring(&parameters, &store, seed);
        ring.note_origins();
        let mut model = ArrayModel::new(parameters.capacity, parameters.block_bytes as usize);
        let mut copy = DeltaCopy::begin(&ring, &parameters);
        for batches in batches.chunks(every) {
            interleave(&ring, &store, &mut model, batches, &order);
            copy.write(&ring);
            checked_origins(&ring, &store, &parameters);
            prop_assert_eq!(copy.origins(&ring, &parameters), Some(ring.origins()), "as it was written down");
        }
        let other = store_for(&parameters);
        other.set_contents(&store.contents());
        let resumed: FlatRing<_> =
            copy.resume(parameters.clone(), (&other, rng(!seed)), |_| {}).expect("a sound state");
        prop_assert_eq!(resumed.origins(), ring.origins());
        resumed.note_origins();
        interleave(&resumed, &other, &mut model, &batches, &order);
        checked_origins(&resumed, &other, &parameters);
        assert_nothing_lost(&resumed, &mut model);
    }
}

/// The reason why one place for each access suffices. A block that was not accessed has an origin, unless an eviction has
/// read it and left it in the stash.
#[test]
fn only_accessed_blocks_and_few_others_have_no_origin() {
    for is_sliced in [false, true] {
        let parameters = with_few_dummies(is_sliced);
        let (store, capacity) = (store_for(&parameters), parameters.capacity);
        let ring = flat_ring(&parameters, &store, 3);
        ring.note_origins();
        let (mut in_place, mut left) = (0, 0);
        // The blocks of the stash without an origin, which an earlier checkpoint has sent.
        let mut sent: BTreeMap<BlockId, u64> = BTreeMap::new();
        for nth in 0..4096u64 {
            let block = BlockId(nth * 7 % capacity);
            let text = [nth as u8; 16];
            finish_now(ring.access(&mut [Access::Write(block, &text)])).expect("the access");
            let with_origins = checked_origins(&ring, &store, &parameters);
            assert!(!with_origins.contains(&block), "{block:?} was written");
            while ring.must_step() {
                finish_now(ring.step()).expect("the step");
            }
            sent.insert(block, nth);
            let with_origins = checked_origins(&ring, &store, &parameters);
            in_place += with_origins.len();
            let stash: BTreeSet<BlockId> = ring.stash_order().into_iter().collect();
            sent.retain(|block, _| stash.contains(block));
            let without =
                stash.iter().filter(|block| !with_origins.contains(block) && !sent.contains_key(block));
            let without: Vec<BlockId> = without.copied().collect();
            left += without.len();
            sent.extend(without.into_iter().map(|block| (block, nth)));
        }
        assert!(in_place > 4000, "{in_place} blocks with origins");
        assert!(left < 100, "{left} blocks that evictions have left in the stash");
    }
}

#[test]
fn a_ring_oram_that_notes_no_origins_has_the_state_that_it_always_had() {
    let parameters = with_few_dummies(false);
    let stores = [store_for(&parameters), store_for(&parameters)];
    let [plain, noting] = [0, 1].map(|nth: usize| flat_ring(&parameters, &stores[nth], 3));
    noting.note_origins();
    for nth in 0..3000u64 {
        for ring in [&plain, &noting] {
            finish_now(ring.access(&mut [Access::Write(BlockId(nth % 130), &[1; 16])])).expect("the access");
            while ring.must_step() {
                finish_now(ring.step()).expect("the step");
            }
        }
    }
    assert_eq!(stores[0].take_trace(), stores[1].take_trace(), "the store sees no difference");
    assert!(plain.origins().slots.is_empty() && !noting.origins().slots.is_empty());
}
