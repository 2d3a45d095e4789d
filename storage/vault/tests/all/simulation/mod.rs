//! Deterministic simulation: one number determines the vault, its callers and their requests, how long every request
//! takes, what fails, and when the power does.
//!
//! `AMELES_SIM_SEEDS=100000` runs more seeds, and `AMELES_SIM_SEED=…` runs one of them.

mod callers;
mod checked_store;
mod disk_copies;
pub mod killable;
pub mod registers;
pub mod rows;
mod run;
mod run_log;
mod scenario;
mod summary;
pub mod violation;
mod watcher;

use ameles_store::ProviderCounts;
use run::{Environment, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use summary::Summary;

/// The number of seeds of one run of the test.
const SEEDS: u64 = 400;

pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}; give a number")))
}

/// Runs seeds on all cores, until a promise is broken in the expected way; returns the first such seed, and the
/// failure.
fn run_until(
    seeds: std::ops::Range<u64>,
    kind: Environment,
    is_looked_for: impl Fn(&str) -> bool + Sync,
) -> (Summary, Option<(u64, String)>) {
    let next = AtomicU64::new(seeds.start);
    let found = Mutex::new((Summary::default(), None::<(u64, String)>));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || found.lock().expect("no worker panics").1.is_some() {
                return;
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| run(seed, kind)));
            let mut found = found.lock().expect("no worker panics");
            match outcome {
                Ok(summary) => found.0 += summary,
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().cloned();
                    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                    let text = text.unwrap_or_default();
                    if is_looked_for(&text) && found.1.as_ref().is_none_or(|(other, _)| seed < *other) {
                        found.1 = Some((seed, text));
                    }
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    found.into_inner().expect("no worker panics")
}

/// Runs seeds in an environment in which every promise must hold, or the one that is requested.
fn run_all(seeds: u64, kind: Environment) -> Option<Summary> {
    if let Some(seed) = number("AMELES_SIM_SEED") {
        run_log::keep();
        let outcome = catch_unwind(|| run(seed, kind));
        let run_log = run_log::close();
        assert!(outcome.is_ok(), "{run_log}\nseed {seed} has broken a promise, see above");
        return None;
    }
    let (summary, broken) = run_until(0..seeds, kind, |_| true);
    if let Some((seed, how)) = broken {
        panic!(
            "seed {seed}: {how}\nto see it again: AMELES_SIM_SEED={seed} cargo test -p ameles-vault --test all simulation"
        );
    }
    Some(summary)
}

#[test]
fn no_seed_breaks_a_promise() {
    let seeds = number("AMELES_SIM_SEEDS").unwrap_or(SEEDS);
    let Some(summary) = run_all(seeds, Environment::Sound) else { return };
    let Summary {
        openings, openings_cut_off, crashes, power_failures, unavailable, disk_full, closed, ..
    } = summary;
    let all = [openings, openings_cut_off, crashes, power_failures, unavailable, disk_full, closed];
    let enough = all
        .iter()
        .chain([&summary.acknowledged, &summary.repeated, &summary.restored, &summary.displaced])
        .all(|n| *n >= seeds / 100);
    assert!(enough, "the seeds do too little: {summary:?}");
}

#[test]
fn no_seed_breaks_a_promise_within_a_providers_limits() {
    let seeds = number("AMELES_SIM_SEEDS").unwrap_or(SEEDS) / 5;
    let Some(summary) = run_all(seeds, Environment::Provider) else { return };
    let ProviderCounts { further_pages, slowed_down, too_large, .. } = summary.provider;
    assert!(further_pages > seeds && slowed_down > seeds, "the seeds do too little: {summary:?}");
    assert_eq!(too_large, 0, "an object is larger than the vault had planned: {summary:?}");
    assert!(summary.unavailable > seeds / 100 && summary.acknowledged > seeds, "{summary:?}");
}

/// The number of seeds within which a broken environment must be detected.
const BROKEN_SEEDS: u64 = 10_000;

/// Proves the simulation itself. A disk that forgets what it has synced loses acknowledged writes. Only the simulation
/// can miss them, because the vault finds an older and sound state.
#[test]
fn a_write_that_a_lying_disk_lost_is_missed() {
    let is_loss = |how: &str| how.contains("an acknowledged write is lost");
    let (_, broken) = run_until(0..BROKEN_SEEDS, Environment::LyingDisk, is_loss);
    assert!(broken.is_some(), "no seed has missed a write");
}

/// The same promise for a store: the vault itself must report the missing write.
#[test]
fn a_write_that_a_forgetful_store_lost_is_missed() {
    let is_loss = |how: &str| how.contains("was removed: it was written");
    let (_, broken) = run_until(0..BROKEN_SEEDS, Environment::ForgetfulStore, is_loss);
    assert!(broken.is_some(), "no seed has missed a write");
}
