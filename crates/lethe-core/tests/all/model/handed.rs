//! Path ORAM as the backend of a front end that keeps positions, and takes blocks out and puts them in.

use super::setup::*;
use lethe_core::oram::{Oram, OramError};
use lethe_core::position_map::handed::{Handed, HandedPositions};
use lethe_core::schemes::path::{PathOram, PathParameters};
use lethe_core::testing::{TraceEntry, TraceStore, finish_now};
use lethe_core::words::{BlockId, Bucket, Leaf, Level};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use std::collections::BTreeMap;

type Backend<'a> = PathOram<
    &'a TraceStore,
    HandedPositions<<&'a TraceStore as lethe_core::store::Store>::Error>,
    ChaCha8Rng,
>;

const CAPACITY: u64 = 16;

fn parameters() -> PathParameters {
    PathParameters {
        capacity: CAPACITY,
        block_bytes: 2,
        leaf_level: Level(3),
        top: Level(1),
        blocks_per_bucket: 4,
        max_batch: 1,
        stash_bound: 100,
    }
}

fn backend(store: &TraceStore) -> Backend<'_> {
    PathOram::new(parameters(), Bucket(0), store, HandedPositions::default(), rng(1)).unwrap()
}

/// A front end: the leaf of each block, and the blocks that it has taken out.
struct Front<'a> {
    backend: Backend<'a>,
    random: ChaCha8Rng,
    leaves: BTreeMap<u64, Leaf>,
    out: BTreeMap<u64, [u8; 2]>,
    array: BTreeMap<u64, [u8; 2]>,
}

impl Front<'_> {
    fn leaf(&mut self) -> Leaf {
        Leaf(self.random.next_u64() % 8)
    }

    /// Accesses a block, or takes it out or puts it in again, and checks its contents.
    fn step(&mut self, block: u64, what: u8) {
        while self.backend.must_idle() || what.is_multiple_of(3) && self.backend.owed() > 0 {
            finish_now(self.backend.idle()).unwrap();
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
            let taken = self.backend.take_out(BlockId(block), old, |payload| found.copy_from_slice(payload));
            finish_now(taken).unwrap();
            self.leaves.remove(&block);
            self.out.insert(block, found);
        } else {
            let new = self.leaf();
            let written = [what, block as u8];
            let access = self.backend.access_at(BlockId(block), Handed { old, new }, |payload| {
                found.copy_from_slice(payload);
                payload.copy_from_slice(&written);
            });
            finish_now(access).unwrap();
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
        let (leaves, out, array) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut front = Front { backend: backend(&store), random: rng(seed), leaves, out, array };
        for (block, what) in steps {
            front.step(block, what);
        }
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

#[test]
fn an_access_a_taking_out_and_a_dummy_show_a_path_and_a_putting_in_shows_nothing() {
    let store = TraceStore::new(parameters().layout());
    let backend = backend(&store);
    let idle = || finish_now(backend.idle()).unwrap();
    let handed = Handed { old: None, new: Leaf(5) };
    let access = shown(&store, || finish_now(backend.access_at(BlockId(3), handed, |_| ())).unwrap());
    idle();
    let taken = shown(&store, || finish_now(backend.take_out(BlockId(3), Some(Leaf(5)), |_| ())).unwrap());
    idle();
    let dummy = shown(&store, || finish_now(backend.dummy()).unwrap());
    idle();
    let put = shown(&store, || backend.put_in(BlockId(3), Leaf(2), &[1, 2]).unwrap());
    assert_eq!((access, taken, dummy, put), (vec![3], vec![3], vec![3], vec![]));
}

#[test]
fn what_a_front_end_must_not_do_is_refused_and_changes_nothing() {
    let store = TraceStore::new(parameters().layout());
    // Room for one path and a block.
    let tight = PathParameters { stash_bound: 13, ..parameters() };
    let backend = PathOram::new(tight, Bucket(0), &store, HandedPositions::default(), rng(1)).unwrap();
    let put_in = |block, leaf| backend.put_in(BlockId(block), Leaf(leaf), &[0; 2]);
    let beyond = Handed { old: None, new: Leaf(8) };
    let access = finish_now(backend.access_at(BlockId(1), beyond, |_| ()));
    assert!(matches!(access, Err(OramError::Contradiction(_))));
    assert!(matches!(put_in(1, 8), Err(OramError::Contradiction(_))));
    assert!(matches!(put_in(CAPACITY, 0), Err(OramError::OutOfRange { .. })));
    (0..13).for_each(|block| put_in(block, 7).expect("there is room"));
    assert!(matches!(put_in(0, 7), Err(OramError::StashFull { held: 13, most: 13 })));
}

#[test]
fn a_block_that_waits_is_not_put_in_twice_and_is_found_where_it_was_put() {
    let store = TraceStore::new(parameters().layout());
    let backend = backend(&store);
    backend.put_in(BlockId(3), Leaf(7), &[1, 2]).unwrap();
    let again = backend.put_in(BlockId(3), Leaf(7), &[1, 2]);
    assert!(matches!(again, Err(OramError::Contradiction(_))));
    let handed = Handed { old: Some(Leaf(7)), new: Leaf(0) };
    let mut found = Vec::new();
    finish_now(backend.access_at(BlockId(3), handed, |payload| found.extend_from_slice(payload))).unwrap();
    assert_eq!(found, [1, 2]);
}
