//! Does a crash tell the watcher of the store anything of what was asked?
//!
//! A small vault over a network lives through deaths at moments counted in requests, under two workloads that could
//! hardly differ more: one block written over and over, and a scan of reads. Three things are asked of what shows:
//!
//! 1. **Shape.** Where no early reshuffle can come, everything but leaves and slots is fixed: kind and time of each
//!    request, the slots of each level, the versions written and deleted, names and sizes of objects. Lives with the
//!    same public facts must not differ in it, whatever is asked and drawn. No false alarms.
//! 2. **Repetition.** A recovery makes the reads since the last checkpoint again, all of them, the same slots of the same
//!    versions in the same order, and nothing before that. No false alarms.
//! 3. **Choices.** With those left out, leaves and slots go to the judge of the core's obliviousness tests, which knows
//!    Ring ORAM's schedule by an account of its own and tests the rest with likelihood-ratio (G, the sharper
//!    chi-square) tests; for a client that waits until all is quiet, and for one whose accesses run beside off-line
//!    work. Each test alarms falsely below 2^-32; there are at most 2^8 of them here, so all together alarm falsely
//!    below 2^-24. Seeds are fixed: a test that passed passes again.
//!
//! Vaults that are broken on purpose must be caught by the same tests.

mod flaws;
mod life;
mod one_draw;
mod transcript;

use crate::every_step::more_if_thorough;
use crate::support::chance::Chance;
use crate::support::recorder::{Moment, Request};
use crate::support::shape::{Shape, shape};
use flaws::Flaw;
use lethe_core::schemes::ring::RingParameters;
use lethe_core::testing::oblivious::statistics::certain;
use lethe_core::testing::oblivious::{ALARM_LOG2, Adversary, Judgement, Trial, judge, ring};
use lethe_core::testing::{Operation, small_ring};
use lethe_core::words::BlockId;
use lethe_vault::{JournalPlace, SchemeParameters, VaultParameters};
use life::{Public, live};
use one_draw::draw_once;
use std::time::Duration;
use transcript::{Transcript, transcribe};

const MAX_BATCH: u32 = 4;
/// Lives under each workload that are compared shape by shape; a thorough run has four times as many.
const SHAPED: u64 = 12;
/// Lives under each workload that are judged; a thorough run has four times as many.
const JUDGED: u64 = 24;
/// Lives of a vault whose flaw shows in every one.
const FLAWED: u64 = 6;
/// Batches that write every block, and by then every bucket: sixteen leaves, and an eviction for three accesses.
const WARM_UP: usize = 16;
/// Batches of a life after that.
const BATCHES: usize = 40;
const DEATHS: usize = 8;
/// A client that always waits until all is quiet.
const ALWAYS_QUIET: usize = usize::MAX;
/// The most tests of sound vaults here.
const MOST_TESTS: usize = 1 << 8;

/// A small tree of two untrusted subtrees.
fn ring_parameters() -> RingParameters {
    RingParameters { max_batch: MAX_BATCH, ..small_ring(10) }
}

/// The same with so many slots that no bucket is ever read too often.
fn roomy_parameters() -> RingParameters {
    RingParameters { max_batch: MAX_BATCH, ..small_ring(50) }
}

/// The vault around a ring; a checkpoint comes every 24 accesses, and every other one is shipped.
fn vault_parameters(ring: RingParameters) -> VaultParameters {
    assert_eq!(ring.validate(), Ok(()));
    VaultParameters {
        checkpoint_every: 24,
        ship_every: 2,
        rows_bytes: 1024,
        ..VaultParameters::around(SchemeParameters::Ring(ring))
    }
}

/// The public facts of a life.
fn public(parameters: &RingParameters, nth: u64, unrecorded: usize, quiet: usize) -> Public {
    let mut chance = Chance::of(nth);
    let mut deaths = || chance.magnitude(1..=120);
    Public {
        parameters: vault_parameters(parameters.clone()),
        deaths: (0..DEATHS).map(|_| deaths()).collect(),
        unrecorded,
        quiet,
        seed: nth,
    }
}

/// A workload: the request of its nth access.
type Workload = fn(u64) -> Operation;

/// A script that writes every block; then come batches of the workload, of lengths that follow from `public`.
fn script(public: u64, workload: Workload) -> Vec<Vec<Operation>> {
    let filling: Vec<Operation> = (0..64).map(|block| Operation::Write(BlockId(block), 1)).collect();
    let mut script: Vec<_> = filling.chunks(MAX_BATCH as usize).map(<[Operation]>::to_vec).collect();
    let mut lengths = Chance::of(!public);
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

/// The shape of a life, and how often it ended before its time, and before the vault was open.
fn shape_of(
    nth: u64,
    workload: Workload,
    seed: u64,
    flaw: Option<Flaw>,
) -> (Vec<(Duration, Shape)>, usize, usize) {
    shape_with(JournalPlace::Disk, nth, workload, seed, flaw)
}

/// The same with the journal in this place.
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
    let life = live(&public, &script(nth, workload), seed, flaw).expect("the vault goes on");
    (shape(&parameters, &life.trace), life.deaths, life.early_deaths)
}

/// So many lives, or four times as many in a thorough run.
fn lives(usual: u64) -> u64 {
    more_if_thorough(usual, 4)
}

/// Tells where two shapes part.
fn parting(one: &[(Duration, Shape)], other: &[(Duration, Shape)]) -> Option<String> {
    let at = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at))?;
    Some(format!("moment {at}: {:?} and {:?}", one.get(at), other.get(at)))
}

