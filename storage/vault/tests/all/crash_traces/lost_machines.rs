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
        let (mut elsewhere, mut openings) = (0, 0);
        for nth in 0..lives(SHAPED) {
            let one = shape_of(losses, nth, hammer, 2 * nth);
            let other = shape_of(losses, nth, scan, 2 * nth + 1);
            assert_eq!(first_difference(&one, &other), None, "{losses:?}, life {nth}");
            let is_elsewhere = |event: &TraceEvent| {
                matches!(event, TraceEvent::Restores { .. } | TraceEvent::Follows { .. })
            };
            elsewhere += count(&one, is_elsewhere);
            openings += count(&one, |event| *event == TraceEvent::IsOpen);
        }
        assert!(elsewhere >= 3 * lives(SHAPED) && openings >= 5 * lives(SHAPED), "{elsewhere}, {openings}");
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
        assert!(redrawn.log2_p >= ALARM_LOG2, "{losses:?}: {redrawn}");
        tests += 1;
        let few = lives(JUDGED) as usize;
        assert!(again.repeated >= 5 * few && again.belated >= 1, "{losses:?}: {again:?}");
        assert_eq!(again.redrawn > few, !losses.announces(), "{losses:?}: {again:?}");
        assert_eq!(again.redrawn_leaves.all > 100, !losses.announces(), "{losses:?}: {again:?}");
    }
    tests += must_pass_pooled("after losses", &pool, 0.035);
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
    }
}

#[test]
fn a_path_that_is_read_again_after_a_restore_is_caught_by_the_judge_of_schemes_as_well() {
    let losses = Losses::AlwaysRestored(JournalPlace::StoreFirst);
    let case = case(0, losses, FLAWED, Some(Flaw::LosesLastRecord));
    let judgement = Case { is_strict: false, ..case }.judge();
    assert!(judgement.alarmed("shape"), "{judgement}");
}

#[test]
fn a_redraw_that_leaves_out_buckets_is_caught() {
    for journal in [JournalPlace::Disk, JournalPlace::Store] {
        let judgement = case(0, Losses::Restored(journal), FLAWED, Some(Flaw::LeavesOutBuckets)).judge();
        assert!(judgement.alarmed("repetition"), "{journal:?}: {judgement}");
    }
}

#[test]
fn randomness_that_comes_back_on_another_machine_is_caught() {
    // A vault that is taken over refuses the salt of an earlier epoch, so it would not even open.
    for journal in [JournalPlace::Disk, JournalPlace::StoreFirst] {
        let losses = Losses::AlwaysRestored(journal);
        let judgement = case(0, losses, lives(JUDGED), Some(Flaw::SameRandomness)).judge();
        assert!(judgement.alarmed("leaves"), "{losses:?}: {judgement}");
    }
}
