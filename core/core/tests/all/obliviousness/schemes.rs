//! The schemes as they are.

use super::setup::*;
use crate::circuit::setup::flat_circuit;
use crate::model::setup::{self as model, flat_map, flat_path, lone_path};
use crate::raw::setup::flat_raw;
use crate::ring::setup::flat_ring;
use ameles_core::partitions::PartitionsParameters;
use ameles_core::schemes::circuit::CircuitParameters;
use ameles_core::schemes::curious::{CuriousOram, CuriousParameters, TreeShape, curious};
use ameles_core::schemes::freecursive::{
    BackendParameters, FreecursiveOram, FreecursiveParameters, PositionStorage, TrustedHits,
};
use ameles_core::schemes::hierarchical::HierarchicalParameters;
use ameles_core::schemes::oblivistore::{ObliviStore, ObliviStoreParameters, PartitionShape, oblivistore};
use ameles_core::schemes::path::{BucketsByLevel, PathOram, PathParameters, TreeTopParameters};
use ameles_core::schemes::practical_os::PracticalOsParameters;
use ameles_core::schemes::raw::RawParameters;
use ameles_core::schemes::ring::{RingBucket, RingParameters};
use ameles_core::schemes::square_root::SquareRootParameters;
use ameles_core::schemes::trivial::{TrivialOram, TrivialParameters};
use ameles_core::store::Store;
use ameles_core::testing::oblivious::{
    Adversary, Observer, circuit, freecursive, hierarchical, partitions, path, permuted, raw, ring, trivial,
};
use ameles_core::testing::small_ring;
use ameles_core::types::{Bucket, Level};
use rand_chacha::ChaCha8Rng;

/// Sixteen leaves in two subtrees; every bucket with all its dummies.
pub(crate) fn whole_buckets() -> RingParameters {
    RingParameters { block_bytes: 1, max_batch: MAX_BATCH, ..small_ring(10) }
}

/// The parameters of [`whole_buckets`] with as few slots as possible.
pub(crate) fn compacted_buckets() -> RingParameters {
    RingParameters {
        inner: RingBucket { blocks: 4, slots: 10 },
        leaf: RingBucket { blocks: 10, slots: 10 },
        ..whole_buckets()
    }
}

/// The parameters of [`whole_buckets`] with very few slots: a full bucket has one dummy, and further reads of it take
/// blocks.
pub(crate) fn crowded_buckets() -> RingParameters {
    RingParameters {
        reads: MAX_BATCH + 1,
        inner: RingBucket { blocks: 4, slots: 5 },
        leaf: RingBucket { blocks: 10, slots: 10 },
        ..whole_buckets()
    }
}

/// The parameters of [`whole_buckets`] with three slices for each eviction.
pub(crate) fn sliced_buckets() -> RingParameters {
    RingParameters { slice_slots: 28, ..whole_buckets() }
}

