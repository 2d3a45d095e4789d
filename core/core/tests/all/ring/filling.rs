//! A Ring ORAM that was filled at once is one like any other, and holds what it was filled with.

use super::setup::*;
use ameles_core::schemes::ring::{RingFilling, RingParameters};
use ameles_core::snapshot::incremental::{BlockPlace, IncrementalSnapshot, Parts, Payloads};
use ameles_core::store::Store;
use ameles_core::testing::{ArrayModel, Operation, TraceEntry, TraceStore, finish_now};
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::types::BlockId;
use proptest::prelude::*;

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
    let mut filling = RingFilling::draw(parameters, |block| payload(block).is_some(), rng(seed));
    let tree = parameters.geometry();
    for (level, bucket) in filling.buckets() {
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
}
