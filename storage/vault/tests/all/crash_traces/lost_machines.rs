//! The same tests when machines are lost: after restores that draw all positions again, after restores that repeat what
//! was announced, and after takeovers by standbys.

use super::flaws::Flaw;
use super::judging::{Case, RepeatCounts};
use super::losses::Losses;
use super::{
    ALWAYS_QUIET, FLAWED, MAX_TESTS, WARM_UP, Workload, first_difference, hammer, lives, must_pass,
    must_pass_pooled, public, roomy_parameters, scan, script,
};
use crate::support::recorder::TraceEvent;
use crate::support::shape::{Shape, shape};
use ameles_core::testing::oblivious::ALARM_LOG2;
use ameles_vault::JournalPlace;
use std::time::Duration;

/// The number of lifecycles of each kind under each workload whose shapes are compared; a thorough run has four times as
/// many.
const SHAPED: u64 = 4;
/// The number of those that are tested statistically.
const JUDGED: u64 = 12;

/// The kinds of lifecycles, with a number that no other case has.
const KINDS: [(u64, Losses); 4] = [
    (2, Losses::Restored(JournalPlace::Disk)),
    (3, Losses::Restored(JournalPlace::Store)),
    (4, Losses::Restored(JournalPlace::StoreFirst)),
    (5, Losses::TakenOver),
];

fn case(nth: u64, losses: Losses, lives: u64, flaw: Option<Flaw>) -> Case {
    Case { nth, losses, ..Case::of(lives, ALWAYS_QUIET, flaw) }
}

fn shape_of(losses: Losses, nth: u64, workload: Workload, seed: u64) -> Vec<(Duration, Shape)> {
    let parameters = roomy_parameters();
    let mut public = public(&parameters, nth, WARM_UP, ALWAYS_QUIET);
    losses.add_to(&mut public);
    let lifecycle = super::run_lifecycle(&public, &script(nth, workload), seed, None);
    shape(&parameters, &lifecycle.expect("the vault goes on").trace)
}

/// The number of such events in a shape.
fn count(shape: &[(Duration, Shape)], is_one: impl Fn(&TraceEvent) -> bool) -> u64 {
    shape.iter().filter(|(_, event)| matches!(event, Shape::Other(event) if is_one(event))).count() as u64
}

#[test]
fn the_shape_of_restores_and_takeovers_does_not_depend_on_what_is_asked() {
    for (_, losses) in KINDS {
        let (mut restores, mut openings) = (0, 0);
        for nth in 0..lives(SHAPED) {
            let one = shape_of(losses, nth, hammer, 2 * nth);
            let other = shape_of(losses, nth, scan, 2 * nth + 1);
            assert_eq!(first_difference(&one, &other), None, "{losses:?}, life {nth}");
            restores += count(&one, |event| matches!(event, TraceEvent::Restores { .. }));
            openings += count(&one, |event| *event == TraceEvent::IsOpen);
        }
        println!("{losses:?}: {restores} restores, {openings} openings");
    }
}

#[test]
fn what_shows_after_restores_and_takeovers_is_uniform_and_independent_of_what_is_asked() {
    let mut pool = case(0, Losses::Never, 0, None).pool();
    let mut tests = 0;
    for (nth, losses) in KINDS {
        let (case, mut again) = (case(nth, losses, lives(JUDGED), None), RepeatCounts::default());
        let all = case.run_lifecycle();
        tests += must_pass(&case, &all, &mut pool, &mut again);
        let redrawn = again.redrawn_leaves.judge(16);
        println!("{losses:?}: {redrawn} {again:?}");
        assert!(redrawn.log2_p >= ALARM_LOG2);
    }
    tests += must_pass_pooled("after losses", &pool, 0.035);
    println!("{tests} tests");
    assert!(tests < MAX_TESTS && ALARM_LOG2 <= -32.0);
}

#[test]
fn a_repetition_on_another_machine_that_is_not_what_was_announced_is_caught() {
    let repeating = [Losses::AlwaysRestored(JournalPlace::StoreFirst), Losses::TakenOver];
    for losses in repeating {
        for flaw in [
            Flaw::LosesLastRecord,
            Flaw::ReadsOtherSlots,
            Flaw::RepeatsNothing,
            Flaw::RepeatsSome,
            Flaw::RepeatsTwice,
        ] {
            let judgement = case(0, losses, FLAWED, Some(flaw)).judge();
            assert!(judgement.alarmed("repetition"), "{losses:?}, {flaw:?}: {judgement}");
        }
        let case = case(0, losses, FLAWED, Some(Flaw::LosesLastRecord));
        let judgement = Case { is_strict: false, ..case }.judge();
        assert!(judgement.alarmed("shape"), "{losses:?}, a path that is read again: {judgement}");
    }
}

#[test]
fn a_redraw_that_leaves_out_buckets_is_caught() {
    for journal in [JournalPlace::Disk, JournalPlace::Store] {
        let judgement =
            case(0, Losses::Restored(journal), FLAWED, Some(Flaw::LeavesOutBuckets)).judge();
        assert!(judgement.alarmed("repetition"), "{journal:?}: {judgement}");
    }
}

#[test]
fn randomness_that_comes_back_on_another_machine_is_caught() {
    for (nth, losses) in [
        (0, Losses::AlwaysRestored(JournalPlace::Disk)),
        (0, Losses::AlwaysRestored(JournalPlace::StoreFirst)),
        (0, Losses::TakenOver),
    ] {
        let case = case(nth, losses, lives(JUDGED), Some(Flaw::SameRandomness));
        let mut again = RepeatCounts::default();
        let judgement = case.judge_and_pool(&case.run_lifecycle(), &mut case.pool(), &mut again);
        println!("{losses:?}: {} {judgement}", again.redrawn_leaves.judge(16));
        assert!(judgement.alarmed("leaves"), "{losses:?}: {judgement}");
    }
}