/// Makes functions of parameters and runs, each with the leaves of a tree, the rate of evictions and the observer.
macro_rules! subjects {
    ($($(#[$doc:meta])* $name:ident($parameters:ident: $type:ty), $leaves:expr, $rate:expr, $observer:path;)*) => {
        $($(#[$doc])*
        pub(crate) fn $name<'a>($parameters: $type, run: Run<'a>) -> Subject<'a> {
            Subject::over_many_runs(
                ($parameters.capacity, $parameters.max_batch),
                $leaves,
                $rate,
                run,
                move |adversary, seed| $observer(&$parameters, adversary, seed),
            )
        })*
    };
}
subjects! {
    /// Runs of a Path ORAM with a flat position map, and the observer of it.
    path_subject(parameters: PathParameters), 1 << parameters.leaf_level.0, rate(1, 1), path::observer;
    /// Runs of a Circuit ORAM with a flat position map, and the observer of it.
    circuit_subject(parameters: CircuitParameters), 1 << parameters.leaf_level.0, rate(2, 1), circuit::observer;
    /// Runs of a RAW ORAM with a flat position map, and the observer of it.
    raw_subject(parameters: RawParameters), 1 << parameters.leaf_level.0, rate(1, parameters.eviction_rate), raw::observer;
    /// Runs of a Square-Root ORAM, and the observer of it.
    square_root_subject(parameters: SquareRootParameters), 1, rate(1, 1), permuted::square_root;
    /// Runs of a hierarchical ORAM, and the observer of it.
    hierarchical_subject(parameters: HierarchicalParameters), 1, rate(1, 1), hierarchical::observer;
    /// Runs of a PracticalOS, and the observer of it.
    practical_os_subject(parameters: PracticalOsParameters), 1, rate(1, 1), permuted::practical_os;
}

/// Judges a scheme of these parameters, which is built from them, a store and a seed, at each pace.
macro_rules! judge {
    ($name:expr, $parameters:expr, $build:path, $subject:path, [$($pace:ident),*]) => {
        let parameters = $parameters;
        let run = runs(parameters.layout(), |store, seed| $build(&parameters, store, seed));
        $subject(parameters.clone(), &run).must_pass($name, &[$(PaceKind::$pace),*]);
    };
}

/// Runs of a Ring ORAM, and the observer of it.
pub(crate) fn ring_subject<'a>(parameters: &'a RingParameters, run: Run<'a>) -> Subject<'a> {
    Subject::over_many_runs(
        (parameters.capacity, parameters.max_batch),
        1 << parameters.leaf_level.0,
        rate(parameters.slices().len() as u64, parameters.eviction_rate),
        run,
        |adversary, seed| ring::observer(parameters, adversary, seed),
    )
}

fn judge_ring(name: &str, parameters: &RingParameters, pace_kind: &[PaceKind]) {
    assert_eq!(parameters.validate(), Ok(()));
    let run = runs(parameters.geometry().layout(), |store, seed| flat_ring(parameters, store, seed));
    ring_subject(parameters, &run).must_pass(name, pace_kind);
}

#[test]
fn ring_oram_shows_nothing_of_what_was_asked() {
    let pace_kind = [PaceKind::Prompt, PaceKind::Late, PaceKind::Pipelined];
    judge_ring("whole buckets", &whole_buckets(), &pace_kind);
}

#[test]
fn ring_oram_with_compacted_buckets_shows_nothing_of_what_was_asked() {
    judge_ring("compacted buckets", &compacted_buckets(), &[PaceKind::Late]);
}

#[test]
fn ring_oram_whose_buckets_run_out_of_dummies_shows_nothing_of_what_was_asked() {
    judge_ring("crowded buckets", &crowded_buckets(), &[PaceKind::Concurrent]);
}

#[test]
fn ring_oram_in_slices_shows_nothing_of_what_was_asked() {
    assert_eq!(sliced_buckets().slices().len(), 3);
    judge_ring("slices", &sliced_buckets(), &[PaceKind::Prompt, PaceKind::Late, PaceKind::Pipelined]);
    let crowded = RingParameters { slice_slots: 10, ..crowded_buckets() };
    judge_ring("slices of crowded buckets", &crowded, &[PaceKind::Pipelined]);
}

#[test]
fn ring_oram_as_planned_shows_nothing_of_what_was_asked() {
    judge_ring("as planned", &RingParameters::for_capacity(128, 1, 96, MAX_BATCH), &[PaceKind::Late]);
}

pub(crate) fn path_parameters() -> PathParameters {
    PathParameters {
        capacity: 64,
        block_bytes: 1,
        leaf_level: Level(5),
        top: Level(1),
        blocks_per_bucket: 4,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

#[test]
fn path_oram_shows_nothing_of_what_was_asked() {
    judge!("path", path_parameters(), flat_path, path_subject, [Prompt, Late, Concurrent]);
}

#[test]
fn path_oram_with_buckets_by_level_shows_nothing_of_what_was_asked() {
    let parameters = path_parameters();
    let buckets = BucketsByLevel::new(parameters.clone(), vec![1, 2, 2, 3, 4]).expect("valid");
    let run = runs(buckets.layout(), |store, seed| {
        PathOram::with_buckets(&buckets, Bucket(0), store, flat_map(parameters.capacity), rng(seed))
    });
    path_subject(parameters.clone(), &run).must_pass("path, by level", &[PaceKind::Prompt, PaceKind::Late]);
}

/// Two levels of PosMap blocks, a buffer of four, and three levels of the tree on the trusted side.
pub(crate) fn freecursive_parameters(hits: TrustedHits) -> FreecursiveParameters {
    let (capacity, labels, trusted_positions) = (32, 3, 4);
    let blocks = FreecursiveParameters::tree_capacity(capacity, labels, trusted_positions);
    let tree = PathParameters { stash_bound: 1000, ..lone_path(blocks, 12, 5) };
    let ways = (hits == TrustedHits::AnswerAtOnce).then_some(2);
    FreecursiveParameters {
        capacity,
        labels,
        trusted_positions,
        look_aside: 4,
        look_aside_ways: 1,
        positions: PositionStorage::InBlocks,
        hits,
        max_batch: MAX_BATCH,
        tree: BackendParameters::Path {
            buckets: BucketsByLevel::uniform(tree).expect("valid"),
            top: TreeTopParameters { levels: 3, ways },
        },
    }
}

/// Runs of a Freecursive ORAM, and the observer of path number `shown` of each access.
pub(crate) fn freecursive_subject<'a>(
    parameters: FreecursiveParameters,
    shown: u32,
    run: Run<'a>,
) -> Subject<'a> {
    Subject::over_many_runs(
        (parameters.capacity, parameters.max_batch),
        1 << parameters.tree.leaf_level().0,
        rate(1, 1),
        run,
        move |adversary, seed| freecursive::observer(&parameters, shown, adversary, seed),
    )
}

#[test]
fn freecursive_oram_shows_nothing_of_what_was_asked_nor_of_what_its_buffer_saves() {
    let parameters = freecursive_parameters(TrustedHits::ReadThePath);
    let run = runs(parameters.tree.layout(), |store, seed| {
        FreecursiveOram::new(parameters.clone(), Bucket(0), store, rng(seed)).expect("valid")
    });
    for shown in 0..parameters.paths_per_access() {
        freecursive_subject(parameters.clone(), shown, &run)
            .must_pass("freecursive", &[PaceKind::Prompt, PaceKind::Late]);
    }
}

pub(crate) fn circuit_parameters() -> CircuitParameters {
    CircuitParameters {
        capacity: 64,
        block_bytes: 1,
        leaf_level: Level(5),
        top: Level(1),
        blocks_per_bucket: 2,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

#[test]
fn circuit_oram_shows_nothing_of_what_was_asked() {
    judge!("circuit", circuit_parameters(), flat_circuit, circuit_subject, [Prompt, Late, Concurrent]);
}

pub(crate) fn raw_parameters() -> RawParameters {
    RawParameters {
        capacity: 64,
        block_bytes: 1,
        leaf_level: Level(5),
        top: Level(1),
        blocks_per_bucket: 3,
        eviction_rate: 3,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

#[test]
fn raw_oram_shows_nothing_of_what_was_asked() {
    judge!("raw", raw_parameters(), flat_raw, raw_subject, [Prompt, Late, Concurrent]);
}

pub(crate) fn trivial_parameters() -> TrivialParameters {
    TrivialParameters { capacity: 10, block_bytes: 1, chunk_blocks: 4, max_batch: MAX_BATCH }
}

/// Runs of a Trivial ORAM, and the observer of it.
pub(crate) fn trivial_subject<'a>(parameters: TrivialParameters, run: Run<'a>) -> Subject<'a> {
    Subject::over_many_runs(
        (parameters.capacity, parameters.max_batch),
        1,
        rate(1, 1),
        run,
        move |adversary, _| trivial::observer(&parameters, adversary),
    )
}

#[test]
fn trivial_oram_shows_nothing_of_what_was_asked() {
    let run = runs(trivial_parameters().layout(), |store, _| {
        TrivialOram::new(trivial_parameters(), Bucket(0), store).expect("valid")
    });
    trivial_subject(trivial_parameters(), &run)
        .must_pass("trivial", &[PaceKind::Prompt, PaceKind::Concurrent]);
}

pub(crate) fn square_root_parameters() -> SquareRootParameters {
    SquareRootParameters { capacity: 16, block_bytes: 1, shelter: 9, run_blocks: 9, max_batch: MAX_BATCH }
}

#[test]
fn square_root_oram_shows_nothing_of_what_was_asked() {
    judge!(
        "square root",
        square_root_parameters(),
        model::square_root,
        square_root_subject,
        [Prompt, Concurrent]
    );
}

pub(crate) fn hierarchical_parameters(spread: bool) -> HierarchicalParameters {
    HierarchicalParameters {
        capacity: 12,
        block_bytes: 1,
        buffer: 6,
        load: 1,
        run_blocks: 64,
        max_batch: MAX_BATCH,
        spread,
    }
}

#[test]
fn hierarchical_oram_shows_nothing_of_what_was_asked() {
    let parameters = hierarchical_parameters(false);
    judge!("hierarchical", parameters, model::hierarchical, hierarchical_subject, [Prompt, Concurrent]);
}

#[test]
fn hierarchical_oram_whose_rebuilds_are_spread_out_shows_nothing_of_what_was_asked() {
    let (name, parameters) = ("hierarchical, spread out", hierarchical_parameters(true));
    judge!(name, parameters, model::hierarchical, hierarchical_subject, [Late, Concurrent]);
}

pub(crate) fn practical_os_parameters() -> PracticalOsParameters {
    PracticalOsParameters { capacity: 16, block_bytes: 1, cache: 9, run_blocks: 9, max_batch: MAX_BATCH }
}

#[test]
fn practical_os_shows_nothing_of_what_was_asked() {
    judge!(
        "practical os",
        practical_os_parameters(),
        model::practical_os,
        practical_os_subject,
        [Prompt, Concurrent]
    );
}

/// Eight partitions, swept so often for each four accesses.
fn eight_partitions(sweep_evictions: u32) -> PartitionsParameters {
    PartitionsParameters {
        capacity: 48,
        block_bytes: 1,
        partitions: 8,
        sweep_evictions,
        sweep_accesses: 4,
        cache_bound: 1000,
        max_batch: MAX_BATCH,
    }
}

/// Runs of a scheme over eight partitions with this many leaves each, and the observer of it.
fn partitions_subject<'a>(
    leaves: u64,
    run: Run<'a>,
    observer: impl Fn(Adversary, u64) -> Box<dyn Observer> + 'a,
) -> Subject<'a> {
    let PartitionsParameters { capacity, max_batch, partitions, .. } = eight_partitions(0);
    Subject::over_many_runs((capacity, max_batch), u64::from(partitions) * leaves, rate(1, 1), run, observer)
}

/// Trees with two leaves each.
pub(crate) fn curious_parameters() -> CuriousParameters {
    let partitions = eight_partitions(0);
    let tree = TreeShape { arity: 2, levels: 2, blocks_per_bucket: 3, capacity: 9, block_bytes: 1 };
    CuriousParameters { partitions, tree }
}

/// A CURIOUS of the judged parameters, over any store.
pub(crate) fn judged_curious<S: Store + Clone>(store: &S, seed: u64) -> CuriousOram<S, ChaCha8Rng> {
    let mut seeds = (seed.wrapping_mul(64)..).map(rng);
    curious(&curious_parameters(), Bucket(0), store, || seeds.next().expect("they do not end"))
        .expect("valid")
}

/// Runs of a CURIOUS, and the observer of it.
pub(crate) fn curious_subject<'a>(run: Run<'a>) -> Subject<'a> {
    let parameters = curious_parameters();
    let leaves = parameters.tree.leaves();
    partitions_subject(leaves, run, move |adversary, seed| partitions::curious(&parameters, adversary, seed))
}

