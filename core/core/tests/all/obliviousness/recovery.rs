//! A process dies and another one continues from a snapshot. If it exactly repeats the announced work, the judge
//! detects nothing. If it reads the paths again with other randomness, the judge detects this.

use super::large_trees::{self, LONG_RUNS};
use super::schemes::{path_parameters, sliced_buckets, whole_buckets};
use super::setup::*;
use ameles_core::oram::Oram;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::schemes::ring::{RingOram, RingParameters, RingSnapshot};
use ameles_core::snapshot::full::FullSnapshot;
use ameles_core::testing::mutants::ReusesLeafSometimes;
use ameles_core::testing::oblivious::{
    Adversary, Batches, Judgement, Observer, Sequence, Trial, judge, path, ring,
};
use ameles_core::testing::{ArrayModel, Driver, Event, Operation, TraceStore, TraceStoreError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bucket;
use rand_chacha::ChaCha8Rng;

type Flat = FlatPositionMap<TraceStoreError>;

/// A scheme that can be stopped and started.
trait Restart {
    type Oram<'a>: Oram;
    fn effort(&self) -> Effort;
    fn layout(&self) -> Layout;
    fn leaves(&self) -> u64;
    fn observer(&self, adversary: Adversary, seed: u64) -> Box<dyn Observer>;
    fn start<'a>(&self, store: &'a TraceStore, seed: u64) -> Self::Oram<'a>;
    fn reseed(&self, oram: &Self::Oram<'_>, seed: u64);
    /// Continues from the snapshot of another one.
    fn restart<'a>(&self, from: &[u8], store: &'a TraceStore, seed: u64) -> Self::Oram<'a>;
    fn snapshot(&self, oram: &Self::Oram<'_>) -> Vec<u8>;
}

/// A Ring ORAM of these parameters.
struct RestartRing(RingParameters);

impl Restart for RestartRing {
    type Oram<'a> = RingOram<&'a TraceStore, Flat, ChaCha8Rng>;

    fn effort(&self) -> Effort {
        MANY_RUNS
    }
    fn layout(&self) -> Layout {
        self.0.geometry().layout()
    }
    fn leaves(&self) -> u64 {
        1 << self.0.leaf_level.0
    }
    fn observer(&self, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
        ring::observer(&self.0, adversary, seed)
    }
    fn start<'a>(&self, store: &'a TraceStore, seed: u64) -> Self::Oram<'a> {
        let positions = FlatPositionMap::new(Positions::new(self.0.capacity));
        RingOram::new(self.0.clone(), store, positions, rng(seed)).expect("valid parameters")
    }
    fn reseed(&self, oram: &Self::Oram<'_>, seed: u64) {
        oram.reseed(rng(seed));
    }
    fn restart<'a>(&self, from: &[u8], store: &'a TraceStore, seed: u64) -> Self::Oram<'a> {
        let snapshot: RingSnapshot = borsh::from_slice(from).expect("a snapshot");
        RingOram::restore(snapshot, store, rng(seed)).expect("a sound snapshot")
    }
    fn snapshot(&self, oram: &Self::Oram<'_>) -> Vec<u8> {
        borsh::to_vec(&oram.snapshot().expect("nothing is in flight")).expect("bytes")
    }
}

struct RestartPath {
    parameters: PathParameters,
    effort: Effort,
    /// The accesses of a thousand that leave their block where it is.
    reuses_leaf: usize,
}

fn small_path() -> RestartPath {
    RestartPath { parameters: path_parameters(), effort: MANY_RUNS, reuses_leaf: 0 }
}

fn large_path(reuses_leaf: usize) -> RestartPath {
    RestartPath { parameters: large_trees::path_parameters(), effort: LONG_RUNS, reuses_leaf }
}

impl Restart for RestartPath {
    type Oram<'a> = PathOram<&'a TraceStore, ReusesLeafSometimes<Flat>, ChaCha8Rng>;

    fn effort(&self) -> Effort {
        self.effort
    }
    fn layout(&self) -> Layout {
        self.parameters.layout()
    }
    fn leaves(&self) -> u64 {
        1 << self.parameters.leaf_level.0
    }
    fn observer(&self, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
        path::observer(&self.parameters, adversary, seed)
    }
    fn start<'a>(&self, store: &'a TraceStore, seed: u64) -> Self::Oram<'a> {
        let positions = FlatPositionMap::new(Positions::new(self.parameters.capacity));
        let positions = ReusesLeafSometimes::new(positions, self.reuses_leaf, seed);
        PathOram::new(self.parameters.clone(), Bucket(0), store, positions, rng(seed))
            .expect("valid parameters")
    }
    fn reseed(&self, oram: &Self::Oram<'_>, seed: u64) {
        oram.reseed(rng(seed));
        oram.positions().reseed(seed);
    }
    fn restart<'a>(&self, from: &[u8], store: &'a TraceStore, seed: u64) -> Self::Oram<'a> {
        let (snapshot, positions) = borsh::from_slice(from).expect("a snapshot");
        let positions = ReusesLeafSometimes::new(FlatPositionMap::new(positions), self.reuses_leaf, seed);
        PathOram::restore(self.parameters.clone(), Bucket(0), store, positions, rng(seed), &snapshot)
            .expect("a sound snapshot")
    }
    fn snapshot(&self, oram: &Self::Oram<'_>) -> Vec<u8> {
        let snapshot = oram.snapshot().expect("nothing is in flight");
        borsh::to_vec(&(snapshot, oram.positions().map().snapshot())).expect("bytes")
    }
}

