//! Does a crash tell an observer of the store anything about the requests?
//!
//! A small vault over a network is killed at chosen requests. There are two very different workloads: one block is
//! written over and over, or all blocks are read in a scan. Four things are tested in the traces:
//!
//! 1. **Shape.** Where no early reshuffle can happen, everything but leaves and slots is fixed. This is kind, time and
//!    step of each request, and the number of slots of each level. It is also the versions written and deleted, and
//!    names and sizes of objects. Lifecycles with the same public facts must have the same shape, for any requests and
//!    random numbers. No false alarms.
//! 2. **Repetition.** A recovery repeats all reads since the last checkpoint, and nothing before it. They are the same
//!    slots of the same versions in the same order. No false alarms.
//! 3. **Choices.** With repetitions removed, leaves and slots are given to the core's obliviousness tests. These
//!    compute Ring ORAM's schedule independently, and test the rest with likelihood-ratio tests (G, the sharper
//!    chi-square). One client waits until the vault is quiet; another's accesses overlap off-line work. The draws of
//!    all lifecycles are tested together as well.
//! 4. **Steps.** Virtual time stands still while a vault computes. So each request has a step: how often the vault was
//!    polled since its store last answered. Where off-line work overlaps accesses, the steps depend on leaves, too.
//!    There, one workload of two must not have more of them than the other in nearly all lifecycles.
//!
//! Each test alarms falsely with a probability below 2^-32. There are at most 2^10 of them here, so the probability of
//! any false alarm is below 2^-22. Seeds are fixed: a test that passed passes again.
//!
//! Deliberately broken vaults must be caught by the same tests.

#![allow(clippy::print_stdout, reason = "a failing test shows what it saw")]

mod altered_traces;
mod flaws;
mod in_flight;
mod judging;
mod lifecycle;
mod losses;
mod lost_machines;
mod machines;
mod redrawn_leaves;
mod redraws;
mod transcript;

use crate::every_step::{is_thorough, more_if_thorough};
use crate::support::intercepted::Request;
use crate::support::over_ring;
use crate::support::recorder::TraceEvent;
use crate::support::rng::TestRng;
use crate::support::shape::{Shape, shape};
use ameles_core::schemes::ring::{RingBucket, RingParameters};
use ameles_core::testing::oblivious::{ALARM_LOG2, Pool, Power};
use ameles_core::testing::{Operation, small_ring};
use ameles_core::types::BlockId;
use ameles_vault::{JournalPlace, VaultParameters};
use flaws::Flaw;
use judging::{Case, LifecycleResults, RepeatCounts};
use lifecycle::{PublicFacts, Tempo, run_lifecycle};
use machines::Successor;
use std::time::Duration;

const MAX_BATCH: u32 = 4;
/// The number of lifecycles under each workload whose shapes are compared; a thorough run has four times as many.
const SHAPED: u64 = 12;
/// The number of lifecycles under each workload that are tested statistically; a thorough run has four times as many.
const JUDGED: u64 = 24;
/// The number of lifecycles of a vault whose flaw shows in every one.
const FLAWED: u64 = 6;
/// The number of batches that write every block, and so every bucket: sixteen leaves, and an eviction for three
/// accesses.
const WARM_UP: usize = 16;
/// The batches of a lifecycle after the warm-up.
const BATCHES: usize = 40;
const DEATHS: usize = 8;
/// A client that always waits until the vault is quiet.
const ALWAYS_QUIET: usize = usize::MAX;
/// The maximum number of tests of sound vaults here.
const MAX_TESTS: usize = 1 << 10;

/// A small tree of two untrusted subtrees.
fn ring_parameters() -> RingParameters {
    RingParameters { max_batch: MAX_BATCH, ..small_ring(10) }
}

/// The parameters with so many slots that no bucket is ever read too often.
fn roomy_parameters() -> RingParameters {
    RingParameters { max_batch: MAX_BATCH, ..small_ring(50) }
}

/// The parameters with so few slots that a full bucket has one dummy, and further reads of it take blocks.
fn crowded_parameters() -> RingParameters {
    RingParameters {
        reads: MAX_BATCH + 1,
        inner: RingBucket { blocks: 4, slots: 5 },
        leaf: RingBucket { blocks: 10, slots: 10 },
        ..ring_parameters()
    }
}

