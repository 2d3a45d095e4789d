//! Ring ORAM below the front end of Freecursive ORAM: filled stores, blocks that are being written out, and its bounds.

use super::freecursive::{counted, over_ring, parameters};
use super::setup::*;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::position_map::external::{ExternalPositions, PositionUpdate};
use ameles_core::position_map::external_access::ExternalPositionOram;
use ameles_core::schemes::freecursive::{
    BackendParameters, FreecursiveOram, FreecursiveParameters, FreecursiveParametersError, NextPath,
    PositionStorage, TrustedHits,
};
use ameles_core::schemes::ring::{FilledRing, RingFilling, RingOram, RingParameters, RingParametersError};
use ameles_core::store::Store;
use ameles_core::testing::{
    ArrayModel, Executor, Operation, TraceEntry, TraceStore, TraceStoreError, finish_now, settle, small_ring,
};
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::types::{BlockId, Bucket, Leaf, Level, Slot};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

type Ring<'a> = RingOram<&'a TraceStore, ExternalPositions<TraceStoreError>, ChaCha8Rng>;

fn ring_of(parameters: &FreecursiveParameters) -> RingParameters {
    let BackendParameters::Ring(ring) = &parameters.tree else { panic!("it is over Ring ORAM") };
    ring.clone()
}

/// Fills a store with blocks, each with this payload. Returns the state, and the slot of each block that has one.
fn fill(
    ring: &RingParameters,
    store: &TraceStore,
    seed: u64,
    payload: impl Fn(BlockId) -> Vec<u8>,
) -> (FilledRing, BTreeMap<BlockId, Slot>) {
    let mut filling = RingFilling::draw(ring, |_| true, rng(seed));
    let (tree, mut slots) = (ring.geometry(), BTreeMap::new());
    for (level, bucket) in filling.buckets() {
        let shape = tree.shape(level);
        let mut plain = vec![0; (shape.slots * shape.slot_bytes) as usize];
        let placed = filling.place(level, bucket);
        // Reads of dummies change nothing that is stored.
        filling.read_dummies(level, bucket, (bucket.0 % 9) as u32);
        for (slot, block, leaf) in placed {
            let into = &mut plain[(slot.index * shape.slot_bytes) as usize..][..shape.slot_bytes as usize];
            block_header::write(into, block, leaf);
            into[HEADER_BYTES..].copy_from_slice(&payload(block));
            slots.insert(block, slot);
        }
        finish_now(store.write(&[bucket], &plain)).unwrap();
    }
    assert_eq!(store.take_trace().len() as u64, tree.buckets(), "each bucket once");
    (filling.finish(), slots)
}

fn leaf_of(filled: &FilledRing, block: BlockId) -> Leaf {
    Leaf(u64::from(filled.tables[0][block.0 as usize]) - 1)
}

fn slots_read(store: &TraceStore) -> Vec<Slot> {
    let reads = store.take_trace().into_iter().map(|entry| match entry {
        TraceEntry::Read(slots) => slots,
        TraceEntry::Write(_) => vec![],
    });
    reads.flatten().collect()
}

#[test]
fn a_ring_oram_over_a_filled_store_reads_each_block_where_the_filling_put_it() {
    let ring = RingParameters { max_batch: 1, ..small_ring(6) };
    let store = TraceStore::new(ring.layout());
    let payload = |block: BlockId| vec![block.0 as u8; 16];
    let (filled, slots) = fill(&ring, &store, 1, payload);
    assert!(slots.len() > 60, "{} blocks have a slot", slots.len());
    for block in (0..64).map(BlockId) {
        let oram = Ring::over_filled_store(ring.clone(), filled.clone(), &store, rng(2)).unwrap();
        assert_eq!(oram.stash_blocks(), 0);
        if filled.stash.contains(&block) {
            oram.put_in(block, leaf_of(&filled, block), &payload(block)).unwrap();
        }
        let external_positions =
            PositionUpdate { old: Some(leaf_of(&filled, block)), new: Leaf(block.0 % 16) };
        let mut found = Vec::new();
        finish_now(oram.access_at(block, external_positions, |payload| found = payload.to_vec())).unwrap();
        assert_eq!(found, payload(block), "{block}");
        let read = slots_read(&store);
        assert!(slots.get(&block).is_none_or(|slot| read.contains(slot)), "{block} was read elsewhere");
    }
}

