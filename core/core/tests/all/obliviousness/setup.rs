//! Runs of a scheme under sequences that could hardly differ more, and their judgement.

use ameles_core::oram::Oram;
use ameles_core::testing::oblivious::{
    Adversary, Batches, EvictionRate, Judgement, MAX_TESTS, Observer, Pace, Pool, Power, Sequence, Trial,
    judge, judge_and_pool, run_script,
};
use ameles_core::testing::{Event, Operation, TraceStore, Work};
use ameles_core::tree::layout::Layout;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Independently seeded runs of each sequence.
pub(crate) const RUNS: u64 = 64;
/// The number of batches of each run, after the blocks were written.
pub(crate) const BATCHES: usize = 60;
/// The runs of a small tree: many, so that what differs from run to run shows.
pub(crate) const MANY_RUNS: Effort = Effort { runs: RUNS, batches: BATCHES };
/// The number of seeds of the simulations in a usual run. A thorough run has more.
const USUAL_SEEDS: u64 = 2000;
/// The longest batch.
pub(crate) const MAX_BATCH: u32 = 4;
/// The number of batches at the beginning of a run that are always driven promptly: by then every bucket was written.
pub(crate) const PROMPT: usize = 30;

pub(crate) const PAIRS: [(Sequence, Sequence); 7] = [
    (Sequence::OneBlock, Sequence::Sweep),
    (Sequence::Random, Sequence::Zipf),
    (Sequence::Sweep, Sequence::SweepingWrites),
    (Sequence::TwoBlocks, Sequence::Sweep),
    (Sequence::Dummies, Sequence::Random),
    (Sequence::NeverWritten, Sequence::OneBlock),
    (Sequence::Mixed, Sequence::Random),
];

/// Returns a number that is different for each pair and pace. So no two judgements draw from the same seeds, and their
/// draws can be added up.
fn salt(pair: (Sequence, Sequence), pace_kind: PaceKind) -> u64 {
    let nth = PAIRS.iter().position(|other| *other == pair).unwrap_or(PAIRS.len()) as u64;
    nth + (pace_kind as u64) * 16
}

/// The blocks that the sequences of a pair write first. Usually these are all blocks, so that buckets are full. They
/// are fewer if a sequence reads a block that was never written, and in one other pair, so that there is room.
fn filled(pair: (Sequence, Sequence), capacity: u64) -> u64 {
    let is_whole = ![pair.0, pair.1].contains(&Sequence::OneBlock);
    if is_whole { capacity } else { (capacity / 2).max(1) }
}

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Runs a scheme: seed of its randomness, script, pace.
pub(crate) type Run<'a> = &'a dyn Fn(u64, &[Vec<Operation>], Pace) -> Vec<Event>;

/// Returns the rate of this many evictions for this many accesses.
pub(crate) fn rate(evictions: u64, accesses: u32) -> EvictionRate {
    EvictionRate { evictions, accesses: accesses.into() }
}

pub(crate) fn current_work() -> Rc<Cell<Work>> {
    Rc::new(Cell::new(Work::Access))
}

/// Runs a script on an ORAM.
pub(crate) fn drive<O: Oram>(
    oram: &O,
    store: &TraceStore,
    script: &[Vec<Operation>],
    pace: Pace,
    current_work: Rc<Cell<Work>>,
) -> Vec<Event> {
    run_script(oram, store, script, PROMPT, pace, current_work)
}

/// Runs of a scheme that is built over a store of this layout with a seed, for [`Run`].
pub(crate) fn runs<O: Oram>(
    layout: Layout,
    build: impl Fn(Rc<TraceStore>, u64) -> O,
) -> impl Fn(u64, &[Vec<Operation>], Pace) -> Vec<Event> {
    move |seed, script, pace| {
        let store = Rc::new(TraceStore::new(layout.clone()));
        drive(&build(Rc::clone(&store), seed), &store, script, pace, current_work())
    }
}

