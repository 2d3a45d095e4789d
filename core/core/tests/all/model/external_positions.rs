//! Path ORAM and RAW ORAM as the backend of a front end that keeps positions, and takes blocks out and puts them in.

use super::setup::*;
use ameles_core::oram::OramError;
use ameles_core::position_map::external::{ExternalPositions, PositionUpdate};
use ameles_core::position_map::external_access::ExternalPositionOram;
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::schemes::raw::{RawOram, RawParameters};
use ameles_core::testing::{TraceEntry, TraceStore, TraceStoreError, finish_now, settle};
use ameles_core::types::{BlockId, Bucket, Leaf, Level};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use std::collections::BTreeMap;

type PathBackend<'a> = PathOram<&'a TraceStore, ExternalPositions<TraceStoreError>, ChaCha8Rng>;
type RawBackend<'a> = RawOram<&'a TraceStore, ExternalPositions<TraceStoreError>, ChaCha8Rng>;

const CAPACITY: u64 = 16;

fn parameters() -> PathParameters {
    PathParameters { top: Level(1), ..lone_path(CAPACITY, 2, 3) }
}

fn backend(store: &TraceStore) -> PathBackend<'_> {
    PathOram::new(parameters(), Bucket(0), store, ExternalPositions::default(), rng(1)).unwrap()
}

fn raw_parameters() -> RawParameters {
    RawParameters {
        capacity: CAPACITY,
        block_bytes: 2,
        leaf_level: Level(3),
        top: Level(1),
        blocks_per_bucket: 3,
        eviction_rate: 3,
        max_batch: 1,
        stash_bound: 100,
    }
}

fn raw_backend(store: &TraceStore) -> RawBackend<'_> {
    RawOram::new(raw_parameters(), Bucket(0), store, ExternalPositions::default(), rng(1)).unwrap()
}

/// A front end: the leaf of each block, and the blocks that it has taken out.
struct FrontEnd<B> {
    backend: B,
    random: ChaCha8Rng,
    leaves: BTreeMap<u64, Leaf>,
    out: BTreeMap<u64, [u8; 2]>,
    array: BTreeMap<u64, [u8; 2]>,
}

impl<B: ExternalPositionOram> FrontEnd<B> {
    fn new(backend: B, seed: u64) -> Self {
        let (leaves, out, array) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        FrontEnd { backend, random: rng(seed), leaves, out, array }
    }

    fn leaf(&mut self) -> Leaf {
        Leaf(self.random.next_u64() % 8)
    }

    /// Accesses a block, or takes it out or puts it in again, and checks its contents.
    fn step(&mut self, block: u64, what: u8) {
        while self.backend.must_step() || what.is_multiple_of(3) && self.backend.pending_steps() > 0 {
            finish_now(self.backend.step()).unwrap();
        }
        let expected = self.array.get(&block).copied().unwrap_or_default();
        if let Some(payload) = self.out.remove(&block) {
            assert_eq!(payload, expected, "it was taken out as it was");
            let leaf = self.leaf();
            self.leaves.insert(block, leaf);
            self.backend.put_in(BlockId(block), leaf, &payload).unwrap();
            return;
        }
        let old = self.leaves.get(&block).copied();
        let mut found = [0; 2];
        if what & 1 == 0 {
            let take = |payload: &mut [u8]| found.copy_from_slice(payload);
            finish_now(self.backend.take_out(BlockId(block), old, take)).unwrap();
            self.leaves.remove(&block);
            self.out.insert(block, found);
        } else {
            let new = self.leaf();
            let written = [what, block as u8];
            let serve = |payload: &mut [u8]| {
                found.copy_from_slice(payload);
                payload.copy_from_slice(&written);
            };
            finish_now(self.backend.access_at(BlockId(block), PositionUpdate { old, new }, serve)).unwrap();
            self.leaves.insert(block, new);
            self.array.insert(block, written);
        }
        assert_eq!(found, expected, "block {block}");
    }
}

