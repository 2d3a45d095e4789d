//! Lease checks come at public times, for any requests and any delays of the disk.

use super::Machine;
use crate::promises::fixture::{CAPACITY, VaultFixture, block};
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::rng::TestRng;
use ameles_core::types::BlockId;
use ameles_store::{Link, LinkSpeed};
use ameles_vault::{Call, RowChange, Vault};
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

const LASTS: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    Silence,
    Rows,
    Flood,
    NowAndThen,
}

/// The times of all lease checks under this load, with a store and a disk that take time.
fn checks(load: Load, round_trip: Duration, sync: Duration, seed: u64) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime can be made"), async {
        let fixture = VaultFixture::new().await;
        if !sync.is_zero() {
            fixture.disk.take_time(sync, Duration::from_micros(1));
        }
        let recorder = Recorder::new();
        let store = recorder.over(Link::new(fixture.store.clone(), LinkSpeed::unlimited(round_trip)));
        recorder.clear();
        recorder.note_opening(None);
        let opened = Vault::start(Machine::new("it").setup(&fixture, store)).await;
        let (vault, running) = opened.unwrap();
        let driver = spawn_local(running);
        let until = Instant::now() + LASTS;
        let _ = timeout_at(until, ask(&vault, load, TestRng::of(seed))).await;
        sleep_until(until).await;
        let trace = recorder.take_trace();
        vault.close().await.unwrap();
        driver.await.unwrap();
        let look = |(at, event)| match event {
            TraceEvent::Asks { request, .. } if request.is_lease_check() => Some(at),
            _ => None,
        };
        trace.into_iter().filter_map(look).collect()
    })
}

async fn ask(vault: &Vault, load: Load, mut rng: TestRng) {
    loop {
        match load {
            Load::Silence => std::future::pending().await,
            Load::Rows => {
                let change = vec![RowChange::put("key", vec![1; rng.below(300) as usize])];
                futures::executor::block_on(vault.commit_rows(change)).unwrap();
                sleep(Duration::from_millis(rng.within(1..=900))).await;
            }
            Load::Flood => {
                let calls = (0..CAPACITY).map(|at| Call::Write(BlockId(at), block(3).into()));
                vault.access(calls.collect()).await.unwrap();
            }
            Load::NowAndThen => {
                vault.read(BlockId(rng.below(CAPACITY))).await.unwrap();
                sleep(Duration::from_millis(rng.within(1..=30_000))).await;
            }
        }
    }
}

#[test]
fn looks_come_at_the_same_times_under_silence_and_a_flood() {
    // The second store takes longer than the interval between two checks, and lets the lease expire again and again.
    for (round_trip, min) in [(40, 14), (25_000, 11)] {
        let round_trip = Duration::from_millis(round_trip);
        let expected = checks(Load::Silence, round_trip, Duration::ZERO, 1);
        assert!(expected.len() >= min, "{expected:?}");
        for load in [Load::Rows, Load::Flood, Load::NowAndThen] {
            for seed in 1..=3 {
                let seen = checks(load, round_trip, Duration::ZERO, seed);
                assert_eq!(seen, expected, "{load:?}, {round_trip:?}, seed {seed}");
            }
        }
    }
}

/// The thread waits while this disk syncs, twice for each commit. A check that this delays does not delay later ones.
#[test]
fn a_look_that_this_machine_is_too_busy_for_delays_no_other() {
    let sync = Duration::from_millis(450);
    let seen = checks(Load::Flood, Duration::from_millis(40), sync, 1);
    assert!(seen.len() >= 14, "{seen:?}");
    for (nth, at) in (0..).zip(&seen) {
        let due = seen[0] + Duration::from_secs(20) * nth;
        assert!(at.abs_diff(due) < 6 * sync, "look {nth}: {seen:?}");
    }
}