/// The pace at which the runs of a case are driven; each run by itself where the store's order is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaceKind {
    Prompt,
    Late,
    Concurrent,
    Overlapping,
    Pipelined,
}

/// The number of runs of each sequence, and of the batches of each after the blocks were written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) runs: u64,
    pub(crate) batches: usize,
}

impl Effort {
    /// Ten times the runs in a thorough run of the tests, so that a third of the bias is found.
    fn or_thorough(self) -> Self {
        let times = if is_thorough() { 10 } else { 1 };
        Effort { runs: times * self.runs, ..self }
    }
}

fn is_thorough() -> bool {
    let requested =
        std::env::var("AMELES_SIM_SEEDS").ok().and_then(|requested| requested.parse::<u64>().ok());
    requested.is_some_and(|requested| requested > USUAL_SEEDS)
}

pub(crate) fn trials(
    effort: Effort,
    (filled, capacity): (u64, u64),
    max: u32,
    sequence: Sequence,
    pace_kind: PaceKind,
    side: u64,
    run: Run<'_>,
) -> Vec<Trial> {
    (0..effort.runs)
        .map(|nth| {
            let batches = Batches { count: effort.batches, max: max as usize, seed: nth };
            let seed = side << 32 | nth;
            let operations = sequence.operations_on(filled, capacity, batches, seed);
            let pace = match pace_kind {
                PaceKind::Prompt => Pace::Prompt,
                PaceKind::Late => Pace::Late,
                PaceKind::Concurrent => Pace::Concurrent(nth),
                PaceKind::Overlapping => Pace::Overlapping(nth),
                PaceKind::Pipelined => Pace::Pipelined(nth),
            };
            let events = run(seed, &operations, pace);
            Trial { operations, events }
        })
        .collect()
}

/// A scheme to be judged.
pub(crate) struct Subject<'a> {
    pub(crate) effort: Effort,
    pub(crate) capacity: u64,
    pub(crate) leaves: u64,
    /// The evictions by the count of accesses.
    pub(crate) rate: EvictionRate,
    pub(crate) max_batch: u32,
    pub(crate) run: Run<'a>,
    pub(crate) observer: Box<dyn Fn(Adversary, u64) -> Box<dyn Observer> + 'a>,
}

impl<'a> Subject<'a> {
    /// A scheme over a small tree, judged by [`MANY_RUNS`].
    pub(crate) fn over_many_runs(
        (capacity, max_batch): (u64, u32),
        leaves: u64,
        rate: EvictionRate,
        run: Run<'a>,
        observer: impl Fn(Adversary, u64) -> Box<dyn Observer> + 'a,
    ) -> Self {
        let observer = Box::new(observer);
        Subject { effort: MANY_RUNS, capacity, leaves, rate, max_batch, run, observer }
    }
}

