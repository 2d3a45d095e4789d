//! The shared set-up of the tests of schemes: small ORAMs over a store that records its trace, and random batches.

use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::partitions::{Partitions, PartitionsParameters, SubOram};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::position_map::recursive::{RecursiveParameters, RecursivePositionMap};
use ameles_core::schemes::curious::{CuriousOram, CuriousParameters, TreeShape, curious};
use ameles_core::schemes::hierarchical::{HierarchicalOram, HierarchicalParameters};
use ameles_core::schemes::oblivistore::{ObliviStore, ObliviStoreParameters, PartitionShape, oblivistore};
use ameles_core::schemes::path::{BucketsByLevel, PathOram, PathParameters};
use ameles_core::schemes::practical_os::{PracticalOs, PracticalOsParameters};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::schemes::root::{RootOram, RootParameters, root_oram};
use ameles_core::schemes::square_root::{SquareRootOram, SquareRootParameters};
use ameles_core::snapshot::full::FullSnapshot;
use ameles_core::store::Store;
use ameles_core::testing::oblivious::{Batches, Sequence};
use ameles_core::testing::{
    ArrayModel, Executor, Operation, TraceEntry, TraceStore, TraceStoreError, finish_now,
};
use ameles_core::tree::layout::Layout;
use ameles_core::types::{BlockId, Bucket, Level};
use proptest::prelude::*;
use proptest::sample::Index;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::cell::Cell;
use std::rc::Rc;

pub(crate) const MAX_BATCH: u32 = 6;

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub(crate) fn operation(capacity: u64) -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (0..capacity).prop_map(|block| Operation::Read(BlockId(block))),
        3 => (0..capacity, any::<u8>()).prop_map(|(block, seed)| Operation::Write(BlockId(block), seed)),
        1 => Just(Operation::Dummy),
    ]
}

/// Batches in which blocks often come twice.
pub(crate) fn batches(capacity: u64) -> impl Strategy<Value = Vec<Vec<Operation>>> {
    let batch = |max| prop::collection::vec(operation(max), 0..=MAX_BATCH as usize);
    prop::collection::vec(prop_oneof![batch(capacity), batch(capacity.min(3))], 0..60)
}

/// A tree of blocks of 5 bytes that is full, except for its stash.
pub(crate) fn full_path(leaf_level: u32, top: u32) -> PathParameters {
    PathParameters {
        capacity: 4 << leaf_level,
        block_bytes: 5,
        leaf_level: Level(leaf_level),
        top: Level(top),
        blocks_per_bucket: 4,
        max_batch: MAX_BATCH,
        stash_bound: 4000,
    }
}

/// A tree that is all in the store, and batches of one access.
pub(crate) fn lone_path(capacity: u64, block_bytes: u32, leaf_level: u32) -> PathParameters {
    PathParameters {
        capacity,
        block_bytes,
        leaf_level: Level(leaf_level),
        top: Level(0),
        blocks_per_bucket: 4,
        max_batch: 1,
        stash_bound: 100,
    }
}

pub(crate) fn small_path() -> impl Strategy<Value = PathParameters> {
    (0u32..=6, 0usize..3, any::<Index>()).prop_map(|(leaf_level, block_bytes, top)| PathParameters {
        capacity: 3 << leaf_level,
        block_bytes: [0, 1, 9][block_bytes],
        leaf_level: Level(leaf_level),
        top: Level(top.index(leaf_level as usize + 1) as u32),
        blocks_per_bucket: 4,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    })
}

/// Small trees whose leaves have four blocks, and whose other levels have one to four.
pub(crate) fn small_buckets() -> impl Strategy<Value = BucketsByLevel> {
    (small_path(), prop::collection::vec(1u32..=4, 6)).prop_map(|(parameters, sizes)| {
        let inner = parameters.path_buckets() - 1;
        let parameters = PathParameters { capacity: 2 << parameters.leaf_level.0, ..parameters };
        let blocks = sizes.into_iter().take(inner).chain([4]).collect();
        BucketsByLevel::new(parameters, blocks).unwrap()
    })
}

pub(crate) fn small_map(blocks: u64) -> impl Strategy<Value = RecursiveParameters> {
    (2u32..=5, 1u64..30, 0u64..64).prop_map(move |(entries_per_block, flat_limit, trusted_blocks)| {
        RecursiveParameters { blocks, entries_per_block, flat_limit, trusted_blocks, max_batch: MAX_BATCH }
    })
}

/// A store that shows what tests expect of a scheme.
pub(crate) trait TestStore: Store<Error = TraceStoreError> {}

impl<S: Store<Error = TraceStoreError>> TestStore for S {}

