//! Freecursive ORAM: its answers, the paths that it shows, and the paths that its buffer and the tree top save.

use super::setup::*;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::schemes::freecursive::{
    BackendParameters, FreecursiveOram, FreecursiveParameters, FreecursiveParametersError, NextPath,
    PositionStorage, TAG_BYTES, TrustedHits,
};
use ameles_core::schemes::path::{BucketsByLevel, PathParameters, TreeTopParameters};
use ameles_core::schemes::raw::RawParameters;
use ameles_core::schemes::ring::{RingBucket, RingParameters};
use ameles_core::store::Store;
use ameles_core::testing::{TraceEntry, TraceStore, TraceStoreError, exercise, finish_now};
use ameles_core::types::{BlockId, Bucket};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

/// A tree for `capacity` blocks of the user, with at most two levels of PosMap blocks. This many levels of its top are
/// on the trusted side.
pub(super) fn parameters(capacity: u64, levels: u32, hits: TrustedHits) -> FreecursiveParameters {
    let (labels, trusted_positions) = (3, 2 + capacity / 9);
    let blocks = FreecursiveParameters::tree_capacity(capacity, labels, trusted_positions);
    let leaf_level = (2..).find(|level| 4 << level >= blocks).expect("some tree has room");
    let top = TreeTopParameters {
        levels: levels.min(leaf_level),
        ways: (hits == TrustedHits::AnswerAtOnce).then_some(1),
    };
    let path = PathParameters { stash_bound: 1000, ..lone_path(blocks, 13, leaf_level) };
    FreecursiveParameters {
        capacity,
        labels,
        trusted_positions,
        look_aside: 4,
        look_aside_ways: 2,
        positions: PositionStorage::InBlocks,
        hits,
        max_batch: MAX_BATCH,
        tree: BackendParameters::Path { buckets: BucketsByLevel::uniform(path).unwrap(), top },
    }
}

/// The parameters over RAW ORAM, whose evictions come after every third path.
fn over_raw(base: FreecursiveParameters) -> FreecursiveParameters {
    let tree = BackendParameters::Raw(RawParameters {
        capacity: base.tree.capacity(),
        block_bytes: base.tree.block_bytes(),
        leaf_level: base.tree.leaf_level(),
        top: base.tree.top(),
        blocks_per_bucket: 4,
        eviction_rate: 3,
        max_batch: 1,
        stash_bound: 1000,
    });
    FreecursiveParameters { tree, hits: without_index(base.hits), ..base }
}

/// The parameters over Ring ORAM, whose evictions come after every third path. Its buckets have `fewer` slots less than
/// blocks and dummies.
pub(super) fn over_ring(base: FreecursiveParameters, fewer: u32) -> FreecursiveParameters {
    let reads = 6;
    let bucket = |blocks| RingBucket { blocks, slots: blocks + reads - fewer };
    let tree = BackendParameters::Ring(RingParameters {
        capacity: base.tree.capacity(),
        block_bytes: base.tree.block_bytes(),
        leaf_level: base.tree.leaf_level(),
        top: base.tree.top(),
        eviction_rate: 3,
        reads,
        inner: bucket(4),
        leaf: bucket(10),
        max_batch: 1,
        stash_bound: 1000,
        slice_slots: u32::MAX,
    });
    FreecursiveParameters { tree, hits: without_index(base.hits), ..base }
}

/// The nearest that there is without an index of the tree top.
fn without_index(hits: TrustedHits) -> TrustedHits {
    if hits == TrustedHits::AnswerAtOnce { TrustedHits::StashAnswers } else { hits }
}

/// The parameters with a changed Path ORAM.
pub(super) fn with_path(
    base: FreecursiveParameters,
    change: impl FnOnce(&mut PathParameters),
) -> FreecursiveParameters {
    let BackendParameters::Path { buckets, top } = base.tree else { panic!("it is over Path ORAM") };
    let mut path = buckets.parameters().clone();
    change(&mut path);
    let tree = BackendParameters::Path { buckets: BucketsByLevel::uniform(path).unwrap(), top };
    FreecursiveParameters { tree, ..base }
}

