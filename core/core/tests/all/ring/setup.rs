//! Small Ring ORAMs, random batches, and a driver that interleaves them in a random order.

pub(crate) use crate::model::setup::rng;
use crate::model::setup::{FlatMap, TestStore, flat_map, operation};
use ameles_core::oram::Oram;
use ameles_core::schemes::ring::{RingBucket, RingObjective, RingOram, RingParameters};
use ameles_core::testing::oblivious::{Adversary, ring};
use ameles_core::testing::{ArrayModel, Driver, Event, Operation, TraceStore, Work, finish_now};
use ameles_core::types::Level;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

pub(crate) type FlatRing<S> = RingOram<S, FlatMap, ChaCha8Rng>;

pub(crate) fn store_for(parameters: &RingParameters) -> TraceStore {
    TraceStore::new(parameters.geometry().layout())
}

pub(crate) fn flat_ring<S: TestStore>(parameters: &RingParameters, store: S, seed: u64) -> FlatRing<S> {
    let positions = flat_map(parameters.capacity);
    RingOram::new(parameters.clone(), store, positions, rng(seed)).expect("valid parameters")
}

/// Any small valid parameters, with a stash that holds every block: no emergency is possible.
pub(crate) fn small() -> impl Strategy<Value = RingParameters> {
    (
        (0u32..=4).prop_flat_map(|leaf_level| (Just(leaf_level), 0..=leaf_level, 1..=3u64 << leaf_level)),
        1u32..=6,
        1u32..=5,
        1u32..=5,
        (0u32..=2, 0u32..=3, 0u32..=100, 0u32..=100),
        (prop::sample::select(vec![0, 1, 9]), prop::sample::select(vec![0, 40, 100])),
    )
        .prop_map(|((leaf_level, top, capacity), rate, max_batch, spare, spares, (bytes, slice))| {
            let (z, leaf_z, inner, leaf) = spares;
            let reads = max_batch + spare;
            // The least Z that the analysis allows for a rate, and any number of slots between the least and the most.
            let blocks = [1, 2, 4, 5, 5, 6, 7][rate as usize] + z;
            let bucket = |blocks: u32, percent: u32| {
                let (min, max) = (blocks.max(reads), blocks + reads);
                RingBucket { blocks, slots: min + (max - min) * percent / 100 }
            };
            let share = capacity as f64 / f64::from(1 << leaf_level);
            let leaf_blocks = ((share + 3.0 * share.sqrt()).ceil() as u32).max(blocks) + leaf_z;
            let whole = RingParameters {
                capacity,
                block_bytes: bytes,
                leaf_level: Level(leaf_level),
                top: Level(top),
                eviction_rate: rate,
                reads,
                inner: bucket(blocks, inner),
                leaf: bucket(leaf_blocks, leaf),
                max_batch,
                stash_bound: 500,
                slice_slots: u32::MAX,
            };
            sliced(whole, slice)
        })
        .prop_filter("outside of the paper's analysis", |parameters| parameters.validate().is_ok())
}

/// The parameters with slices of this size, from 0, one bucket, to 100, a path. Only a tree with a trusted top has
/// slices.
pub(crate) fn sliced(whole: RingParameters, percent: u64) -> RingParameters {
    if whole.top == Level(0) {
        return whole;
    }
    let (bucket, path) = (u64::from(whole.largest_bucket()), whole.slots_on_path());
    RingParameters { slice_slots: (bucket + (path - bucket) * percent / 100) as u32, ..whole }
}

/// The parameters that the planner makes for small capacities.
pub(crate) fn planned() -> impl Strategy<Value = RingParameters> {
    (1u64..200, prop::sample::select(vec![0, 3]), 0u64..100, 1u32..8, prop::sample::select(vec![0, u32::MAX]))
        .prop_map(|(capacity, bytes, trusted, batch, slice_slots)| {
            let objective = RingObjective::BYTES;
            RingParameters::for_objective(capacity, bytes, trusted, (batch, slice_slots), objective)
        })
}

