//! Tests of CURIOUS beyond right answers.

use super::setup::*;
use ameles_core::oram::{Access, Bounds, Oram, OramError};
use ameles_core::partitions::{Addressed, Partitions, PartitionsParameters};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::curious::{CuriousOram, CuriousParameters, Logged, log_layout};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::schemes::ring::{RingOram, RingParameters};
use ameles_core::store::Store;
use ameles_core::testing::TraceStoreError;
use ameles_core::testing::oblivious::{Batches, Sequence};
use ameles_core::testing::parameters::check_refusals;
use ameles_core::testing::{ArrayModel, Operation, TraceEntry, TraceStore, finish_now};
use ameles_core::tree::layout::Layout;
use ameles_core::types::{BlockId, Bucket};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use std::rc::Rc;

fn parameters() -> CuriousParameters {
    CuriousParameters::for_capacity(400, 5, MAX_BATCH)
}

#[test]
fn costs_are_as_documented() {
    let parameters = parameters();
    let store = TraceStore::new(parameters.layout());
    let oram = curious_oram(&parameters, &store, 1);
    let mut model = ArrayModel::new(400, 5);
    let levels = parameters.tree.levels as usize;
    for block in [7, 8, 7, 7, 9] {
        finish_now(model.batch(&oram, &[Operation::Read(BlockId(block))]));
        assert_eq!(traffic(&store.take_trace()), (levels, 0));
        assert_eq!((oram.pending_steps(), oram.must_step()), (1, false));
        finish_now(oram.step()).unwrap();
        assert_eq!(traffic(&store.take_trace()), (0, levels));
        assert_eq!(oram.pending_steps(), 0);
    }
    // Six accesses, with a path each. The paths of one partition are written in between.
    finish_now(model.batch(&oram, &[const { Operation::Dummy }; 6]));
    let reads = |entry: &&TraceEntry| matches!(entry, TraceEntry::Read(_));
    assert_eq!(store.take_trace().iter().filter(reads).count(), 6);
}

#[test]
fn the_trees_are_those_of_the_authors_for_the_sizes_of_the_thesis() {
    // Blocks, partitions, buckets of a tree and of a path: from the counts that the thesis prints.
    for (blocks, partitions, buckets, levels) in [
        (81_920, 287, 121, 5),
        (20_480, 144, 121, 5),
        (5120, 72, 40, 4),
        (1280, 36, 40, 4),
        (320, 18, 13, 3),
        (327_680, 573, 364, 6),
    ] {
        let CuriousParameters { partitions: common, tree } = CuriousParameters::for_capacity(blocks, 0, 1);
        assert_eq!((common.partitions, tree.buckets(), tree.levels), (partitions, buckets, levels));
    }
}

#[test]
fn the_planned_trusted_side_is_enough_for_sequences_that_come_back() {
    check_planned_cache(5, |capacity| {
        let parameters = CuriousParameters::for_capacity(capacity, 0, MAX_BATCH);
        let (common, layout) = (parameters.partitions.clone(), parameters.layout());
        (common, layout, move |store: &Rc<TraceStore>| curious_oram(&parameters, Rc::clone(store), 1))
    });
}

#[test]
fn a_trusted_side_without_room_makes_idle_put_more() {
    let mut parameters = parameters();
    parameters.partitions.cache_bound = 2 * MAX_BATCH;
    let store = TraceStore::new(parameters.layout());
    let oram = curious_oram(&parameters, &store, 1);
    let mut model = ArrayModel::new(400, 5);
    for nth in 0..400 {
        while oram.must_step() {
            assert!(matches!(finish_now(oram.access(&mut [Access::Dummy])), Err(OramError::Backlogged)));
            finish_now(oram.step()).unwrap();
        }
        finish_now(model.batch(&oram, &[Operation::Write(BlockId(nth), nth as u8)]));
    }
    assert!(oram.emergencies() > 0);
    finish_now(model.read_all(&StepsWhenBacklogged(&oram)));
}

/// Drives what must come first before each access.
struct StepsWhenBacklogged<'a, O>(&'a O);

impl<O: Oram> Oram for StepsWhenBacklogged<'_, O> {
    type Error = O::Error;

    fn bounds(&self) -> Bounds {
        self.0.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<O::Error>> {
        while self.0.must_step() {
            self.0.step().await?;
        }
        self.0.access(batch).await
    }
}

fn common(capacity: u64) -> PartitionsParameters {
    PartitionsParameters {
        capacity,
        block_bytes: 3,
        partitions: 4,
        sweep_evictions: 1,
        sweep_accesses: 2,
        cache_bound: 500,
        max_batch: MAX_BATCH,
    }
}

proptest! {
    #[test]
    fn partitions_of_path_oram_answer_like_an_array_in_whatever_order_the_store_finishes(
        steps in schedule(30),
        seed: u64,
    ) {
        let path = PathParameters { max_batch: 4, ..lone_path(12, 3, 3) };
        let layout = path.layout();
        let mut all = layout.clone();
        (1..4).for_each(|_| { all.append(&layout); });
        let store = TraceStore::new(all);
        let oram = Partitions::new(common(30), rng(seed), |nth| {
            let first = Bucket(u64::from(nth) * layout.buckets());
            let positions = FlatPositionMap::new(Positions::new(12));
            let path = PathOram::new(path.clone(), first, &store, positions, rng(!seed));
            Ok(Addressed::new(path.unwrap(), 2))
        });
        drive(&oram.unwrap(), &store, &steps);
    }
}