pub(crate) type FlatMap = FlatPositionMap<TraceStoreError>;
pub(crate) type RecursiveMap<S> = RecursivePositionMap<S, ChaCha8Rng>;
pub(crate) type FlatPath<S> = PathOram<S, FlatMap, ChaCha8Rng>;
pub(crate) type RecursivePath<S> = PathOram<S, RecursiveMap<S>, ChaCha8Rng>;

/// A map of all positions on the trusted side, none of them mapped.
pub(crate) fn flat_map<E>(blocks: u64) -> FlatPositionMap<E> {
    FlatPositionMap::new(Positions::new(blocks))
}

/// A recursive map whose buckets come behind those of a tree, and the randomness that continues for the tree.
pub(crate) fn map_behind<S: TestStore + Clone>(
    mut tree: Layout,
    map: &RecursiveParameters,
    store: &S,
    seed: u64,
) -> (RecursiveMap<S>, ChaCha8Rng) {
    let (first, mut random) = (tree.append(&map.layout().unwrap()), rng(seed));
    (RecursivePositionMap::new(map, first, store.clone(), &mut random).unwrap(), random)
}

pub(crate) fn flat_path<S: TestStore>(parameters: &PathParameters, store: S, seed: u64) -> FlatPath<S> {
    let positions = flat_map(parameters.capacity);
    PathOram::new(parameters.clone(), Bucket(0), store, positions, rng(seed)).unwrap()
}

/// A Path ORAM over a store of its own that records what it does.
pub(crate) fn recorded_path(parameters: &PathParameters) -> (Rc<TraceStore>, FlatPath<Rc<TraceStore>>) {
    let store = Rc::new(TraceStore::new(parameters.layout()));
    (Rc::clone(&store), flat_path(parameters, store, 1))
}

pub(crate) fn small_ring() -> impl Strategy<Value = RingParameters> {
    (1u64..200, 0usize..3, 0u64..200).prop_map(|(capacity, block_bytes, trusted)| {
        RingParameters::for_capacity(capacity, [0, 1, 9][block_bytes], trusted, MAX_BATCH)
    })
}

/// Makes functions that build a scheme from its parameters, a store and a seed.
macro_rules! builders {
    (|$of:ident, $store:ident, $seed:ident| $($name:ident: $parameters:ty => $scheme:ident, $build:expr;)*) => {
        $(pub(crate) fn $name<S: TestStore + Clone>($of: &$parameters, $store: S, $seed: u64) -> $scheme<S, ChaCha8Rng> {
            $build.unwrap()
        })*
    };
}
builders! { |of, store, seed|
    square_root: SquareRootParameters => SquareRootOram, SquareRootOram::new(of.clone(), Bucket(0), store, rng(seed));
    practical_os: PracticalOsParameters => PracticalOs, PracticalOs::new(of.clone(), Bucket(0), store, rng(seed));
    hierarchical: HierarchicalParameters => HierarchicalOram,
        HierarchicalOram::new(of.clone(), Bucket(0), store, rng(seed));
    oblivistore_oram: ObliviStoreParameters => ObliviStore, oblivistore(of, Bucket(0), &store, seeds(seed));
    curious_oram: CuriousParameters => CuriousOram, curious(of, Bucket(0), &store, seeds(seed));
}

/// Small permuted memories: capacity, bytes of a block, slots of shelter or cache, blocks of a run.
fn permuted() -> impl Strategy<Value = (u64, u32, u32, u32)> {
    (1u64..40, 0usize..3, 0u32..10, 1u32..12).prop_map(|(capacity, block_bytes, more, run_blocks)| {
        (capacity, [0, 1, 9][block_bytes], MAX_BATCH + more, run_blocks)
    })
}

pub(crate) fn small_square_root() -> impl Strategy<Value = SquareRootParameters> {
    permuted().prop_map(|(capacity, block_bytes, shelter, run_blocks)| SquareRootParameters {
        capacity,
        block_bytes,
        shelter,
        run_blocks,
        max_batch: MAX_BATCH,
    })
}

pub(crate) fn small_practical_os() -> impl Strategy<Value = PracticalOsParameters> {
    permuted().prop_map(|(capacity, block_bytes, cache, run_blocks)| PracticalOsParameters {
        capacity,
        block_bytes,
        cache,
        run_blocks,
        max_batch: MAX_BATCH,
    })
}

pub(crate) fn small_root() -> impl Strategy<Value = RootParameters> {
    (small_path(), any::<Index>(), any::<u32>()).prop_map(|(path, subtrees, near)| RootParameters {
        subtrees: Level(subtrees.index(path.leaf_level.0 as usize + 1) as u32),
        path,
        near,
    })
}

