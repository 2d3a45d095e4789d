//! Does a paced vault show what is asked of it, by what it sends or by when?
//!
//! A small vault runs under very different mixes of requests: nothing at all, a flood, one block written over and over,
//! an occasional request. Each of them must show the same kind, size and **time** of every request, in virtual time, to
//! the nanosecond; with kills in between, too. With a quick store, which finishes a turn before the next one, levels
//! are compared as well. With a slow one an access leaves out buckets that are in flight, and which those are follows
//! from leaves: there, levels are left out. Leaves and slots are tested with the schemes.
//!
//! No false alarms: everything that is compared is fixed. Deliberately broken pacers must be caught.

mod costs;
mod flawed;
mod lease_checks;
mod lifecycle;
mod mixes;

use crate::support::over_ring;
use crate::support::recorder::TraceEvent;
use crate::support::rng::TestRng;
use crate::support::shape::{Shape, shape};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::testing::small_ring;
use ameles_core::types::Level;
use ameles_vault::{JournalPlace, PaceFigures, VaultParameters};
use flawed::Pacing;
use lifecycle::{LifecycleResult, PublicFacts, run_lifecycle};
use mixes::Mix;
use std::time::Duration;

const MAX_BATCH: u32 = 4;
const TURN: Duration = Duration::from_millis(800);
/// The length of an opening that is not killed.
const LASTS: Duration = Duration::from_secs(60);
/// The time from a request to its answer. Two evictions and an access fit into a turn.
const QUICK: Duration = Duration::from_millis(40);
/// A round trip so long that no turn is done when the next one is due.
const SLOW: Duration = Duration::from_millis(1100);
/// The resolution of tokio's timers. It is visible where the time of local work is part of the simulation.
const GRAIN: Duration = Duration::from_millis(1);
/// The number of lifecycles under each mix.
const LIVES: u64 = 6;
const DEATHS: usize = 6;

/// A small tree with so many slots that no bucket is ever read too often. All of it is untrusted: every access
/// coincides with an eviction that reads.
fn ring_parameters(block_bytes: u32) -> RingParameters {
    RingParameters { block_bytes, top: Level(0), max_batch: MAX_BATCH, ..small_ring(80) }
}

/// A checkpoint comes every 24 accesses, six turns; every other one is uploaded.
fn vault_parameters(block_bytes: u32) -> VaultParameters {
    over_ring(ring_parameters(block_bytes), 24)
}

/// The public facts of a lifecycle.
fn public(nth: u64, round_trip: Duration, deaths: usize) -> PublicFacts {
    let mut rng = TestRng::of(nth);
    PublicFacts {
        parameters: vault_parameters(16),
        turn: TURN,
        round_trip,
        deaths: (0..deaths).map(|_| rng.magnitude(1..=200)).collect(),
        lasts: LASTS,
        sync_takes: None,
        seed: nth,
    }
}

/// The facts with the journal in the store.
fn with_journal_in_store(public: PublicFacts) -> PublicFacts {
    let parameters = VaultParameters { journal: JournalPlace::Store, ..public.parameters };
    PublicFacts { parameters, ..public }
}

/// The events that an observer of the store sees of a lifecycle, except leaves and slots.
fn shown(lifecycle: &LifecycleResult) -> Vec<(Duration, Shape)> {
    let mut shape = shape(&ring_parameters(16), &lifecycle.trace);
    shape.retain(|(_, shape)| match shape {
        Shape::Reads(..) => true,
        // The observer does not see what the clients see.
        Shape::Other(event) => !matches!(
            event,
            TraceEvent::Batch(_) | TraceEvent::Begun(_) | TraceEvent::Served | TraceEvent::IsOpen
        ),
    });
    shape
}

/// Removes the levels from the events.
fn coarse(mut shown: Vec<(Duration, Shape)>) -> Vec<(Duration, Shape)> {
    for (_, shape) in &mut shown {
        if let Shape::Reads(.., levels) = shape {
            levels.clear();
        }
    }
    shown
}

/// Returns where two lifecycles first differ.
fn first_difference(one: &[(Duration, Shape)], other: &[(Duration, Shape)]) -> Option<String> {
    first_difference_by(Duration::ZERO, one, other)
}

