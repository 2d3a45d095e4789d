//! OPAM is broken: the judge says how.

use super::setup::*;
use ameles_core::schemes::opam::{OpamOram, OpamParameters};
use ameles_core::testing::oblivious::{Adversary, Judgement, Pace, Program, Trial, judge, opam, run_script};
use ameles_core::testing::{Operation, TraceStore};
use ameles_core::types::{BlockId, Level};

const FAULTS: usize = 200;

fn parameters() -> OpamParameters {
    OpamParameters {
        capacity: 64,
        block_bytes: 1,
        leaf_level: Level(4),
        slots_per_bucket: 4,
        max_batch: MAX_BATCH,
        stash_bound: 200,
    }
}

fn run(seed: u64, script: &[Vec<Operation>], pace: Pace) -> Vec<ameles_core::testing::Event> {
    let store = TraceStore::new(parameters().layout());
    let oram = OpamOram::new(parameters(), &store, rng(seed)).expect("valid parameters");
    run_script(&oram, &store, script, 0, pace, current_work())
}

fn judged(adversary: Adversary, one: &[Trial], other: &[Trial]) -> Judgement {
    let judgement = judge(
        1 << parameters().leaf_level.0,
        |seed| opam::observer(&parameters(), adversary, seed),
        one,
        other,
    );
    println!("{adversary:?}: {judgement}");
    judgement
}

fn trials(side: u64, operations: impl Fn(u64) -> Vec<Vec<Operation>>) -> Vec<Trial> {
    (0..RUNS)
        .map(|nth| {
            let operations = operations(nth);
            let events = run(side << 32 | nth, &operations, Pace::Late);
            Trial { operations, events }
        })
        .collect()
}

#[test]
fn the_slots_of_opam_give_away_what_was_asked_and_its_paths_do_not() {
    let program = |program: Program, side: u64| {
        trials(side, |nth| program.operations(parameters().capacity, FAULTS, 1, side << 32 | nth))
    };
    for (one, other) in [(Program::OneDirtyPage, Program::Sweep), (Program::TwoPages, Program::Random)] {
        let (one, other) = (program(one, 1), program(other, 2));
        for adversary in [Adversary::Full, Adversary::Snapshot] {
            let judgement = judged(adversary, &one, &other);
            assert!(judgement.alarmed("one: steps between slots of one bucket"), "{judgement}");
            // It is a distinguisher: in every pair of runs the same program shows more of it.
            assert!(judgement.alarmed("both: as many slots that come again at once"), "{judgement}");
            assert!(!judgement.alarmed("leaves") && !judgement.alarmed("shape"), "{judgement}");
        }
    }
}

#[test]
fn whether_the_page_that_goes_out_comes_straight_back_shows_to_whoever_sees_snapshots() {
    // After the same sweep of all pages, the first half of the pages goes out in turn. The page that comes in is always
    // the same, or another that was not seen for as long.
    let faults = |nth: u64, away: u64| {
        let mut operations = Program::Sweep.operations(parameters().capacity, 64, 1, nth);
        operations.extend((0..FAULTS as u64).map(|fault| {
            let page = fault % 32;
            vec![Operation::Write(BlockId(page), fault as u8), Operation::Read(BlockId(page + away))]
        }));
        operations
    };
    let (one, other) = (trials(1, |nth| faults(nth, 0)), trials(2, |nth| faults(nth, 32)));
    let judgement = judged(Adversary::Snapshot, &one, &other);
    assert!(judgement.alarmed("both: as many slots that come again at once"), "{judgement}");
}

#[test]
fn dummies_alone_pass_the_same_watch() {
    let dummies = |_| vec![vec![Operation::Dummy; 2]; FAULTS];
    let (one, other) = (trials(1, dummies), trials(2, dummies));
    for adversary in [Adversary::Full, Adversary::Snapshot] {
        let judgement = judged(adversary, &one, &other);
        count_tests(judgement.findings.len());
        assert!(judgement.passes(), "{judgement}");
    }
}

#[test]
fn every_pair_of_sequences_of_the_suite_gives_opam_away() {
    for pair in PAIRS {
        let run: Run<'_> = &|seed, script, pace| run(seed, script, pace);
        let subject = Subject::over_many_runs(
            (parameters().capacity, MAX_BATCH),
            1 << parameters().leaf_level.0,
            rate(1, 1),
            run,
            |adversary, seed| opam::observer(&parameters(), adversary, seed),
        );
        let judgement = subject.judge(Adversary::Snapshot, pair, PaceKind::Prompt);
        assert!(judgement.alarmed("slots"), "{pair:?}: {judgement}");
    }
}