pub(crate) fn root<S: TestStore>(
    parameters: &RootParameters,
    store: S,
    seed: u64,
) -> RootOram<S, ChaCha8Rng> {
    root_oram(parameters.clone(), Bucket(0), store, rng(seed), rng(!seed)).unwrap()
}

pub(crate) fn small_hierarchical() -> impl Strategy<Value = HierarchicalParameters> {
    (1u64..40, 0usize..3, 0u32..10, 1u32..4, 0u32..12, any::<bool>()).prop_map(
        |(capacity, block_bytes, more, load, run, spread)| {
            let paper = HierarchicalParameters::for_capacity(capacity, 0, 1, MAX_BATCH);
            let block_bytes = [0, 1, 9][block_bytes];
            let (buffer, run_blocks) = (MAX_BATCH + more, 40 + run);
            HierarchicalParameters { block_bytes, buffer, load, run_blocks, spread, ..paper }
        },
    )
}

fn small_partitions() -> impl Strategy<Value = PartitionsParameters> {
    (1u64..60, 0usize..3, 1u32..9, 0u32..4).prop_map(
        |(capacity, block_bytes, partitions, sweep_evictions)| PartitionsParameters {
            capacity,
            block_bytes: [0, 1, 9][block_bytes],
            partitions,
            sweep_evictions,
            sweep_accesses: 3,
            cache_bound: 1000,
            max_batch: MAX_BATCH,
        },
    )
}

pub(crate) fn small_curious() -> impl Strategy<Value = CuriousParameters> {
    (small_partitions(), 2u32..5).prop_map(|(partitions, arity)| {
        let block_bytes = partitions.block_bytes;
        let tree = TreeShape { arity, levels: 3, blocks_per_bucket: 2, capacity: 10, block_bytes };
        CuriousParameters { partitions, tree }
    })
}

pub(crate) fn small_oblivistore() -> impl Strategy<Value = ObliviStoreParameters> {
    (small_partitions(), 1u32..5, 0u64..9).prop_map(|(partitions, levels, more)| {
        let block_bytes = partitions.block_bytes;
        let partition = PartitionShape { levels, capacity: (1 << (levels - 1)) + more, block_bytes };
        ObliviStoreParameters { partitions, partition }
    })
}

/// Randomness of its own for each part of a scheme.
fn seeds(seed: u64) -> impl FnMut() -> ChaCha8Rng {
    let mut seeds = (0..).map(move |nth| rng(seed.wrapping_add(nth)));
    move || seeds.next().expect("they never end")
}

/// The maximum number of blocks on the trusted side of partitions that were never used, over a sequence that must make
/// no emergency.
pub(crate) fn peak_of_cache<P: SubOram, R: RngCore>(
    oram: &Partitions<P, R>,
    store: &TraceStore,
    sequence: Sequence,
    batches: Batches,
) -> usize {
    let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
    let mut peak = 0;
    for batch in sequence.operations(oram.capacity(), batches, 1) {
        finish_now(model.batch(oram, &batch));
        peak = peak.max(oram.cached_blocks());
        finish_now(oram.step()).unwrap();
        store.take_trace();
    }
    assert_eq!(oram.emergencies(), 0);
    peak
}

/// The layout of a tree with that of its recursive map behind it.
pub(crate) fn with_map_layout(mut tree: Layout, map: &RecursiveParameters) -> Layout {
    tree.append(&map.layout().unwrap());
    tree
}

pub(crate) fn recursive_path<S>(
    (parameters, map): (&PathParameters, &RecursiveParameters),
    store: S,
    seed: u64,
) -> RecursivePath<S>
where
    S: TestStore + Clone,
{
    let (positions, random) = map_behind(parameters.layout(), map, &store, seed);
    PathOram::new(parameters.clone(), Bucket(0), store, positions, random).unwrap()
}

/// A step of a schedule.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Begins a batch.
    Access(Vec<Operation>),
    /// Begins a step, whether or not one is pending.
    Step,
    /// Lets one of the waiting operations of the store finish.
    Complete(Index),
}

pub(crate) fn schedule(capacity: u64) -> impl Strategy<Value = Vec<Action>> {
    let step = prop_oneof![
        2 => prop::collection::vec(operation(capacity), 0..=MAX_BATCH as usize).prop_map(Action::Access),
        2 => Just(Action::Step),
        5 => any::<Index>().prop_map(Action::Complete),
    ];
    prop::collection::vec(step, 0..150)
}

/// Slots that a trace reads, and slots that it writes in buckets of one slot.
pub(crate) fn traffic(trace: &[TraceEntry]) -> (usize, usize) {
    trace.iter().fold((0, 0), |(read, written), entry| match entry {
        TraceEntry::Read(slots) => (read + slots.len(), written),
        TraceEntry::Write(buckets) => (read, written + buckets.len()),
    })
}