impl Subject<'_> {
    pub(crate) fn judge(
        &self,
        adversary: Adversary,
        pair: (Sequence, Sequence),
        pace_kind: PaceKind,
    ) -> Judgement {
        self.judge_trials(adversary, &self.trials(self.effort, pair, pace_kind))
    }

    /// The runs of both sequences.
    fn trials(&self, effort: Effort, pair: (Sequence, Sequence), pace_kind: PaceKind) -> [Vec<Trial>; 2] {
        let filled = filled(pair, self.capacity);
        let first = 2 * salt(pair, pace_kind);
        [(pair.0, first + 1), (pair.1, first + 2)].map(|(sequence, side)| {
            trials(effort, (filled, self.capacity), self.max_batch, sequence, pace_kind, side, self.run)
        })
    }

    fn judge_trials(&self, adversary: Adversary, [one, other]: &[Vec<Trial>; 2]) -> Judgement {
        judge(self.leaves, |seed| (self.observer)(adversary, seed), one, other)
    }

    /// Checks that all pairs of sequences pass, under both adversaries, who look at the same runs. The draws of all
    /// runs together must pass too.
    pub(crate) fn must_pass(&self, name: &str, pace_kind: &[PaceKind]) {
        let mut pool = self.pool();
        for pace_kind in pace_kind {
            for pair in PAIRS {
                self.must_pass_pair(name, *pace_kind, pair, &mut pool);
            }
        }
        must_pass_pooled(name, &pool);
        // A bias of less than a percent among all leaves is found in every scheme. A thorough run finds a third of
        // that.
        if self.leaves > 1 {
            let max = if is_thorough() { 0.0033 } else { 0.01 };
            let limit = pool.power("leaves, by high bits");
            assert!(limit.is_some_and(|limit| limit < max), "{name}: finds {limit:?}");
        }
    }

    /// A pool for the draws of its judgements.
    pub(crate) fn pool(&self) -> Pool {
        Pool::new(self.leaves, self.rate)
    }

    /// Judges a pair of sequences, which passes under both adversaries, and adds what the stronger one sees to a pool.
    pub(crate) fn must_pass_pair(
        &self,
        name: &str,
        pace_kind: PaceKind,
        pair: (Sequence, Sequence),
        pool: &mut Pool,
    ) {
        let trials = self.trials(self.effort.or_thorough(), pair, pace_kind);
        let full = self.judge_and_pool(pair, pace_kind, &trials, pool);
        let snapshot = self.judge_trials(Adversary::Snapshot, &trials);
        for (adversary, judgement) in [(Adversary::Full, full), (Adversary::Snapshot, snapshot)] {
            println!("{name}, {pace_kind:?}, {pair:?}, {adversary:?}: {judgement}");
            count_tests(judgement.findings.len());
            assert!(judgement.passes(), "{name}, {pace_kind:?}, {pair:?}, {adversary:?}: {judgement}");
        }
    }

    /// Judges a pair of sequences, and adds what the stronger adversary sees to a pool.
    pub(crate) fn judge_pair(
        &self,
        pair: (Sequence, Sequence),
        pace_kind: PaceKind,
        pool: &mut Pool,
    ) -> Judgement {
        self.judge_and_pool(pair, pace_kind, &self.trials(self.effort, pair, pace_kind), pool)
    }

    /// Judges all pairs of sequences together, promptly driven.
    pub(crate) fn judge_pooled(&self) -> Judgement {
        let mut pool = self.pool();
        for pair in PAIRS {
            let judgement = self.judge_pair(pair, PaceKind::Prompt, &mut pool);
            assert!(!judgement.alarmed("shape"), "{pair:?}: {judgement}");
        }
        pool.judge()
    }

    fn judge_and_pool(
        &self,
        pair: (Sequence, Sequence),
        pace_kind: PaceKind,
        [one, other]: &[Vec<Trial>; 2],
        pool: &mut Pool,
    ) -> Judgement {
        let names = [pair.0, pair.1].map(|sequence| format!("{sequence:?}"));
        let observer = |seed| (self.observer)(Adversary::Full, seed ^ salt(pair, pace_kind) << 40);
        judge_and_pool(pool, [&names[0], &names[1]], self.leaves, observer, [one, other])
    }
}

/// The draws of all judgements together pass. Prints the least bias that is found in each class of them.
pub(crate) fn must_pass_pooled(name: &str, pool: &Pool) {
    let judgement = pool.judge();
    println!("{name}, pooled: {judgement}");
    for Power { family, class, draws, cells, limit } in pool.powers() {
        println!("power | {name} | {family} | {class} | {draws} draws | {cells} cells | {limit}");
    }
    count_tests(judgement.findings.len());
    assert!(judgement.passes(), "{name}, pooled: {judgement}");
}

/// The whole suite has at most as many tests as its false-alarm rate allows.
pub(crate) fn count_tests(more: usize) {
    static TESTS: AtomicUsize = AtomicUsize::new(0);
    let all = TESTS.fetch_add(more, Ordering::Relaxed) + more;
    assert!(all <= MAX_TESTS, "{all} tests of sound schemes: the false-alarm rate no longer holds");
}