#[test]
fn a_state_that_is_not_that_of_the_filled_store_is_refused() {
    let ring = small_ring(6);
    let store = TraceStore::new(ring.layout());
    let (filled, _) = fill(&ring, &store, 1, |_| vec![0; 16]);
    let over = |parameters: &RingParameters, filled: FilledRing| {
        Ring::over_filled_store(parameters.clone(), filled, &store, rng(2)).map(drop)
    };
    assert_eq!(over(&ring, filled.clone()), Ok(()));
    let larger = RingParameters { leaf_level: Level(5), ..ring.clone() };
    assert_eq!(over(&larger, filled.clone()), Err(RingParametersError::Filled));
    let fewer = RingParameters { capacity: 63, ..ring.clone() };
    assert_eq!(over(&fewer, filled.clone()), Err(RingParametersError::Filled), "it names block 63");
    let corrupted = |corrupt: fn(&mut FilledRing)| {
        let mut corrupted = filled.clone();
        corrupt(&mut corrupted);
        over(&ring, corrupted)
    };
    let worn_out = |filled: &mut FilledRing| filled.tables[1][..6].fill(1 << 31);
    assert_eq!(
        corrupted(worn_out),
        Err(RingParametersError::Filled),
        "a bucket that must be reshuffled is not listed"
    );
    assert_eq!(corrupted(|filled| filled.rest.clear()), Err(RingParametersError::Filled));
    assert_eq!(corrupted(|filled| drop(filled.tables.pop())), Err(RingParametersError::Filled));
}

fn filled_parameters(capacity: u64) -> FreecursiveParameters {
    let base = parameters(capacity, 2, TrustedHits::ReadThePath);
    over_ring(FreecursiveParameters { positions: PositionStorage::Separate, ..base }, 2)
}

proptest! {
    /// Payloads of blocks that were never written since come from the store as it was filled.
    #[test]
    fn freecursive_oram_over_a_filled_ring_answers_like_the_array_that_it_was_filled_with(
        (capacity, batches) in (1u64..60).prop_flat_map(|capacity| (Just(capacity), batches(capacity))),
        seed: u64,
    ) {
        let parameters = filled_parameters(capacity);
        let ring = ring_of(&parameters);
        let store = TraceStore::new(parameters.tree.layout());
        let mut model = ArrayModel::new(capacity, 13);
        let array = model.clone();
        let payload = |block: BlockId| array.payload(block.0 as u8);
        for block in (0..capacity).map(BlockId) {
            drop(model.prepare(&[Operation::Write(block, block.0 as u8)]));
        }
        let (filled, _) = fill(&ring, &store, seed, payload);
        let oram = FreecursiveOram::over_filled_ring(parameters, filled.clone(), &store, rng(!seed)).unwrap();
        for block in filled.stash.iter().copied() {
            oram.tree().put_in(block, leaf_of(&filled, block), &payload(block)).unwrap();
        }
        finish_now(async {
            for batch in &batches {
                model.batch(&oram, batch).await;
                settle(&oram).await;
            }
            model.read_all(&oram).await;
        });
        prop_assert_eq!(oram.emergencies(), 0);
    }
}