/// The parameters with counters of this many bits more than the minimum, and with tags if `tags`.
pub(super) fn counted(base: FreecursiveParameters, more_bits: u32, tags: bool) -> FreecursiveParameters {
    let bits = more_bits + FreecursiveParameters::min_bits(base.address_space().maps(), base.labels);
    let positions = PositionStorage::Counters { bits, tags };
    let more = if tags { TAG_BYTES as u32 } else { 0 };
    with_path(FreecursiveParameters { positions, ..base }, |path| path.block_bytes += more)
}

pub(crate) fn small() -> impl Strategy<Value = FreecursiveParameters> {
    let hits = prop_oneof![
        Just(TrustedHits::ReadThePath),
        Just(TrustedHits::StashAnswers),
        Just(TrustedHits::SaveThePath),
        Just(TrustedHits::AnswerAtOnce),
    ];
    let shape = (1u64..60, 0u32..4, hits, 0usize..3, 0..4, 0..4);
    shape.prop_map(|(capacity, levels, hits, ways, positions, tree)| {
        let (look_aside, look_aside_ways) = [(1, 1), (4, 1), (6, 3)][ways];
        let hits = if positions == 3 { TrustedHits::ReadThePath } else { hits };
        let base =
            FreecursiveParameters { look_aside, look_aside_ways, ..parameters(capacity, levels, hits) };
        let base = match positions {
            0 => FreecursiveParameters { positions: PositionStorage::Separate, ..base },
            1 => base,
            counters => counted(base, 0, counters == 3),
        };
        match tree {
            0 => base,
            1 => over_raw(base),
            2 => over_ring(base, 0),
            _ => over_ring(base, 4),
        }
    })
}

pub(crate) fn oram<S: Store<Error = TraceStoreError>>(
    parameters: &FreecursiveParameters,
    store: S,
    seed: u64,
) -> FreecursiveOram<S, ChaCha8Rng> {
    FreecursiveOram::new(parameters.clone(), Bucket(0), store, rng(seed)).unwrap()
}

proptest! {
    #[test]
    fn positions_aside_show_the_same_trace_as_positions_in_blocks(
        (parameters, batches) in small().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
    ) {
        let trace = |positions| {
            let parameters = FreecursiveParameters { positions, ..parameters.clone() };
            let store = TraceStore::new(parameters.tree.layout());
            exercise(&oram(&parameters, &store, seed), &batches, true);
            store.take_trace()
        };
        assert_eq!(trace(PositionStorage::Separate), trace(PositionStorage::InBlocks));
    }

    /// A processor takes lines out, changes them, and puts them in again when its cache evicts them.
    #[test]
    fn blocks_that_are_taken_out_and_put_in_again_step_by_step_answer_like_an_array(
        (parameters, steps) in small().prop_flat_map(|p| {
            let capacity = p.capacity;
            (Just(p), prop::collection::vec((0..capacity, any::<u8>()), 1..120))
        }),
        seed: u64,
    ) {
        let store = TraceStore::new(parameters.tree.layout());
        let mut processor = Processor::new(oram(&parameters, &store, seed), parameters.capacity);
        steps.into_iter().for_each(|(block, value)| processor.step(block, value));
    }
}

/// Blocks that are out, and the contents that all should have.
pub(super) struct Processor<S: Store> {
    oram: FreecursiveOram<S, ChaCha8Rng>,
    out: Vec<bool>,
    array: Vec<[u8; 13]>,
}

impl<S: Store> Processor<S> {
    pub(super) fn new(oram: FreecursiveOram<S, ChaCha8Rng>, capacity: u64) -> Self {
        let capacity = capacity as usize;
        Processor { oram, out: vec![false; capacity], array: vec![[0; 13]; capacity] }
    }

    fn settle(&self) {
        while self.oram.pending_steps() > 0 {
            finish_now(self.oram.step()).unwrap();
        }
    }