/// The parameters with three slices for each eviction. Off-line work reads more slots of a bucket than a batch does.
fn sliced_parameters() -> RingParameters {
    let inner = RingBucket { blocks: MAX_BATCH + 1, slots: 11 };
    RingParameters { inner, slice_slots: 24, ..ring_parameters() }
}

/// A vault with this Ring ORAM; a checkpoint comes every 24 accesses, and every other one is uploaded.
fn vault_parameters(ring: RingParameters) -> VaultParameters {
    VaultParameters { rows_bytes: 1024, ..over_ring(ring, 24) }
}

/// The public facts of a lifecycle.
fn public(parameters: &RingParameters, nth: u64, warm_up: usize, quiet: usize) -> PublicFacts {
    let mut rng = TestRng::of(nth);
    let mut deaths = || rng.magnitude(1..=120);
    PublicFacts {
        parameters: vault_parameters(parameters.clone()),
        deaths: (0..DEATHS).map(|_| (deaths(), Successor::Restart)).collect(),
        warm_up,
        records_warm_up: false,
        quiet,
        tempo: Tempo::SLOW,
        seed: nth,
    }
}

/// A workload: the request of its nth access.
type Workload = fn(u64) -> Operation;

/// A script that writes every block, followed by batches of the workload, whose lengths follow from `public`.
fn script(public: u64, workload: Workload) -> Vec<Vec<Operation>> {
    let filling: Vec<Operation> = (0..64).map(|block| Operation::Write(BlockId(block), 1)).collect();
    let mut script: Vec<_> = filling.chunks(MAX_BATCH as usize).map(<[Operation]>::to_vec).collect();
    let mut lengths = TestRng::of(!public);
    let mut asked = 0;
    for _ in 0..BATCHES {
        let length = lengths.within(1..=MAX_BATCH.into());
        script.push((asked..asked + length).map(workload).collect());
        asked += length;
    }
    script
}

fn hammer(nth: u64) -> Operation {
    Operation::Write(BlockId(5), nth as u8)
}

fn scan(nth: u64) -> Operation {
    Operation::Read(BlockId(nth % 64))
}

/// The shape of a lifecycle, how often it was killed, and how often before the vault was open.
fn shape_of(
    nth: u64,
    workload: Workload,
    seed: u64,
    flaw: Option<Flaw>,
) -> (Vec<(Duration, Shape)>, usize, usize) {
    shape_with(JournalPlace::Disk, nth, workload, seed, flaw)
}

/// The results of [`shape_of`] with the journal in this place.
fn shape_with(
    journal: JournalPlace,
    nth: u64,
    workload: Workload,
    seed: u64,
    flaw: Option<Flaw>,
) -> (Vec<(Duration, Shape)>, usize, usize) {
    let parameters = roomy_parameters();
    let mut public = public(&parameters, nth, WARM_UP, ALWAYS_QUIET);
    public.parameters.journal = journal;
    let lifecycle = run_lifecycle(&public, &script(nth, workload), seed, flaw).expect("the vault goes on");
    (shape(&parameters, &lifecycle.trace), lifecycle.deaths, lifecycle.early_deaths)
}

/// Returns this number of lifecycles, or four times as many in a thorough run.
fn lives(usual: u64) -> u64 {
    more_if_thorough(usual, 4)
}

/// Returns where two shapes first differ.
fn first_difference(one: &[(Duration, Shape)], other: &[(Duration, Shape)]) -> Option<String> {
    let at = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at))?;
    Some(format!("moment {at}: {:?} and {:?}", one.get(at), other.get(at)))
}

#[test]
fn the_shape_of_a_trace_with_crashes_does_not_depend_on_what_is_asked() {
    let (mut all_deaths, mut all_early) = (0, 0);
    for nth in 0..lives(SHAPED) {
        let (one, deaths, early) = shape_of(nth, hammer, 2 * nth, None);
        let (other, ..) = shape_of(nth, scan, 2 * nth + 1, None);
        assert_eq!(first_difference(&one, &other), None, "life {nth}");
        all_deaths += deaths;
        all_early += early;
    }
    assert!(all_deaths as u64 >= 6 * lives(SHAPED), "{all_deaths} deaths");
    assert!(all_early as u64 >= lives(SHAPED), "{all_early} deaths before the vault was open");
}