/// Returns where two lifecycles first differ in something else than time, or by more time than this.
fn first_difference_by(
    max: Duration,
    one: &[(Duration, Shape)],
    other: &[(Duration, Shape)],
) -> Option<String> {
    let is_same = |at: usize| match (one.get(at), other.get(at)) {
        (Some((one_at, one)), Some((other_at, other))) => one_at.abs_diff(*other_at) <= max && one == other,
        _ => false,
    };
    let at = (0..one.len().max(other.len())).find(|at| !is_same(*at))?;
    Some(format!("moment {at}: {:?} and {:?}", one.get(at), other.get(at)))
}

#[test]
fn what_is_asked_shows_neither_in_the_requests_nor_in_their_times() {
    for nth in 0..LIVES {
        let public = public(nth, QUICK, 0);
        let idle = run_lifecycle(&public, Pacing::Sound, Mix::Silence, 2 * nth);
        let expected = shown(&idle);
        for mix in Mix::BUSY {
            let busy = run_lifecycle(&public, Pacing::Sound, mix, 2 * nth + 1);
            assert!(busy.answered > 20, "{mix:?}: {} requests were answered", busy.answered);
            assert_eq!(first_difference(&expected, &shown(&busy)), None, "life {nth}: {mix:?}");
        }
        let accesses = expected.iter().filter(|(_, shape)| matches!(shape, Shape::Reads(..))).count();
        assert!(accesses as u128 > 2 * (LASTS.as_millis() / TURN.as_millis()), "{accesses} reads");
    }
}

#[test]
fn a_store_slower_than_the_pace_sets_the_times_and_the_load_does_not() {
    for nth in 0..LIVES {
        let public = public(nth, SLOW, 0);
        let idle = run_lifecycle(&public, Pacing::Sound, Mix::Silence, 2 * nth);
        assert!(idle.pace.late > 5 && idle.pace.left_out > 5, "{:?}", idle.pace);
        for mix in Mix::BUSY {
            let busy = run_lifecycle(&public, Pacing::Sound, mix, 2 * nth + 1);
            assert_eq!(
                first_difference(&coarse(shown(&idle)), &coarse(shown(&busy))),
                None,
                "life {nth}: {mix:?}"
            );
        }
    }
}

#[test]
fn a_crash_and_what_comes_after_it_show_nothing_of_what_was_asked() {
    let (mut deaths, mut early) = (0, 0);
    for (nth, round_trip) in (0..2 * LIVES).zip([QUICK, SLOW].into_iter().cycle()) {
        let public = public(nth, round_trip, DEATHS);
        let shown = |lifecycle: &LifecycleResult| {
            if round_trip == QUICK { shown(lifecycle) } else { coarse(shown(lifecycle)) }
        };
        let idle = run_lifecycle(&public, Pacing::Sound, Mix::Silence, 2 * nth);
        for mix in Mix::BUSY {
            let busy = run_lifecycle(&public, Pacing::Sound, mix, 2 * nth + 1);
            assert_eq!(first_difference(&shown(&idle), &shown(&busy)), None, "life {nth}: {mix:?}");
        }
        deaths += idle.deaths;
        early += idle.early_deaths;
    }
    assert!(deaths as u64 > 8 * LIVES, "{deaths} deaths");
    assert!(early as u64 >= LIVES, "{early} deaths before the vault was open");
}

#[test]
fn a_journal_in_the_store_shows_nothing_of_what_is_asked_under_a_pace() {
    for (nth, deaths) in (0..LIVES).zip([0, DEATHS].into_iter().cycle()) {
        let public = with_journal_in_store(public(nth, QUICK, deaths));
        let idle = run_lifecycle(&public, Pacing::Sound, Mix::Silence, 2 * nth);
        for mix in Mix::BUSY {
            let busy = run_lifecycle(&public, Pacing::Sound, mix, 2 * nth + 1);
            assert!(busy.answered > 20, "{mix:?}: {} requests were answered", busy.answered);
            assert_eq!(first_difference(&shown(&idle), &shown(&busy)), None, "life {nth}: {mix:?}");
        }
    }
}

