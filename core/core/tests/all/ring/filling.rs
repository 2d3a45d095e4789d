//! A Ring ORAM that was filled at once is one like any other, and holds what it was filled with.

use super::setup::*;
use ameles_core::oram::{Access, Oram};
use ameles_core::schemes::ring::{RingFilling, RingParameters, RingProgress, RingRedraw};
use ameles_core::snapshot::incremental::{BlockPlace, IncrementalSnapshot, Parts, Payloads};
use ameles_core::store::Store;
use ameles_core::testing::{
    ArrayModel, Event, Operation, TraceEntry, TraceStore, finish_now, settle, small_ring,
};
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::types::{BlockId, Bucket, Level, Slot};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

/// The payloads of blocks, from a model.
struct FromModel<'a> {
    blocks: std::vec::IntoIter<BlockId>,
    next: Option<BlockId>,
    payload: &'a dyn Fn(BlockId) -> Vec<u8>,
}

impl Payloads for FromModel<'_> {
    fn next_block(&mut self) -> Option<BlockId> {
        self.next = self.blocks.next();
        self.next
    }

    fn fill(&mut self, into: &mut [u8]) -> bool {
        into.copy_from_slice(&(self.payload)(self.next.expect("a block comes first")));
        true
    }
}

/// Fills a ring over this store with the payloads of the blocks that are mapped.
fn filled<'a>(
    parameters: &RingParameters,
    store: &'a TraceStore,
    seed: u64,
    payload: &dyn Fn(BlockId) -> Option<Vec<u8>>,
) -> FlatRing<&'a TraceStore> {
    let filling = RingFilling::draw(parameters, |block| payload(block).is_some(), rng(seed));
    let buckets: Vec<(Level, Bucket)> = filling.buckets().collect();
    written(filling, &buckets, (parameters, store, seed), payload)
}

/// Writes the buckets of a filling to this store.
pub(super) fn written<'a>(
    mut filling: RingFilling<ChaCha8Rng>,
    buckets: &[(Level, Bucket)],
    (parameters, store, seed): (&RingParameters, &'a TraceStore, u64),
    payload: &dyn Fn(BlockId) -> Option<Vec<u8>>,
) -> FlatRing<&'a TraceStore> {
    let tree = parameters.geometry();
    for (level, bucket) in buckets.iter().copied() {
        let shape = tree.shape(level);
        let mut plain = vec![0; (shape.slots * shape.slot_bytes) as usize];
        for (slot, block, leaf) in filling.place(level, bucket) {
            let into = &mut plain[(slot.index * shape.slot_bytes) as usize..][..shape.slot_bytes as usize];
            block_header::write(into, block, leaf);
            into[HEADER_BYTES..].copy_from_slice(&payload(block).expect("it is mapped"));
        }
        finish_now(store.write(&[bucket], &plain)).expect("memory");
    }
    let state = filling.finish();
    let payload = |block| payload(block).expect("it is mapped");
    let blocks = state.stash.clone().into_iter();
    let mut payloads = FromModel { blocks, next: None, payload: &payload };
    let (rest, order) = (&state.rest[..], &state.stash[..]);
    let parts = Parts { tables: state.tables, rest, order, payloads: &mut payloads, payload_source: None };
    FlatRing::resume(parameters.clone(), parts, store, rng(!seed)).expect("a sound state")
}

/// The buckets that a ring has written, in the order of the requests.
fn writes(trace: Vec<TraceEntry>) -> Vec<Bucket> {
    let written = |entry| match entry {
        TraceEntry::Write(buckets) => buckets,
        TraceEntry::Read(_) => Vec::new(),
    };
    trace.into_iter().flat_map(written).collect()
}

/// The slots that a request reads.
fn read_slots(entry: &TraceEntry) -> &[Slot] {
    match entry {
        TraceEntry::Read(slots) => slots,
        TraceEntry::Write(_) => &[],
    }
}

/// The paths that a ring has evicted, by their leaf buckets. Evictions write a path, reshuffles a bucket.
fn evicted(parameters: &RingParameters, trace: Vec<TraceEntry>) -> Vec<Bucket> {
    let levels = parameters.geometry().levels().count();
    let path = |entry| match entry {
        TraceEntry::Write(buckets) if buckets.len() == levels && levels > 1 => buckets.last().copied(),
        _ => None,
    };
    trace.into_iter().filter_map(path).collect()
}

/// Redraws a ring from what is public of it and the positions that are mapped. The other side of the store is empty.
fn redrawn<'a>(
    old: &FlatRing<&TraceStore>,
    exists: &BTreeSet<Bucket>,
    (store, seed): (&'a TraceStore, u64),
    payload: &dyn Fn(BlockId) -> Option<Vec<u8>>,
) -> (RingRedraw, FlatRing<&'a TraceStore>) {
    let parameters = old.parameters();
    let progress = RingProgress::of_rest(&old.rest()).expect("the rest of a Ring ORAM");
    let plan = RingRedraw::plan(parameters, progress, 0, |bucket| exists.contains(&bucket));
    let is_mapped = |block| old.locate(block) != Some(BlockPlace::Nowhere);
    let filling = RingFilling::redraw(&plan, is_mapped, rng(seed)).expect("a block an access at most");
    let ring = written(filling, plan.buckets(), (parameters, store, seed), payload);
    (plan, ring)
}