    /// Puts a block in if it is out; otherwise takes it out, or accesses it. Checks its contents.
    pub(super) fn step(&mut self, block: u64, value: u8) {
        let (at, id) = (block as usize, BlockId(block));
        let expected = self.array[at];
        let holds = |payload: &mut [u8]| assert_eq!(payload, expected, "block {block}");
        let (changes, takes) = (value & 1 == 1, value & 2 == 0);
        if value >= 224 {
            self.switch_contexts();
        }
        if self.out[at] {
            self.bring_in(id);
            self.turn(id);
            self.array[at].fill(value);
            self.oram.put_block_in(id, &self.array[at]).unwrap();
            self.out[at] = false;
        } else if takes && self.oram.take_trusted_block_out(id, holds).unwrap() {
            self.out[at] = true;
        } else if changes || self.oram.answer(id, holds).unwrap().is_none() {
            self.bring_in(id);
            self.turn(id);
            let serve = |payload: &mut [u8]| {
                holds(payload);
                payload.fill(value);
            };
            if takes {
                finish_now(self.oram.take_block_out(id, serve)).unwrap();
                self.out[at] = true;
            } else {
                finish_now(self.oram.access_block(id, serve)).unwrap();
                self.array[at].fill(value);
            }
        }
        self.settle();
    }

    /// Moves a straggler of the group that counts for a block, if there is one.
    fn turn(&self, block: BlockId) {
        finish_now(self.oram.remap_straggler(block)).unwrap();
        self.settle();
    }

    /// Writes the tree top out and reads it back: its blocks are where they were.
    fn switch_contexts(&self) {
        let Some(tree) = self.oram.tree().as_path() else { return };
        let before = tree.trusted_blocks();
        finish_now(tree.write_back_trusted()).unwrap();
        assert_eq!(tree.trusted_blocks().len(), tree.stash_blocks(), "the tree top is empty");
        finish_now(tree.resume()).unwrap();
        assert_eq!(tree.trusted_blocks(), before);
    }

    fn bring_in(&self, block: BlockId) {
        while let NextPath::PosMap(lacking) = self.oram.next(block).unwrap() {
            self.turn(lacking);
            finish_now(self.oram.fetch(lacking)).unwrap();
            self.settle();
        }
    }
}

/// The sizes of the reads and of the writes of a trace, in its order.
fn sizes(trace: &[TraceEntry]) -> Vec<(char, usize)> {
    let size = |entry: &TraceEntry| match entry {
        TraceEntry::Read(slots) => ('r', slots.len()),
        TraceEntry::Write(buckets) => ('w', buckets.len()),
    };
    trace.iter().map(size).collect()
}

#[test]
fn an_access_shows_as_many_paths_as_there_are_levels_whatever_the_buffer_and_the_tree_top_hold() {
    for hits in [TrustedHits::ReadThePath, TrustedHits::SaveThePath, TrustedHits::AnswerAtOnce] {
        let parameters = parameters(50, 2, hits);
        assert_eq!(parameters.paths_per_access(), 3);
        assert_shows_all_paths(&parameters);
        assert_shows_all_paths(&counted(parameters, 0, false));
    }
    assert_shows_all_paths(&counted(parameters(50, 2, TrustedHits::ReadThePath), 0, true));
}

/// Each access shows a path for each level and, with counters, one for group remaps.
fn assert_shows_all_paths(parameters: &FreecursiveParameters) {
    let has_counters = matches!(parameters.positions, PositionStorage::Counters { .. });
    let paths = 3 + usize::from(has_counters);
    assert_eq!(parameters.paths_per_access() as usize, paths);
    let store = TraceStore::new(parameters.tree.layout());
    let oram = oram(parameters, &store, 1);
    let path = (parameters.tree.leaf_level().0 + 1 - parameters.tree.top().0) as usize;
    let (read, write) = (('r', path), ('w', path));
    for block in [0, 0, 1, 49, 0, 7, 7, 20] {
        finish_now(oram.access(&mut [Access::Read(BlockId(block), &mut [0; 13]), Access::Dummy])).unwrap();
        finish_now(oram.step()).unwrap();
        let expected = [read, write].repeat(2 * paths);
        assert_eq!(sizes(&store.take_trace()), expected, "{parameters:?}, block {block}");
    }
    assert_eq!(oram.emergencies(), 0);
}

#[test]
fn the_buffer_saves_the_paths_of_posmap_blocks_that_it_holds() {
    let parameters = parameters(50, 0, TrustedHits::ReadThePath);
    let store = TraceStore::new(parameters.tree.layout());
    let processor = Processor::new(oram(&parameters, &store, 1), 50);
    let paths = |block| {
        let before = store.take_trace().len();
        assert_eq!(before, 0);
        processor.bring_in(BlockId(block));
        store.take_trace().len() / 2
    };
    // Three positions a PosMap block: 0 to 2 share one, 0 to 8 share one of the second level.
    assert_eq!([0, 2, 3, 9].map(paths), [2, 0, 1, 2]);
}