#[test]
fn a_pacer_that_follows_the_load_is_caught() {
    let public = public(0, QUICK, 0);
    let show = |pacing, mix, seed| shown(&run_lifecycle(&public, pacing, mix, seed));
    let parts = |pacing| {
        Mix::BUSY
            .iter()
            .any(|mix| first_difference(&show(pacing, Mix::Silence, 1), &show(pacing, *mix, 2)).is_some())
    };
    for flawed in [Pacing::SkipsIdleTurns, Pacing::SendsEarlyWhenBusy, Pacing::BatchesAsLongAsAsked] {
        assert!(parts(flawed), "{flawed:?}");
    }
    // The test's own pacer without a flaw: so the tests above catch the flaws.
    assert!(!parts(Pacing::SoundOutside));
}

/// A disk that takes some time for each byte: a write's record takes longer to be durable than the record of a read.
fn on_a_slow_disk(nth: u64) -> PublicFacts {
    let sync_takes = Some((Duration::from_millis(1), Duration::from_micros(1)));
    let parameters = vault_parameters(2048);
    PublicFacts { parameters, sync_takes, ..public(nth, QUICK, 0) }
}

/// Returns the requests to the store only. An answer is recorded when the vault sees it, and the vault sees nothing
/// while this disk is busy.
fn asked(lifecycle: &LifecycleResult) -> Vec<(Duration, Shape)> {
    let mut shown = shown(lifecycle);
    shown.retain(|(_, shape)| !matches!(shape, Shape::Other(TraceEvent::Answered(_))));
    shown
}

#[test]
fn how_long_records_take_to_be_durable_does_not_show() {
    for nth in 0..LIVES {
        let public = on_a_slow_disk(nth);
        let idle = run_lifecycle(&public, Pacing::Sound, Mix::Silence, 2 * nth);
        for mix in [Mix::Flood, Mix::Writes, Mix::NowAndThen] {
            let busy = run_lifecycle(&public, Pacing::Sound, mix, 2 * nth + 1);
            let first_difference = first_difference_by(GRAIN, &asked(&idle), &asked(&busy));
            assert_eq!(first_difference, None, "life {nth}: {mix:?}");
        }
    }
}

#[test]
fn requests_that_leave_as_soon_as_their_record_is_durable_are_caught() {
    let public = on_a_slow_disk(0);
    let ask = |mix, seed| asked(&run_lifecycle(&public, Pacing::SoundOutside, mix, seed));
    assert!(first_difference_by(GRAIN, &ask(Mix::Silence, 1), &ask(Mix::Writes, 2)).is_some());
}

#[test]
fn a_paced_read_is_answered_within_two_turns_and_the_stores_time() {
    let lifecycle = run_lifecycle(&public(0, QUICK, 0), Pacing::Sound, Mix::NowAndThen, 5);
    // A due checkpoint comes first: the time of a turn.
    let max = 2 * TURN + QUICK;
    assert!(lifecycle.slowest <= max, "{:?} is more than {max:?}", lifecycle.slowest);
    assert!(lifecycle.slowest > TURN / 2, "{:?}: no request has waited for its turn", lifecycle.slowest);
}

#[test]
fn the_figures_say_how_many_accesses_were_asked_for() {
    let public = public(0, QUICK, 0);
    let idle = run_lifecycle(&public, Pacing::Sound, Mix::Silence, 1).pace;
    let busy = run_lifecycle(&public, Pacing::Sound, Mix::Flood, 2);
    assert_eq!(idle.asked, 0);
    assert_eq!(busy.pace.asked, busy.accesses);
    // A flood comes in batches that are nearly full.
    assert!(busy.pace.asked > 3 * busy.pace.dummies / 2, "{:?}", busy.pace);
    for figures in [idle, busy.pace] {
        assert_eq!(figures.asked + figures.dummies, u64::from(MAX_BATCH) * figures.turns);
    }
    let public = |figures: PaceFigures| PaceFigures { asked: 0, dummies: 0, ..figures };
    assert_eq!(public(idle), public(busy.pace));
}