#[test]
fn curious_shows_nothing_of_what_was_asked() {
    let run = runs(curious_parameters().layout(), |store, seed| judged_curious(&store, seed));
    curious_subject(&run).must_pass("curious", &[PaceKind::Prompt, PaceKind::Late, PaceKind::Concurrent]);
}

pub(crate) fn oblivistore_parameters() -> ObliviStoreParameters {
    let partition = PartitionShape { levels: 3, capacity: 9, block_bytes: 1 };
    ObliviStoreParameters { partitions: eight_partitions(3), partition }
}

/// An ObliviStore of the judged parameters, over any store.
pub(crate) fn judged_oblivistore<S: Store + Clone>(store: &S, seed: u64) -> ObliviStore<S, ChaCha8Rng> {
    let mut seeds = (seed.wrapping_mul(64)..).map(rng);
    let random = || seeds.next().expect("they do not end");
    oblivistore(&oblivistore_parameters(), Bucket(0), store, random).expect("valid")
}

/// Runs of an ObliviStore, and the observer of it.
pub(crate) fn oblivistore_subject<'a>(run: Run<'a>) -> Subject<'a> {
    let parameters = oblivistore_parameters();
    partitions_subject(1, run, move |adversary, seed| partitions::oblivistore(&parameters, adversary, seed))
}

#[test]
fn oblivistore_shows_nothing_of_what_was_asked() {
    let run = runs(oblivistore_parameters().layout(), |store, seed| judged_oblivistore(&store, seed));
    oblivistore_subject(&run)
        .must_pass("oblivistore", &[PaceKind::Prompt, PaceKind::Late, PaceKind::Concurrent]);
}
