//! Blocks with tags in a memory that lies. No answer is wrong, and the controller stops when a requested block is not
//! what was written last.

use super::setup::*;
use ameles_hardware_bench::{BenchError, Configuration, Faults, GoldenFrontEnd, Mutant, Pace, Scheme};

/// The outcome of a run over memory that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// All answers are right: the lie concerned data that was not used.
    Unharmed,
    /// The controller has stopped because of a tag; all answers before are right.
    Detected,
    /// The controller has stopped because junk filled the stash; all answers before are right.
    Overflow,
    /// The controller waits for something that does not come; all answers before are right.
    Stuck,
    /// An answer is wrong.
    Wrong,
}

/// Runs requests, a lie each time, and counts the outcomes.
fn run_with_faults(configuration: Configuration, mutant: Option<&Mutant>, faults: &[Faults]) -> Vec<Outcome> {
    let mut golden = GoldenFrontEnd::new(configuration, 1);
    for (block, data) in requests(&configuration, 400, 3) {
        golden.run(block, data);
    }
    let session = golden.session();
    let outcome = |faults: &Faults| {
        let mut bench = bench_with_keys(&configuration, mutant, Pace::IDEAL, *faults, golden.keys());
        let stopped = bench.drive(&session);
        let is_right = session.answers.starts_with(bench.answer_contents());
        if let Err(BenchError::Stopped(_)) = stopped {
            assert!(bench.finish_bursts(3000), "{faults:?}: a burst has no end");
        }
        match stopped {
            _ if !is_right => Outcome::Wrong,
            Ok(_) => Outcome::Unharmed,
            Err(BenchError::Stopped("the stash is too full")) => Outcome::Overflow,
            Err(BenchError::Stopped("memory gave a block that is not what was written last")) => {
                Outcome::Detected
            }
            Err(BenchError::Stuck { .. }) => Outcome::Stuck,
            Err(other) => panic!("{faults:?}: {other}"),
        }
    };
    faults.iter().map(outcome).collect()
}

fn count(outcomes: &[Outcome], wanted: Outcome) -> usize {
    outcomes.iter().filter(|outcome| **outcome == wanted).count()
}

/// Flips are rare enough that there are answers before the first one that matters.
fn flips() -> Vec<Faults> {
    (1..=12).map(|flips| Faults { flips, ..Faults::default() }).collect()
}

fn replays() -> Vec<Faults> {
    let replay =
        |nth: usize| Faults { replay: Some((400 + 100 * nth, 900 + 110 * nth)), ..Faults::default() };
    (0..8).map(replay).collect()
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn no_answer_is_wrong_when_bits_were_flipped() {
    for scheme in [Scheme::Raw, Scheme::Path] {
        let outcomes = run_with_faults(small_with_tags(scheme), None, &flips());
        assert_eq!(
            count(&outcomes, Outcome::Wrong) + count(&outcomes, Outcome::Stuck),
            0,
            "{scheme:?}: {outcomes:?}"
        );
        assert!(count(&outcomes, Outcome::Detected) > 6, "{scheme:?}: {outcomes:?}");
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_rollback_of_all_memory_is_detected() {
    for scheme in [Scheme::Raw, Scheme::Path] {
        let outcomes = run_with_faults(small_with_tags(scheme), None, &replays());
        assert_eq!(count(&outcomes, Outcome::Detected), outcomes.len(), "{scheme:?}: {outcomes:?}");
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_controller_that_compares_no_tags_gives_wrong_answers() {
    let outcomes = run_with_faults(small_with_tags(Scheme::Raw), Some(&Mutant::UNCHECKED_TAGS), &flips());
    assert!(count(&outcomes, Outcome::Wrong) > 0, "{outcomes:?}");
}