proptest! {
    #[test]
    fn blocks_that_are_taken_out_and_put_in_again_answer_like_an_array(
        steps in prop::collection::vec((0..CAPACITY, any::<u8>()), 1..200),
        seed: u64,
    ) {
        let store = TraceStore::new(parameters().layout());
        let mut front = FrontEnd::new(backend(&store), seed);
        steps.iter().for_each(|(block, what)| front.step(*block, *what));
        let store = TraceStore::new(raw_parameters().layout());
        let mut front = FrontEnd::new(raw_backend(&store), seed);
        steps.iter().for_each(|(block, what)| front.step(*block, *what));
    }
}

/// The sizes of the reads that an operation shows.
fn shown(store: &TraceStore, operation: impl FnOnce()) -> Vec<usize> {
    store.take_trace();
    operation();
    let size = |entry: TraceEntry| match entry {
        TraceEntry::Read(slots) => slots.len(),
        TraceEntry::Write(buckets) => panic!("{} buckets are written", buckets.len()),
    };
    store.take_trace().into_iter().map(size).collect()
}

fn sizes(backend: &impl ExternalPositionOram, store: &TraceStore) -> [Vec<usize>; 4] {
    let (block, update) = (BlockId(3), PositionUpdate { old: None, new: Leaf(5) });
    let settle_backend = || finish_now(settle(backend));
    let access = shown(store, || finish_now(backend.access_at(block, update, |_| ())).unwrap());
    settle_backend();
    let taken = shown(store, || finish_now(backend.take_out(block, Some(Leaf(5)), |_| ())).unwrap());
    settle_backend();
    let dummy = shown(store, || finish_now(backend.dummy()).unwrap());
    settle_backend();
    let put = shown(store, || backend.put_in(block, Leaf(2), &[1, 2]).unwrap());
    [access, taken, dummy, put]
}

#[test]
fn an_access_a_taking_out_and_a_dummy_show_a_path_and_a_putting_in_shows_nothing() {
    let store = TraceStore::new(parameters().layout());
    assert_eq!(sizes(&backend(&store), &store), [vec![3], vec![3], vec![3], vec![]]);
    // A header and three payloads for each bucket.
    let store = TraceStore::new(raw_parameters().layout());
    assert_eq!(sizes(&raw_backend(&store), &store), [vec![12], vec![12], vec![12], vec![]]);
}

#[test]
fn what_a_front_end_must_not_do_is_refused_and_changes_nothing() {
    let store = TraceStore::new(parameters().layout());
    // Room for one path and a block.
    let tight = PathParameters { stash_bound: 13, ..parameters() };
    let backend = PathOram::new(tight, Bucket(0), &store, ExternalPositions::default(), rng(1)).unwrap();
    let put_in = |block, leaf| backend.put_in(BlockId(block), Leaf(leaf), &[0; 2]);
    let beyond = PositionUpdate { old: None, new: Leaf(8) };
    let access = finish_now(backend.access_at(BlockId(1), beyond, |_| ()));
    assert!(matches!(access, Err(OramError::Contradiction(_))));
    assert!(matches!(put_in(1, 8), Err(OramError::Contradiction(_))));
    assert!(matches!(put_in(CAPACITY, 0), Err(OramError::OutOfRange { .. })));
    (0..13).for_each(|block| put_in(block, 7).expect("there is room"));
    assert!(matches!(put_in(0, 7), Err(OramError::StashFull { held: 13, max: 13 })));
}

#[test]
fn a_block_that_waits_is_not_put_in_twice_and_is_found_where_it_was_put() {
    let store = TraceStore::new(parameters().layout());
    let backend = backend(&store);
    backend.put_in(BlockId(3), Leaf(7), &[1, 2]).unwrap();
    let again = backend.put_in(BlockId(3), Leaf(7), &[1, 2]);
    assert!(matches!(again, Err(OramError::Contradiction(_))));
    let external_positions = PositionUpdate { old: Some(Leaf(7)), new: Leaf(0) };
    let mut found = Vec::new();
    finish_now(backend.access_at(BlockId(3), external_positions, |payload| found.extend_from_slice(payload)))
        .unwrap();
    assert_eq!(found, [1, 2]);
}