/// The behaviour of a process that continues after a crash.
#[derive(Clone, Copy, PartialEq)]
enum Recovery {
    /// The process runs the same batches again, with the same randomness.
    Repeats,
    /// The process runs the same batches with other randomness, and says that it repeats.
    Redraws,
    /// The process runs the same batches with other randomness, as if they were new.
    ForgetsItsReads,
}

/// Runs batches, doing at once the pending work.
fn run<O: Oram>(
    oram: &O,
    store: &TraceStore,
    model: ArrayModel,
    script: &[Vec<Operation>],
) -> (Vec<Event>, ArrayModel) {
    let mut driver = Driver::new(oram, store, model);
    for batch in script {
        driver.begin_access(batch);
        while driver.query_pending().0 > 0 {
            driver.begin_step();
        }
    }
    (driver.take_events(), driver.into_model())
}

/// The number of batches that are lost with the process.
const LOST: usize = 8;

fn trial<S: Restart>(scheme: &S, recovery: Recovery, sequence: Sequence, nth: u64, seed: u64) -> Trial {
    let store = TraceStore::new(scheme.layout());
    let first = scheme.start(&store, seed);
    let batches = Batches { count: scheme.effort().batches, max: MAX_BATCH as usize, seed: nth };
    let mut script = sequence.operations(first.capacity(), batches, seed);
    let rest = script.split_off(script.len() / 2 + LOST);
    let (begin, lost) = script.split_at(script.len() - LOST);

    let model = ArrayModel::new(first.capacity(), first.block_bytes());
    let (mut events, model) = run(&first, &store, model, begin);
    let (snapshot, contents) = (scheme.snapshot(&first), store.contents());
    scheme.reseed(&first, !seed);
    let (shown, _) = run(&first, &store, model.clone(), lost);

    // Old versions of the buckets are kept until no process needs them.
    store.set_contents(&contents);
    let again = if recovery == Recovery::Repeats { !seed } else { seed ^ 1 << 63 };
    let second = scheme.restart(&snapshot, &store, again);
    let (done_again, model) = run(&second, &store, model, lost);
    let (after, _) = run(&second, &store, model, &rest);

    // The process died at any moment.
    let mut operations = script.clone();
    let died = if recovery == Recovery::ForgetsItsReads {
        operations.extend_from_slice(&script[script.len() - LOST..]);
        shown.len()
    } else {
        1 + nth as usize * 7 % (shown.len() - 1)
    };
    operations.extend(rest);
    events.extend_from_slice(&shown[..died]);
    if recovery != Recovery::ForgetsItsReads {
        events.push(Event::Recovers(died));
    }
    events.extend(done_again);
    events.extend(after);
    Trial { operations, events }
}

fn judged<S: Restart>(scheme: &S, recovery: Recovery) -> Judgement {
    let trials = |sequence, side: u64| -> Vec<Trial> {
        (0..scheme.effort().runs)
            .map(|nth| trial(scheme, recovery, sequence, nth, side << 32 | nth))
            .collect()
    };
    let (one, other) = (trials(Sequence::OneBlock, 1), trials(Sequence::Sweep, 2));
    let judgement = judge(scheme.leaves(), |seed| scheme.observer(Adversary::Full, seed), &one, &other);
    println!("{judgement}");
    judgement
}

#[test]
fn a_recovery_that_repeats_what_was_announced_shows_nothing() {
    for judgement in [
        judged(&RestartRing(whole_buckets()), Recovery::Repeats),
        judged(&RestartRing(sliced_buckets()), Recovery::Repeats),
        judged(&small_path(), Recovery::Repeats),
        judged(&large_path(0), Recovery::Repeats),
    ] {
        count_tests(judgement.findings.len());
        assert!(judgement.passes(), "{judgement}");
    }
}

#[test]
fn a_path_that_is_read_again_after_a_crash_is_caught() {
    assert!(judged(&RestartRing(whole_buckets()), Recovery::Redraws).alarmed("one: shape"));
    assert!(judged(&small_path(), Recovery::Redraws).alarmed("one: shape"));
    assert!(judged(&RestartRing(whole_buckets()), Recovery::ForgetsItsReads).alarmed("shape"));
    assert!(
        judged(&small_path(), Recovery::ForgetsItsReads).alarmed("other: steps between leaves of one block")
    );
}

#[test]
fn a_leaf_that_is_used_again_in_one_access_of_fifty_is_caught_across_a_crash() {
    let judgement = judged(&large_path(20), Recovery::Repeats);
    assert!(judgement.alarmed("one: repeats of the block's last 16 leaves"), "{judgement}");
}