/// Asserts that a step is due before another access, and that it reads and writes this many slots.
pub(crate) fn assert_rebuilds<O: Oram<Error = TraceStoreError>>(oram: &O, store: &TraceStore, moved: usize) {
    assert_eq!((oram.pending_steps(), oram.must_step()), (1, true));
    assert!(matches!(finish_now(oram.access(&mut [Access::Dummy])), Err(OramError::Backlogged)));
    assert_eq!(store.take_trace(), []);
    finish_now(oram.step()).unwrap();
    assert_eq!(traffic(&store.take_trace()), (moved, moved));
    assert_eq!(oram.pending_steps(), 0);
}

/// Runs a schedule as a driver does. At most one access and one step are in flight, and no access begins while `step`
/// must run first. Then lets everything finish, and compares every block with the array.
pub(crate) fn drive<O: Oram>(oram: &O, store: &TraceStore, steps: &[Action]) {
    let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
    let (accessing, stepping) = (Cell::new(false), Cell::new(false));
    store.hold_back(true);
    let mut executor = Executor::new();
    let step_once = || async {
        oram.step().await.expect("the step");
        stepping.set(false);
    };
    for step in steps {
        match step {
            Action::Access(operations) => {
                while accessing.get() || oram.must_step() {
                    if oram.must_step() && !stepping.replace(true) {
                        executor.spawn(step_once());
                    }
                    executor.run();
                    // A step that requests nothing has ended.
                    if accessing.get() || (oram.must_step() && stepping.get()) {
                        assert!(store.pending() > 0, "work waits for an operation that no one will complete");
                        store.complete(store.pending() - 1);
                        executor.run();
                    }
                }
                accessing.set(true);
                let prepared = model.prepare(operations);
                let accessing = &accessing;
                executor.spawn(async move {
                    prepared.run(oram).await;
                    accessing.set(false);
                });
            }
            Action::Step if !stepping.replace(true) => executor.spawn(step_once()),
            Action::Complete(which) if store.pending() > 0 => store.complete(which.index(store.pending())),
            Action::Step | Action::Complete(_) => {}
        }
        executor.run();
    }
    finish(oram, store, executor, model);
}

fn finish<O: Oram>(oram: &O, store: &TraceStore, mut executor: Executor<'_>, mut model: ArrayModel) {
    while executor.unfinished() > 0 {
        assert!(store.pending() > 0, "{} tasks wait for each other", executor.unfinished());
        store.complete(store.pending() - 1);
        executor.run();
    }
    store.hold_back(false);
    ameles_core::testing::finish_now(model.read_all(oram));
    assert_eq!(oram.emergencies(), 0, "an eviction outside of the public schedule");
}

/// Asserts that steps outside of the schedule keep the stash of 256 blocks below a bound that the schedule alone does
/// not keep.
pub(crate) fn assert_steps_make_room<O: FullSnapshot<ChaCha8Rng>>(oram: &O, bound: usize) {
    let mut max = 0;
    for nth in 0..20_000 {
        while oram.must_step() {
            assert!(oram.emergencies() < 20_000, "idle makes no room");
            finish_now(oram.step()).unwrap();
        }
        finish_now(oram.access(&mut [Access::Read(BlockId(nth % 256), &mut [])])).unwrap();
        max = max.max(oram.stash_blocks());
    }
    assert!(max <= bound && oram.emergencies() > 0, "{max} blocks, {} emergencies", oram.emergencies());
}

/// Checks that the planned cache is enough for sequences that come back, and prints the most blocks of each.
/// `plan` makes the partitions of this many blocks, their layout, and how to build them.
#[allow(clippy::print_stdout, reason = "the figures are there to be looked at")]
pub(crate) fn check_planned_cache<P: SubOram, B: Fn(&Rc<TraceStore>) -> Partitions<P, ChaCha8Rng>>(
    puts: u32,
    plan: impl Fn(u64) -> (PartitionsParameters, Layout, B),
) {
    for (capacity, count) in [(16, 2000), (100, 2000), (1024, 1500)] {
        let (common, layout, build) = plan(capacity);
        assert_eq!(common.cache_bound, 2 * (common.min_cache(puts) + MAX_BATCH));
        let batches = Batches { count, max: MAX_BATCH as usize, seed: 1 };
        for sequence in
            [Sequence::Sweep, Sequence::Random, Sequence::Zipf, Sequence::TwoBlocks, Sequence::Mixed]
        {
            let store = Rc::new(TraceStore::new(layout.clone()));
            let peak = peak_of_cache(&build(&store), &store, sequence, batches);
            println!("{capacity} blocks, {sequence:?}: at most {peak} of {}", common.cache_bound);
        }
    }
}