#[test]
fn what_does_not_fit_ring_oram_is_refused_with_its_reason() {
    let parameters = filled_parameters(50);
    let ring = ring_of(&parameters);
    let store = TraceStore::new(parameters.tree.layout());
    let (filled, _) = fill(&ring, &store, 1, |_| vec![0; 13]);
    let positions = || filled.clone().take_positions();
    let new = |parameters: &FreecursiveParameters, first| {
        FreecursiveOram::new(parameters.clone(), Bucket(first), &store, rng(1)).map(drop)
    };
    let tree = &parameters.tree;
    let of_tree = (tree.capacity(), tree.block_bytes(), tree.leaf_level(), tree.top(), tree.layout());
    assert_eq!(of_tree, (ring.capacity, 13, ring.leaf_level, Level(2), ring.layout()));
    assert_eq!(new(&parameters, 0), Ok(()));
    assert_eq!(new(&parameters, 7), Err(FreecursiveParametersError::FirstBucket { given: 7 }));
    let tree = BackendParameters::Ring(RingParameters { stash_bound: 2, ..ring });
    let refused = new(&FreecursiveParameters { tree, ..parameters.clone() }, 0);
    assert!(matches!(refused, Err(FreecursiveParametersError::Ring(RingParametersError::Stash { .. }))));

    let without =
        FreecursiveOram::over_filled_store(parameters.clone(), positions(), Bucket(0), &store, rng(1));
    assert_eq!(without.map(drop), Err(FreecursiveParametersError::Filled), "the metadata are missing");
    let over =
        |parameters, filled| FreecursiveOram::over_filled_ring(parameters, filled, &store, rng(1)).map(drop);
    assert_eq!(over(parameters.clone(), filled.clone()), Ok(()));
    let path = FreecursiveParameters {
        positions: PositionStorage::Separate,
        ..super::freecursive::parameters(50, 2, TrustedHits::ReadThePath)
    };
    assert_eq!(over(path, filled.clone()), Err(FreecursiveParametersError::Filled));
    let in_blocks = FreecursiveParameters { positions: PositionStorage::InBlocks, ..parameters.clone() };
    let separate = over(in_blocks, filled.clone());
    assert!(matches!(separate, Err(FreecursiveParametersError::Positions { .. })), "{separate:?}");
    let mut fewer = filled.clone();
    fewer.tables[0].pop();
    let fewer = over(parameters, fewer);
    assert!(matches!(fewer, Err(FreecursiveParametersError::Positions { .. })), "{fewer:?}");
}

/// Sixteen leaves and no trusted level; an eviction after three accesses.
fn external_positions() -> RingParameters {
    RingParameters { max_batch: 1, top: Level(0), ..small_ring(6) }
}

/// The ways in which a front end comes to a block.
#[derive(Clone, Copy, Debug)]
enum Way {
    Serve,
    Take,
    TakeOut,
    Access,
}

/// A block stays in the stash until the store has written the eviction that placed it.
#[test]
fn a_block_that_is_being_written_out_is_neither_lost_nor_doubled() {
    for way in [Way::Serve, Way::Take, Way::TakeOut, Way::Access] {
        let store = TraceStore::new(external_positions().layout());
        let oram = Ring::new(external_positions(), &store, ExternalPositions::default(), rng(3)).unwrap();
        for block in 0..3 {
            let external_positions = PositionUpdate { old: None, new: Leaf(block) };
            finish_now(oram.access_at(BlockId(block), external_positions, |payload| payload.fill(1)))
                .unwrap();
        }
        store.hold_back(true);
        let mut executor = Executor::new();
        executor.spawn(async { oram.step().await.unwrap() });
        executor.run();
        // The first eviction reads nothing: all three blocks are placed by now, and the store has not written them.
        assert_eq!((store.pending(), oram.stash_blocks(), oram.pending_steps()), (1, 3, 0));
        let block = BlockId(1);
        assert!(oram.is_in_stash(block) && oram.blocks_in_stash().len() == 3);
        let set = |payload: &mut [u8]| {
            assert_eq!(payload, [1; 16]);
            payload.fill(2);
        };
        let (old, new) = (Leaf(1), Leaf(9));
        let is_out = matches!(way, Way::Take | Way::TakeOut);
        let leaf = match way {
            Way::Serve => {
                assert!(oram.serve_from_stash(block, set).unwrap());
                old
            }
            Way::Take => {
                assert_eq!(oram.take_from_stash(block, set).unwrap(), Some(old));
                new
            }
            Way::TakeOut => {
                // All of the path is in flight: it asks the store for nothing.
                finish_now(oram.take_out(block, Some(old), set)).unwrap();
                new
            }
            Way::Access => {
                finish_now(oram.access_at(block, PositionUpdate { old: Some(old), new }, set)).unwrap();
                new
            }
        };
        if is_out {
            assert!(!oram.is_in_stash(block));
            oram.put_in(block, leaf, &[2; 16]).unwrap();
        }
        store.complete(0);
        executor.run();
        drop(executor);
        store.hold_back(false);
        assert_eq!(oram.stash_blocks(), 1, "{way:?}: the other two are in the store");
        let mut leaf = leaf;
        for next in 0..40 {
            let external_positions = PositionUpdate { old: Some(leaf), new: Leaf(next % 16) };
            finish_now(
                oram.access_at(block, external_positions, |payload| assert_eq!(payload, [2; 16], "{way:?}")),
            )
            .unwrap();
            leaf = external_positions.new;
            finish_now(settle(&oram));
            finish_now(oram.dummy()).unwrap();
            finish_now(settle(&oram));
        }
        assert!(oram.blocks_in_stash().len() <= 3, "{way:?}");
    }
}