#[test]
fn a_journal_in_the_store_shows_nothing_of_what_is_asked_across_crashes() {
    let mut objects = 0;
    for nth in 0..lives(SHAPED) {
        let (one, ..) = shape_with(JournalPlace::Store, nth, hammer, 2 * nth, None);
        let (other, ..) = shape_with(JournalPlace::Store, nth, scan, 2 * nth + 1, None);
        assert_eq!(first_difference(&one, &other), None, "life {nth}");
        let is_object = |shape: &Shape| {
            matches!(shape, Shape::Other(TraceEvent::Asks { request: Request::PutIfAbsent { name, .. }, .. })
                if name.starts_with("log/"))
        };
        objects += one.iter().filter(|(_, shape)| is_object(shape)).count();
    }
    assert!(objects as u64 > BATCHES as u64 * lives(SHAPED), "{objects} objects");
}

#[test]
fn a_hit_that_takes_a_step_more_is_caught_by_the_steps_of_requests_and_by_nothing_else() {
    let [mut one, mut other] = [(hammer as Workload, 1), (scan, 2)]
        .map(|(workload, seed)| shape_of(0, workload, seed, Some(Flaw::DelaysHits)).0);
    assert!(first_difference(&one, &other).is_some());
    for (_, shape) in one.iter_mut().chain(&mut other) {
        match shape {
            Shape::Reads(_, step, _) | Shape::Other(TraceEvent::Asks { step, .. }) => *step = 0,
            Shape::Other(_) => {}
        }
    }
    assert_eq!(first_difference(&one, &other), None);
}

#[test]
fn a_vault_that_asks_once_for_what_is_asked_twice_is_caught_by_its_shape() {
    let (one, ..) = shape_of(0, |_| Operation::Read(BlockId(5)), 1, Some(Flaw::Deduplicates));
    let (other, ..) = shape_of(0, scan, 2, Some(Flaw::Deduplicates));
    assert!(first_difference(&one, &other).is_some());
}

/// Requires that lifecycles pass, and adds their draws to a pool. Returns the number of tests.
fn must_pass(case: &Case, lives: &[LifecycleResults; 2], pool: &mut Pool, again: &mut RepeatCounts) -> usize {
    let judgement = case.judge_and_pool(lives, pool, again);
    assert!(judgement.passes(), "{judgement}");
    judgement.findings.len()
}

/// Requires that all draws together pass, and that a bias of `max` among the leaves would not. Prints what passes in
/// each class of them.
fn must_pass_pooled(name: &str, pool: &Pool, max: f64) -> usize {
    let judgement = pool.judge();
    for Power { family, class, draws, cells, limit } in pool.powers() {
        println!("power | {name} | {family} | {class} | {draws} draws | {cells} cells | {limit}");
    }
    assert!(judgement.passes(), "all together: {judgement}");
    let limit = pool.power("leaves, by high bits");
    assert!(limit.is_some_and(|limit| limit < max), "finds {limit:?}");
    judgement.findings.len()
}

#[test]
fn what_shows_across_crashes_is_uniform_and_independent_of_what_is_asked_and_spoilt_slots_are_not() {
    let case =
        |quiet, flaw| Case { nth: u64::from(quiet == WARM_UP), ..Case::of(lives(JUDGED), quiet, flaw) };
    let [mut pool, mut altered] = [0, 1].map(|_| case(WARM_UP, None).pool());
    let mut steps = RepeatCounts::default();
    let mut tests = 0;
    for quiet in [ALWAYS_QUIET, WARM_UP] {
        let (lives, mut again) = (case(quiet, None).run_lifecycle(), RepeatCounts::default());
        tests += must_pass(&case(quiet, None), &lives, &mut pool, &mut again);
        let few = 2 * self::lives(JUDGED) as usize;
        assert!(again.deaths >= 6 * few && again.repeated >= 6 * few, "{again:?}");
        assert!(again.redone >= few / 2 && again.belated >= few / 4, "{again:?}");
        assert_eq!(again.beside > 0, quiet == WARM_UP, "{again:?}");
        assert!(again.overlapping >= few, "{again:?}");
        steps.add_steps(again);
        let one_draw = case(quiet, Some(Flaw::OneDraw));
        let judgement = one_draw.judge_and_pool(&lives, &mut one_draw.pool(), &mut RepeatCounts::default());
        for side in ["one", "other"] {
            let finding = format!("{side}: steps between slots of one access");
            assert!(judgement.alarmed(&finding), "no alarm of {finding}: {judgement}");
        }
        let sometimes = case(quiet, Some(Flaw::FirstSlotSometimes));
        let judgement = sometimes.judge_and_pool(&lives, &mut altered, &mut RepeatCounts::default());
        // That is too little for a single test in a usual run.
        assert!(is_thorough() || judgement.passes(), "{judgement}");
    }
    tests += must_pass_pooled("across crashes", &pool, 0.025);
    let (steps, altered) = (steps.judge_steps(), altered.judge());
    assert!(steps.log2_p >= ALARM_LOG2, "{steps}");
    assert!(altered.alarmed("slots of accesses"), "{altered}");
    assert!(tests < MAX_TESTS && ALARM_LOG2 <= -32.0);
}