#[test]
fn the_shape_of_a_trace_with_crashes_does_not_depend_on_what_is_asked() {
    let (mut all_deaths, mut all_early) = (0, 0);
    for nth in 0..lives(SHAPED) {
        let (one, deaths, early) = shape_of(nth, hammer, 2 * nth, None);
        let (other, ..) = shape_of(nth, scan, 2 * nth + 1, None);
        assert_eq!(parting(&one, &other), None, "life {nth}");
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
        assert_eq!(parting(&one, &other), None, "life {nth}");
        let is_object = |shape: &Shape| {
            matches!(shape, Shape::Other(Moment::Asks { request: Request::PutIfAbsent { name, .. }, .. })
                if name.starts_with("log/"))
        };
        objects += one.iter().filter(|(_, shape)| is_object(shape)).count();
    }
    assert!(objects as u64 > BATCHES as u64 * lives(SHAPED), "{objects} objects");
}

#[test]
fn a_vault_that_asks_once_for_what_is_asked_twice_is_caught_by_its_shape() {
    let (one, ..) = shape_of(0, |_| Operation::Read(BlockId(5)), 1, Some(Flaw::Deduplicates));
    let (other, ..) = shape_of(0, scan, 2, Some(Flaw::Deduplicates));
    assert!(parting(&one, &other).is_some());
}

/// The counts of what recoveries did in all lives.
#[derive(Debug, Default)]
struct Again {
    repeated: usize,
    redone: usize,
    belated: usize,
    beside: usize,
    overlapping: usize,
    deaths: usize,
}

/// Judges lives under both workloads; after `quiet` batches the client does not wait until all is quiet. A request of a
/// recovery that differs from the announced one is an alarm, or, if not `strict`, taken for something new.
fn judged(lives: u64, quiet: usize, flaw: Option<Flaw>, strict: bool) -> (Judgement, Again) {
    let parameters = ring_parameters();
    let mut again = Again::default();
    let mut deviations = Vec::new();
    let mut trials = |workload: Workload, side: u64| -> Vec<Trial> {
        let mut told = Vec::new();
        for nth in 0..lives {
            let operations = script(nth, workload);
            let life = live(&public(&parameters, nth, 0, quiet), &operations, side << 32 | nth, flaw);
            let told_of =
                life.map_err(|refusal| format!("the vault refused: {refusal}")).and_then(|mut life| {
                    again.deaths += life.deaths;
                    if flaw == Some(Flaw::OneDraw) {
                        draw_once(&mut life.trace, &parameters, side << 32 | nth);
                    }
                    transcribe(&life.trace, &parameters, quiet, strict)
                });
            match told_of {
                Ok(Transcript { events, repeated, redone, belated, beside, overlapping }) => {
                    again.repeated += repeated;
                    again.redone += redone;
                    again.belated += belated;
                    again.beside += beside;
                    again.overlapping += overlapping;
                    told.push(Trial { operations, events });
                }
                Err(deviation) => deviations.push(format!("life {nth}: {deviation}")),
            }
        }
        told
    };
    let (one, other) = (trials(hammer, 1), trials(scan, 2));
    let mut judgement = Judgement { findings: Vec::new() };
    if let Some(figure) = deviations.first() {
        judgement.findings.push(certain("repetition".to_owned(), Some(figure.clone())));
    } else {
        let watch = |seed| ring::watch(&parameters, Adversary::Full, seed);
        judgement = judge(1 << parameters.leaf_level.0, watch, &one, &other);
    }
    (judgement, again)
}

#[test]
fn what_shows_across_crashes_is_uniform_and_independent_of_what_is_asked() {
    let mut tests = 0;
    for quiet in [ALWAYS_QUIET, WARM_UP] {
        let (judgement, again) = judged(lives(JUDGED), quiet, None, true);
        assert!(judgement.passes(), "{judgement}");
        tests += judgement.findings.len();
        let lives = 2 * lives(JUDGED) as usize;
        assert!(again.deaths >= 6 * lives && again.repeated >= 6 * lives, "{again:?}");
        assert!(again.redone >= lives / 2 && again.belated >= lives / 4, "{again:?}");
        assert_eq!(again.beside > 0, quiet == WARM_UP, "{again:?}");
        assert!(again.overlapping >= lives, "{again:?}");
    }
    assert!(tests <= MOST_TESTS && ALARM_LOG2 <= -32.0);
}

#[test]
fn a_recovery_that_does_not_repeat_what_was_announced_is_caught() {
    for flaw in [Flaw::LosesLastRecord, Flaw::ReadsOtherSlots, Flaw::RepeatsNothing] {
        let (judgement, _) = judged(FLAWED, WARM_UP, Some(flaw), true);
        assert!(judgement.alarmed("repetition"), "{flaw:?}: {judgement}");
    }
}

#[test]
fn a_path_that_is_read_again_after_a_crash_is_caught_by_the_judge_of_schemes_as_well() {
    let (judgement, _) = judged(FLAWED, WARM_UP, Some(Flaw::LosesLastRecord), false);
    assert!(judgement.alarmed("shape"), "{judgement}");
}

#[test]
fn randomness_that_comes_back_with_each_opening_is_caught() {
    let (judgement, _) = judged(lives(JUDGED), WARM_UP, Some(Flaw::SameRandomness), true);
    assert!(judgement.alarmed("leaves"), "{judgement}");
}

#[test]
fn one_draw_for_all_the_dummies_of_a_batch_is_caught_across_crashes() {
    for quiet in [ALWAYS_QUIET, WARM_UP] {
        let (judgement, _) = judged(lives(JUDGED), quiet, Some(Flaw::OneDraw), true);
        for side in ["one", "other"] {
            let finding = format!("{side}: steps between slots of one access");
            assert!(judgement.alarmed(&finding), "no alarm of {finding}: {judgement}");
        }
    }
}