proptest! {
    #[test]
    fn a_ring_oram_that_was_filled_holds_what_it_was_filled_with(
        (parameters, batches) in with_batches(small()), order in order(), seed: u64,
    ) {
        let store = store_for(&parameters);
        let mut model = ArrayModel::new(parameters.capacity, parameters.block_bytes as usize);
        // Every third block was never written.
        let is_mapped = |block: BlockId| !block.0.is_multiple_of(3);
        for block in (0..parameters.capacity).map(BlockId).filter(|block| is_mapped(*block)) {
            drop(model.prepare(&[Operation::Write(block, block.0 as u8)]));
        }
        let array = model.clone();
        let fill = |block: BlockId| is_mapped(block).then(|| array.payload(block.0 as u8));
        let ring = filled(&parameters, &store, seed, &fill);
        let written: Vec<TraceEntry> = store.take_trace();
        prop_assert_eq!(written.len() as u64, parameters.geometry().buckets(), "each bucket once");
        for block in (0..parameters.capacity).map(BlockId) {
            let place = ring.locate(block).expect("Ring ORAM knows where its blocks are");
            prop_assert_eq!(place == BlockPlace::Nowhere, fill(block).is_none());
        }
        interleave(&ring, &store, &mut model, &batches, &order);
        assert_nothing_lost(&ring, &mut model);
    }

    /// Accesses, a redraw into another store, and further accesses: over the same buckets and with the same schedule as
    /// if there had been no redraw.
    #[test]
    fn a_ring_oram_that_was_redrawn_continues_over_the_buckets_that_exist(
        (parameters, batches) in with_batches(prop_oneof![small(), planned()]),
        more in prop::collection::vec(any::<u8>(), 0..60), order in order(), seed: u64,
    ) {
        let (before, after) = (store_for(&parameters), store_for(&parameters));
        let mut model = ArrayModel::new(parameters.capacity, parameters.block_bytes as usize);
        let old = flat_ring(&parameters, &before, seed);
        let events = interleave(&old, &before, &mut model, &batches, &order);
        finish_now(settle(&old));
        let mut trace = before.take_trace();
        trace.extend(events.into_iter().filter_map(|event| match event {
            Event::StoreRequest(_, entry) => Some(entry),
            _ => None,
        }));
        let exists: BTreeSet<Bucket> = writes(trace).into_iter().collect();
        let contents = model.clone();
        let payload = |block| Some(contents.contents(block));
        let (plan, ring) = redrawn(&old, &exists, (&after, seed), &payload);
        prop_assert_eq!(writes(after.take_trace()), exists.iter().copied().collect::<Vec<_>>(), "each once");
        prop_assert_eq!(ring.evictions(), old.evictions());
        prop_assert_eq!(Some(plan.progress()), RingProgress::of_rest(&old.rest()));
        // Both make the same evictions next, of the same leaves, and read no bucket that does not exist.
        let mut exists_now = exists;
        for block in more {
            let block = BlockId(u64::from(block) % parameters.capacity);
            for (ring, store) in [(&old, &before), (&ring, &after)] {
                let mut into = vec![0; parameters.block_bytes as usize];
                finish_now(ring.access(&mut [Access::Read(block, &mut into)])).expect("it settles");
                prop_assert_eq!(&into, &contents.contents(block));
                let is_absent = |slot: &&Slot| !exists_now.contains(&slot.bucket);
                let trace = store.take_trace();
                let absent = trace.iter().flat_map(read_slots).find(is_absent);
                prop_assert_eq!(absent, None, "a bucket that was never written is read");
                finish_now(settle(ring));
            }
            prop_assert_eq!(ring.evictions(), old.evictions());
            // A bucket that was read more often in the other ring may be reshuffled there, so only paths are compared.
            let [one, other] = [before.take_trace(), after.take_trace()];
            exists_now.extend(writes(other.clone()));
            prop_assert_eq!(evicted(&parameters, other), evicted(&parameters, one));
        }
        assert_nothing_lost(&ring, &mut model);
    }
}

/// The leaf bucket that an access reads.
fn leaf_bucket(parameters: &RingParameters, trace: &[TraceEntry]) -> Option<Bucket> {
    let first = parameters.geometry().first_of(parameters.leaf_level);
    trace.iter().flat_map(read_slots).map(|slot| slot.bucket).find(|bucket| *bucket >= first)
}

#[test]
fn an_access_after_a_redraw_shows_the_old_position_as_rarely_as_any_other() {
    let parameters = small_ring(10);
    let leaves = parameters.geometry().leaves();
    let first = parameters.geometry().first_of(parameters.leaf_level);
    let (mut same, mut shown, runs) = (0, BTreeSet::new(), 320);
    for seed in 0..runs {
        let (before, after) = (store_for(&parameters), store_for(&parameters));
        let old = flat_ring(&parameters, &before, seed);
        let payload = vec![7; parameters.block_bytes as usize];
        for block in (0..4 * parameters.capacity).map(|nth| BlockId(nth % parameters.capacity)) {
            finish_now(old.access(&mut [Access::Write(block, &payload)])).expect("it settles");
            finish_now(settle(&old));
        }
        let exists: BTreeSet<Bucket> = writes(before.take_trace()).into_iter().collect();
        let block = BlockId(seed % parameters.capacity);
        let leaf = old.positions().snapshot().get(block).expect("it is mapped");
        let (_, ring) = redrawn(&old, &exists, (&after, seed), &|_| Some(payload.clone()));
        after.take_trace();
        let mut into = vec![0; parameters.block_bytes as usize];
        finish_now(ring.access(&mut [Access::Read(block, &mut into)])).expect("it settles");
        assert_eq!(into, payload);
        let bucket = leaf_bucket(&parameters, &after.take_trace()).expect("every bucket exists");
        same += u64::from(bucket.0 - first.0 == leaf.0);
        shown.insert(bucket);
    }
    assert!(shown.len() as u64 == leaves, "{} of {leaves} leaves", shown.len());
    let expected = runs / leaves;
    assert!(same > expected / 3 && same < 3 * expected, "{same} of {runs} show the old leaf, of {leaves}");
}