#[test]
fn partitions_of_ring_oram_answer_like_an_array() {
    let ring = RingParameters::for_capacity(12, 3, 0, MAX_BATCH);
    let stores: Vec<TraceStore> = (0..4).map(|_| TraceStore::new(ring.geometry().layout())).collect();
    let oram = Partitions::new(common(30), rng(1), |nth| {
        let positions = FlatPositionMap::new(Positions::new(12));
        let ring = RingOram::new(ring.clone(), &stores[nth as usize], positions, rng(nth.into()));
        Ok(Addressed::new(ring.unwrap(), 2))
    });
    let oram = oram.unwrap();
    let mut model = ArrayModel::new(30, 3);
    for batch in Sequence::Mixed.operations(30, Batches { count: 300, max: MAX_BATCH as usize, seed: 1 }, 1) {
        finish_now(model.batch(&oram, &batch));
        finish_now(oram.step()).unwrap();
    }
    finish_now(model.read_all(&oram));
}

pub(crate) fn logged<S: Store<Error = TraceStoreError> + Clone>(
    parameters: &CuriousParameters,
    store: S,
    slots: u64,
    seed: u64,
) -> Logged<CuriousOram<S, ChaCha8Rng>, S> {
    let first = Bucket(parameters.layout().buckets());
    Logged::new(curious_oram(parameters, store.clone(), seed), slots, first, store).unwrap()
}

pub(crate) fn logged_layout(parameters: &CuriousParameters, slots: u64) -> Layout {
    let mut layout = parameters.layout();
    layout.append(&log_layout(slots, parameters.partitions.block_bytes as usize));
    layout
}

#[test]
fn the_log_holds_the_newest_contents_of_what_was_accessed_last() {
    let (parameters, slots) = (parameters(), 50);
    let store = TraceStore::new(logged_layout(&parameters, slots));
    let oram = logged(&parameters, &store, slots, 1);
    let mut model = ArrayModel::new(400, 5);
    let first = parameters.layout().buckets();
    let (mut last, mut begun) = (Vec::new(), 0);
    for nth in 0..200u64 {
        let block = BlockId(nth * nth % 60);
        let batch = [Operation::Write(block, nth as u8), Operation::Dummy, Operation::Read(BlockId(nth % 7))];
        finish_now(model.batch(&oram, &batch));
        finish_now(oram.step()).unwrap();
        last.extend([Some(block), None, Some(BlockId(nth % 7))]);
        let writes = store.take_trace().into_iter().filter_map(|entry| match entry {
            TraceEntry::Write(buckets) => {
                Some(buckets.into_iter().map(|bucket| bucket.0).collect::<Vec<u64>>())
            }
            TraceEntry::Read(_) => None,
        });
        let log: Vec<u64> = writes.flatten().filter(|bucket| *bucket >= first).collect();
        assert_eq!(log, (begun..begun + 3).map(|nth| first + nth % slots).collect::<Vec<u64>>());
        begun += 3;
    }
    let found = finish_now(oram.read()).unwrap();
    let due: Vec<BlockId> = last.iter().rev().take(50).copied().flatten().collect();
    assert_eq!(found.iter().map(|(block, _)| *block).collect::<Vec<_>>(), due);
    for block in (0..60).map(BlockId) {
        if let Some((_, payload)) = found.iter().find(|(found, _)| *found == block) {
            let mut read = [0; 5];
            finish_now(oram.access(&mut [Access::Read(block, &mut read)])).unwrap();
            assert_eq!(read[..], payload[..]);
        }
    }
}

#[test]
fn a_log_without_slots_is_refused() {
    let store = TraceStore::new(logged_layout(&parameters(), 1));
    let refused = Logged::new(curious_oram(&parameters(), &store, 1), 0, Bucket(0), &store).err().unwrap();
    assert_eq!(refused.to_string(), "slots is 0; choose 1 to 2147483648");
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    check_refusals(
        &parameters(),
        CuriousParameters::validate,
        &[
            ("capacity is 0", |p| p.partitions.capacity = 0),
            ("partitions is 0", |p| p.partitions.partitions = 0),
            ("sweep_accesses is 0", |p| p.partitions.sweep_accesses = 0),
            ("max_batch is 0", |p| p.partitions.max_batch = 0),
            ("cache_bound is 11", |p| p.partitions.cache_bound = 11),
            ("arity is 1", |p| p.tree.arity = 1),
            ("levels is 0", |p| p.tree.levels = 0),
            ("leaves is 4294967296", |p| (p.tree.arity, p.tree.levels) = (16, 9)),
            ("blocks_per_bucket is 0", |p| p.tree.blocks_per_bucket = 0),
            ("capacity is 66", |p| p.tree.capacity = 66),
        ],
    );
}