#[test]
fn parameters_that_make_no_sense_are_refused_with_their_reason() {
    let good = parameters(50, 2, TrustedHits::SaveThePath);
    assert_eq!(good.validate(), Ok(()));
    let refused = |change: fn(&mut FreecursiveParameters)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad.validate().unwrap_err()
    };
    let named = |change| match refused(change) {
        FreecursiveParametersError::OutOfRange(out) => out.name,
        other => panic!("{other}"),
    };
    assert_eq!(named(|p| p.capacity = 0), "capacity");
    assert_eq!([named(|p| p.labels = 1), named(|p| p.labels = 4)], ["labels"; 2], "13 bytes hold three");
    assert_eq!(named(|p| p.trusted_positions = 0), "trusted_positions");
    assert_eq!(named(|p| p.look_aside = 0), "look_aside");
    assert_eq!(named(|p| p.look_aside_ways = 5), "look_aside_ways");
    assert_eq!(named(|p| p.max_batch = 0), "max_batch");
    let ways = refused(|p| p.look_aside_ways = 3);
    assert_eq!(ways, FreecursiveParametersError::Ways { blocks: 4, ways: 3 });
    let capacity = refused(|p| p.capacity = 49);
    assert!(matches!(capacity, FreecursiveParametersError::Capacity { .. }), "{capacity}");
    assert_eq!(refused(|p| p.hits = TrustedHits::AnswerAtOnce), FreecursiveParametersError::Index);
    let indexed = refused(|p| {
        if let BackendParameters::Path { top, .. } = &mut p.tree {
            top.ways = Some(2);
        }
    });
    assert_eq!(indexed, FreecursiveParametersError::Index);
    let raw = FreecursiveParameters { hits: TrustedHits::AnswerAtOnce, ..over_raw(good.clone()) };
    assert_eq!(raw.validate(), Err(FreecursiveParametersError::Index));
    let ring = FreecursiveParameters { hits: TrustedHits::AnswerAtOnce, ..over_ring(good.clone(), 0) };
    assert_eq!(ring.validate(), Err(FreecursiveParametersError::Index));

    const fn counters(bits: u32, tags: bool) -> PositionStorage {
        PositionStorage::Counters { bits, tags }
    }
    let few = refused(|p| p.positions = counters(8, false));
    assert_eq!(few, FreecursiveParametersError::CounterBits { bits: 8, min: 9 });
    assert_eq!(named(|p| p.positions = counters(14, false)), "labels", "5 bytes hold no 3 times 14 bits");
    assert_eq!(named(|p| p.positions = counters(33, false)), "bits of a counter");
    assert_eq!(named(|p| p.positions = counters(10, true)), "block_bytes", "a tag alone has 16");
    let tagged = counted(good.clone(), 0, true);
    assert_eq!(tagged.validate(), Err(FreecursiveParametersError::Tags), "hits save paths");
    let reads = FreecursiveParameters { hits: TrustedHits::ReadThePath, ..tagged };
    assert_eq!((reads.validate(), reads.user_bytes()), (Ok(()), 13));
}

#[test]
fn steps_out_of_their_order_are_refused() {
    let parameters = parameters(50, 0, TrustedHits::ReadThePath);
    let store = TraceStore::new(parameters.tree.layout());
    let oram = oram(&parameters, &store, 1);
    let NextPath::PosMap(lacking) = oram.next(BlockId(7)).unwrap() else { panic!("the buffer is empty") };
    let early = [
        finish_now(oram.access_block(BlockId(7), |_| ())),
        finish_now(oram.take_block_out(BlockId(7), |_| ())),
        oram.put_block_in(BlockId(7), &[0; 13]),
        finish_now(oram.fetch(BlockId(7))),
    ];
    assert!(early.iter().all(|refused| matches!(refused, Err(OramError::Contradiction(_)))));
    assert!(matches!(oram.next(BlockId(50)), Err(OramError::OutOfRange { .. })));
    finish_now(oram.fetch(lacking)).unwrap();
    assert!(matches!(finish_now(oram.fetch(lacking)), Err(OramError::Contradiction(_))));
}