#[test]
fn blocks_are_put_in_up_to_the_bound_of_the_stash_and_no_further() {
    let parameters = RingParameters { stash_bound: 6, ..external_positions() };
    let store = TraceStore::new(parameters.layout());
    let oram = Ring::new(parameters, &store, ExternalPositions::default(), rng(3)).unwrap();
    let put_in = |block: u64, leaf: u64| oram.put_in(BlockId(block), Leaf(leaf), &[7; 16]);
    (0..5).for_each(|block| put_in(block, block).unwrap());
    assert!(!oram.must_step());
    put_in(5, 5).unwrap();
    assert!(oram.must_step(), "the next access might not fit");
    assert!(matches!(put_in(6, 6), Err(OramError::StashFull { held: 6, max: 6 })));
    assert!(matches!(put_in(3, 5), Err(OramError::StashFull { .. })));
    store.hold_back(true);
    let mut executor = Executor::new();
    executor.spawn(async { oram.step().await.unwrap() });
    executor.run();
    assert_eq!((oram.emergencies(), oram.stash_blocks()), (1, 6), "all are being written out");
    put_in(6, 6).unwrap();
    store.complete(0);
    executor.run();
    drop(executor);
    store.hold_back(false);
    assert_eq!(oram.stash_blocks(), 1);
    assert!(matches!(put_in(6, 6), Err(OramError::Contradiction(_))), "it is there");
    assert!(matches!(put_in(7, 16), Err(OramError::Contradiction(_))), "there are 16 leaves");
    assert!(matches!(put_in(64, 1), Err(OramError::OutOfRange { .. })));
}

#[test]
fn a_block_that_the_store_changed_is_found_out_over_ring_oram() {
    let base = counted(parameters(50, 1, TrustedHits::ReadThePath), 0, true);
    let parameters = over_ring(base, 0);
    let (mut found_out, mut answered) = (0, 0);
    for nth in 0..20 {
        let store = TraceStore::new(parameters.tree.layout());
        let oram = FreecursiveOram::new(parameters.clone(), Bucket(0), &store, rng(nth)).unwrap();
        let write = |block: u64| {
            finish_now(oram.access(&mut [Access::Write(BlockId(block), &[block as u8; 13])])).unwrap();
            finish_now(settle(&oram));
        };
        (0..50).for_each(write);
        // A bit of the payload or of the tag of every slot of each third bucket.
        for bucket in (nth..store.layout().buckets()).step_by(3) {
            for index in 0..10 {
                let at = HEADER_BYTES + (nth as usize * 5) % 29;
                store.tamper(Slot { bucket: Bucket(bucket), index }, |bytes| bytes[at] ^= 0x10);
            }
        }
        for block in 0..50 {
            let mut read = [0; 13];
            match finish_now(oram.access(&mut [Access::Read(BlockId(block), &mut read)])) {
                Ok(()) => assert_eq!(read, [block as u8; 13]),
                Err(OramError::Contradiction(_)) => {
                    found_out += 1;
                    assert!(matches!(
                        finish_now(oram.access(&mut [Access::Dummy])),
                        Err(OramError::Poisoned)
                    ));
                    assert!(matches!(finish_now(oram.step()), Err(OramError::Poisoned)));
                    assert!(matches!(oram.next(BlockId(0)), Ok(NextPath::PosMap(_) | NextPath::Block)));
                    break;
                }
                Err(other) => panic!("{other}"),
            }
            answered += 1;
            finish_now(settle(&oram));
        }
    }
    assert!(found_out > 10 && answered > 20, "{found_out} found out, {answered} answers");
}