/// Batches in which blocks often come twice.
pub(crate) fn batches(parameters: &RingParameters) -> impl Strategy<Value = Vec<Vec<Operation>>> + use<> {
    let max = parameters.max_batch as usize;
    let batch = move |blocks| prop::collection::vec(operation(blocks), 0..=max);
    prop::collection::vec(prop_oneof![batch(parameters.capacity), batch(parameters.capacity.min(3))], 0..60)
}

pub(crate) fn with_batches(
    parameters: impl Strategy<Value = RingParameters>,
) -> impl Strategy<Value = (RingParameters, Vec<Vec<Operation>>)> {
    parameters.prop_flat_map(|parameters| {
        let batches = batches(&parameters);
        (Just(parameters), batches)
    })
}

/// The order in which things happen.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The choices of the next event among the possible ones.
    pub(crate) choices: Vec<u8>,
    /// The side whose store operations end only when nothing else can continue.
    pub(crate) held: Option<Held>,
    /// The maximum numbers of batches and of steps at a time.
    pub(crate) max_concurrent_batches: usize,
    pub(crate) max_concurrent_steps: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Held {
    Access,
    Step,
}

pub(crate) fn order() -> impl Strategy<Value = Order> {
    let held = prop::sample::select(vec![None, None, Some(Held::Access), Some(Held::Step)]);
    (prop::collection::vec(any::<u8>(), 1..300), held, 1usize..=4, 1usize..=3).prop_map(
        |(choices, held, max_concurrent_batches, max_concurrent_steps)| Order {
            choices,
            held,
            max_concurrent_batches,
            max_concurrent_steps,
        },
    )
}

/// Runs batches in parallel with idle steps. The store finishes its work in any order. Returns all that showed.
pub(crate) fn interleave<O: Oram>(
    oram: &O,
    store: &TraceStore,
    model: &mut ArrayModel,
    batches: &[Vec<Operation>],
    order: &Order,
) -> Vec<Event> {
    let mut driver = Driver::new(oram, store, model.clone());
    driver.hold_back(true);
    let mut batches = batches.iter();
    let mut choices = order.choices.iter().cycle();
    let max_batches = order.max_concurrent_batches.min(oram.max_concurrent_batches());
    let mut choose = |among: usize| usize::from(*choices.next().expect("it never ends")) % among;
    loop {
        let (pending_steps, must_step) = driver.query_pending();
        let can_access = driver.accesses() < max_batches && !must_step && batches.len() > 0;
        let can_step = driver.steps() < order.max_concurrent_steps && pending_steps > 0;
        let held = |work: &Work| match work {
            Work::Access => order.held == Some(Held::Access),
            Work::Step(_) => order.held == Some(Held::Step),
        };
        let mut answers: Vec<usize> = (0..driver.waiting_for_store().len())
            .filter(|nth| !held(&driver.waiting_for_store()[*nth]))
            .collect();
        if answers.is_empty() && !can_access && !can_step {
            answers = (0..driver.waiting_for_store().len()).collect();
        }
        let kinds = usize::from(can_access) + usize::from(can_step) + answers.len();
        if kinds == 0 {
            break;
        }
        match choose(kinds) {
            0 if can_access => driver.begin_access(batches.next().expect("there is one")),
            nth if can_step && nth == usize::from(can_access) => driver.begin_step(),
            nth => driver.complete(answers[nth - usize::from(can_access) - usize::from(can_step)]),
        }
    }
    driver.finish();
    assert_eq!(batches.len(), 0, "work waits for an operation that no one will complete");
    driver.hold_back(false);
    let events = driver.take_events();
    *model = driver.into_model();
    events
}

/// Every block is where it was, and no emergency was needed.
pub(crate) fn assert_nothing_lost<O: Oram>(oram: &O, model: &mut ArrayModel) {
    finish_now(model.read_all(oram));
    assert_eq!(oram.emergencies(), 0, "an eviction outside of the public schedule");
}

/// All that showed follows from the public schedule.
pub(crate) fn assert_public(parameters: &RingParameters, events: &[Event]) {
    for adversary in [Adversary::Full, Adversary::Snapshot] {
        let mut observer = ring::observer(parameters, adversary, 1);
        for (nth, event) in events.iter().enumerate() {
            if let Err(deviation) = observer.observe(event) {
                panic!("{adversary:?}, event {nth}, {event:?}: {deviation}");
            }
        }
    }
}
