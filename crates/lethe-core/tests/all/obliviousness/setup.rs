//! Runs of a scheme under sequences that could hardly differ more, and their judgement.

use lethe_core::oram::Oram;
use lethe_core::testing::oblivious::{
    Adversary, Batches, Judgement, MOST_TESTS, Pace, Sequence, Trial, Watch, judge, run_script,
};
use lethe_core::testing::{Event, Operation, TraceStore, Work};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Independently seeded runs of each sequence.
pub(crate) const RUNS: u64 = 64;
/// Batches of each run, after the blocks were written.
pub(crate) const BATCHES: usize = 60;
/// The runs of a small tree: many, so that what differs from run to run shows.
pub(crate) const MANY_RUNS: Effort = Effort { runs: RUNS, batches: BATCHES };
/// The longest batch.
pub(crate) const MAX_BATCH: u32 = 4;
/// Batches at the beginning of a run that are always driven promptly: by then every bucket was written.
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

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Runs a scheme: seed of its randomness, script, pace.
pub(crate) type Run<'a> = &'a dyn Fn(u64, &[Vec<Operation>], Pace) -> Vec<Event>;

pub(crate) fn working() -> Rc<Cell<Work>> {
    Rc::new(Cell::new(Work::Access))
}

/// Runs a script on an ORAM.
pub(crate) fn drive<O: Oram>(
    oram: &O,
    store: &TraceStore,
    script: &[Vec<Operation>],
    pace: Pace,
    working: Rc<Cell<Work>>,
) -> Vec<Event> {
    run_script(oram, store, script, PROMPT, pace, working)
}

/// The pace at which the runs of a case are driven; each run by itself where the store's order is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driven {
    Promptly,
    Late,
    Beside,
    Overlapping,
}

/// The number of runs of each sequence, and of the batches of each after the blocks were written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) runs: u64,
    pub(crate) batches: usize,
}

pub(crate) fn trials(
    effort: Effort,
    capacity: u64,
    most: u32,
    sequence: Sequence,
    driven: Driven,
    side: u64,
    run: Run<'_>,
) -> Vec<Trial> {
    (0..effort.runs)
        .map(|nth| {
            let batches = Batches { count: effort.batches, most: most as usize, seed: nth };
            let seed = side << 32 | nth;
            let operations = sequence.operations(capacity, batches, seed);
            let pace = match driven {
                Driven::Promptly => Pace::Prompt,
                Driven::Late => Pace::Late,
                Driven::Beside => Pace::Beside(nth),
                Driven::Overlapping => Pace::Overlapping(nth),
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
    pub(crate) max_batch: u32,
    pub(crate) run: Run<'a>,
    pub(crate) watch: Box<dyn Fn(Adversary, u64) -> Box<dyn Watch> + 'a>,
}

impl Subject<'_> {
    pub(crate) fn judge(
        &self,
        adversary: Adversary,
        pair: (Sequence, Sequence),
        driven: Driven,
    ) -> Judgement {
        self.judge_trials(adversary, &self.trials(pair, driven))
    }

    /// The runs of both sequences.
    fn trials(&self, pair: (Sequence, Sequence), driven: Driven) -> [Vec<Trial>; 2] {
        [(pair.0, 1), (pair.1, 2)].map(|(sequence, side)| {
            trials(self.effort, self.capacity, self.max_batch, sequence, driven, side, self.run)
        })
    }

    fn judge_trials(&self, adversary: Adversary, [one, other]: &[Vec<Trial>; 2]) -> Judgement {
        judge(self.leaves, |seed| (self.watch)(adversary, seed), one, other)
    }

    /// All pairs of sequences pass, under both adversaries, who look at the same runs.
    pub(crate) fn must_pass(&self, name: &str, driven: &[Driven]) {
        for driven in driven {
            for pair in PAIRS {
                self.must_pass_pair(name, *driven, pair);
            }
        }
    }

    /// Judges a pair of sequences, which passes under both adversaries.
    pub(crate) fn must_pass_pair(&self, name: &str, driven: Driven, pair: (Sequence, Sequence)) {
        let trials = self.trials(pair, driven);
        for adversary in [Adversary::Full, Adversary::Snapshot] {
            let judgement = self.judge_trials(adversary, &trials);
            println!("{name}, {driven:?}, {pair:?}, {adversary:?}: {judgement}");
            count_tests(judgement.findings.len());
            assert!(judgement.passes(), "{name}, {driven:?}, {pair:?}, {adversary:?}: {judgement}");
        }
    }
}

/// The suite as a whole keeps to the number of tests that its false-alarm rate allows.
pub(crate) fn count_tests(more: usize) {
    static TESTS: AtomicUsize = AtomicUsize::new(0);
    let all = TESTS.fetch_add(more, Ordering::Relaxed) + more;
    assert!(all <= MOST_TESTS, "{all} tests of sound schemes: the false-alarm rate no longer holds");
}