#[test]
fn evictions_in_slices_show_nothing_across_crashes() {
    let case = Case { ring: sliced_parameters(), ..Case::of(lives(JUDGED), ALWAYS_QUIET, None) };
    assert_eq!(case.ring.slices().len(), 3);
    let (lives, mut pool) = (case.run_lifecycle(), case.pool());
    let tests = must_pass(&case, &lives, &mut pool, &mut RepeatCounts::default());
    assert!(tests + must_pass_pooled("slices", &pool, 0.035) <= MAX_TESTS);
}

#[test]
fn buckets_that_run_out_of_dummies_show_nothing_across_crashes_unless_a_slot_is_chosen_by_its_place() {
    let case = Case { ring: crowded_parameters(), ..Case::of(lives(JUDGED), ALWAYS_QUIET, None) };
    let (lives, mut pool) = (case.run_lifecycle(), case.pool());
    let tests = must_pass(&case, &lives, &mut pool, &mut RepeatCounts::default());
    assert!(tests + must_pass_pooled("crowded buckets", &pool, 0.035) <= MAX_TESTS);
    let case = Case { flaw: Some(Flaw::FirstSlotOfFew), ..case };
    let mut pool = case.pool();
    case.judge_and_pool(&lives, &mut pool, &mut RepeatCounts::default());
    let judgement = pool.judge();
    assert!(judgement.alarmed("slots one by one"), "{judgement}");
}

/// The cases without kills, with half of the seeds in each.
fn without_deaths(flaw: Flaw) -> [Case; 2] {
    [0, 1].map(|nth| Case { nth, deaths: 0, ..Case::of(JUDGED, WARM_UP, Some(flaw)) })
}

#[test]
#[ignore = "half a minute, as lives are lived several times to choose one: `cargo xtask test --only unit --thorough` runs it"]
fn a_leaf_that_is_drawn_a_little_too_often_is_found_by_the_draws_of_all_lives_together_only() {
    let cases = without_deaths(Flaw::FirstLeafOften);
    let mut pool = cases[0].pool();
    for case in cases {
        must_pass(&case, &case.run_lifecycle(), &mut pool, &mut RepeatCounts::default());
    }
    let judgement = pool.judge();
    println!("{judgement}");
    assert!(judgement.alarmed("leaves, by high bits"), "{judgement}");
}

#[test]
fn a_step_more_after_a_hit_is_found_by_the_steps_of_requests_beside_off_line_work_as_well() {
    let mut steps = RepeatCounts::default();
    for case in without_deaths(Flaw::DelaysHits) {
        must_pass(&case, &case.run_lifecycle(), &mut case.pool(), &mut steps);
    }
    let finding = steps.judge_steps();
    println!("{finding}");
    assert!(finding.log2_p < ALARM_LOG2, "{finding}");
}

#[test]
fn a_recovery_that_does_not_repeat_what_was_announced_is_caught() {
    for flaw in [Flaw::LosesLastRecord, Flaw::ReadsOtherSlots, Flaw::RepeatsNothing] {
        let judgement = Case::of(FLAWED, WARM_UP, Some(flaw)).judge();
        assert!(judgement.alarmed("repetition"), "{flaw:?}: {judgement}");
    }
}

#[test]
fn a_path_that_is_read_again_after_a_crash_is_caught_by_the_judge_of_schemes_as_well() {
    let case = Case::of(FLAWED, WARM_UP, Some(Flaw::LosesLastRecord));
    let judgement = Case { is_strict: false, ..case }.judge();
    assert!(judgement.alarmed("shape"), "{judgement}");
}

#[test]
fn randomness_that_comes_back_with_each_opening_is_caught() {
    let judgement = Case::of(lives(JUDGED), WARM_UP, Some(Flaw::SameRandomness)).judge();
    assert!(judgement.alarmed("leaves"), "{judgement}");
}
