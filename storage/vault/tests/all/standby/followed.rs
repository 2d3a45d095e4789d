//! The contents of a standby, and its requests.

use super::{DELAY, fixture, link, stand_by, with_heartbeats};
use crate::promises::fixture::{CAPACITY, VaultFixture, block};
use crate::support::intercepted::Request;
use crate::support::recorder::Recorder;
use crate::support::{faults_of, header, master, memory_disk, setup, work_and_kill};
use ameles_core::types::BlockId;
use ameles_store::VersionedMemory;
use ameles_vault::{RowChange, StandbyStage, Vault, VaultParameters, VaultStore, is_unfinished, read_header};
use futures::future::{Either, join};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Writes, reads and commits as often as this.
async fn work(vault: &Vault, times: u8) {
    for nth in 0..times {
        vault.write(BlockId(u64::from(nth) * 7 % CAPACITY), block(nth)).await.unwrap();
        vault.read(BlockId(u64::from(nth) % 3)).await.unwrap();
        vault.commit_rows(vec![RowChange::put(vec![nth], "a row")]).await.unwrap();
    }
}

/// Checks that a vault has what [`work`] has left.
async fn verify(vault: &Vault, times: u8) {
    for nth in times.saturating_sub(9)..times {
        assert_eq!(vault.read(BlockId(u64::from(nth) * 7 % CAPACITY)).await.unwrap(), block(nth), "{nth}");
    }
    assert_eq!(vault.load_rows().await.unwrap().len(), usize::from(times));
    assert_eq!(faults_of(vault).await, [""; 0]);
}

/// A gateway that works and is killed.
async fn serve_and_die(fixture: &VaultFixture, work: impl AsyncFnOnce(&Vault)) {
    serve_over(fixture, link(&fixture.store, DELAY), work).await;
}

/// A gateway over this store that works and is killed.
async fn serve_over(fixture: &VaultFixture, store: impl VaultStore, work: impl AsyncFnOnce(&Vault)) {
    let disk = fixture.disk.mount().unwrap();
    let (vault, running) = Vault::start(fixture.setup_over(&disk, store)).await.unwrap();
    work_and_kill(running, work(&vault)).await;
    fixture.disk.unplug();
}

/// Checks that a vault has what [`work`] has left, and closes it.
async fn verify_and_close((vault, running): (Vault, impl Future<Output = ()>), times: u8) {
    let verifying = async {
        verify(&vault, times).await;
        vault.close().await.unwrap();
    };
    join(verifying, running).await;
}

/// A standby over this store, which must have what [`work`] has left. Returns its stages.
async fn take_over_and_verify(store: impl VaultStore, times: u8) -> Vec<StandbyStage> {
    let (vault, running, stages) = stand_by(setup(&memory_disk(), store, 77)).await.unwrap();
    verify_and_close((vault, running), times).await;
    stages
}

#[tokio::test(start_paused = true)]
async fn a_standby_has_all_that_was_acknowledged_three_heartbeats_after_the_gateway_is_gone() {
    for (begins_after, times) in [(0, 60), (1_000, 60), (4_000, 200), (20_000, 250)] {
        let fixture = fixture().await;
        let gateway = async {
            serve_and_die(&fixture, async |vault| work(vault, times).await).await;
            Instant::now()
        };
        let standby = async {
            sleep(Duration::from_millis(begins_after)).await;
            let disk = memory_disk();
            let link = link(&fixture.store, DELAY);
            let (vault, running, _) = stand_by(setup(&disk, link, 77)).await.unwrap();
            let taken = Instant::now();
            let verifying = async {
                vault.read(BlockId(1)).await.unwrap();
                let answered = Instant::now();
                verify(&vault, times).await;
                vault.write(BlockId(5), block(200)).await.unwrap();
                vault.close().await.unwrap();
                answered
            };
            let (answered, ()) = join(verifying, running).await;
            // The disk is that of a vault.
            let (vault, running) = Vault::start(setup(&disk, fixture.store.clone(), 78)).await.unwrap();
            let reading = async {
                assert_eq!(vault.read(BlockId(5)).await.unwrap(), block(200));
                vault.close().await.unwrap();
            };
            join(reading, running).await;
            (taken, answered)
        };
        let (died, (taken, answered)) = join(gateway, standby).await;
        if begins_after < 15_000 {
            assert!(taken >= died + Duration::from_secs(14), "{:?}", taken - died);
            assert!(answered <= died + Duration::from_secs(17), "{:?}", answered - died);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_repeats_the_reads_of_the_gateway_and_sends_nothing_else_before_it_takes_over() {
    let parameters = VaultParameters { ship_every: 1000, ..with_heartbeats() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    let (of_gateway, of_standby) = (Recorder::new(), Recorder::new());
    let store = of_gateway.over(link(&fixture.store, DELAY));
    let gateway = serve_over(&fixture, store, async |vault| work(vault, 120).await);
    let standby = async {
        let link = link(&fixture.store, DELAY);
        let setup = setup(&memory_disk(), of_standby.over(link), 77);
        let taken = stand_by(setup).await.map(drop);
        taken.unwrap();
    };
    join(gateway, standby).await;
    let changes: Vec<Request> = of_standby.requests().into_iter().filter(is_change).collect();
    // The claim, the end of the gateway's journal, and its own first object.
    let is_put = |request: &Request, prefix: &str| matches!(request, Request::PutIfAbsent { name, .. } if name.starts_with(prefix));
    let puts = ["epoch/00000002", "log/00000001-", "log/00000002-"];
    assert_eq!(changes.len(), puts.len(), "{changes:?}");
    assert!(changes.iter().zip(puts).all(|(request, prefix)| is_put(request, prefix)), "{changes:?}");
    let (sent, mut repeated) = (of_gateway.reads(), of_standby.reads());
    for read in &sent {
        let at = repeated.iter().position(|other| other == read);
        repeated.remove(at.expect("the standby repeats each read"));
    }
    // The gateway was killed before it sent the last reads that it had announced.
    assert!(sent.len() > 200 && repeated.len() <= 4, "{} reads, {} more", sent.len(), repeated.len());
}

fn is_change(request: &Request) -> bool {
    match request {
        Request::Read(_) | Request::Get(_) | Request::List(_) | Request::ListVersions => false,
        Request::Write(_) | Request::Delete(_) | Request::Sweep => true,
        Request::Put { .. } | Request::PutIfAbsent { .. } | Request::Remove(_) => true,
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_follows_a_gateway_that_stops_crashes_and_starts_again() {
    let fixture = fixture().await;
    let gateway = async {
        for times in 1..=8u8 {
            let working = async |vault: &Vault| {
                work(vault, 10 * times).await;
                if times % 2 == 0 {
                    vault.close().await.unwrap();
                }
            };
            serve_and_die(&fixture, working).await;
            sleep(Duration::from_secs(u64::from(times))).await;
        }
    };
    let ((), stages) = join(gateway, take_over_and_verify(link(&fixture.store, DELAY), 80)).await;
    let fetched = stages.iter().filter(|stage| matches!(stage, StandbyStage::Fetching)).count();
    assert_eq!(fetched, 1, "{stages:?}");
    assert!(matches!(stages.last(), Some(StandbyStage::TakingOver)), "{stages:?}");
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_lags_so_far_that_objects_were_deleted_begins_again_and_misses_nothing() {
    let parameters = VaultParameters { ship_every: 4, ..with_heartbeats() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    let gateway = serve_and_die(&fixture, async |vault| {
        for _ in 0..4 {
            work(vault, 250).await;
        }
    });
    let slow = link(&fixture.store, Duration::from_millis(300));
    let ((), stages) = join(gateway, take_over_and_verify(slow, 250)).await;
    let fetched = stages.iter().filter(|stage| matches!(stage, StandbyStage::Fetching)).count();
    assert!(fetched > 1, "{stages:?}");
}

#[tokio::test(start_paused = true)]
async fn a_takeover_that_is_cut_off_at_any_time_is_completed_by_the_next_one() {
    let fixture = fixture().await;
    serve_and_die(&fixture, async |vault| work(vault, 60).await).await;
    let state = fixture.store.snapshot();
    let mut has_vault = 0;
    for millis in (15_200..16_600).step_by(20) {
        let store = VersionedMemory::new(fixture.header.parameters.layout());
        store.restore(&state);
        let near = || link(&store, DELAY);
        let disk = memory_disk();
        let cut_off = stand_by(setup(&disk, near(), millis));
        let _ = timeout(Duration::from_millis(millis), async {
            let (vault, running, _) = cut_off.await.unwrap();
            work_and_kill(running, vault.write(BlockId(2), block(77))).await.unwrap();
            sleep(Duration::from_secs(60)).await;
        })
        .await;
        // The folder has a vault from the middle of the takeover on.
        let is_complete = read_header(&disk, &master()).is_ok() && !is_unfinished(&disk).unwrap();
        has_vault += u64::from(is_complete);
        let (vault, running) = if is_complete {
            let opened = Vault::start(setup(&disk, near(), millis + 1)).await;
            let (vault, running) = opened.unwrap_or_else(|error| panic!("{millis} ms: {error}"));
            (vault, Either::Left(running))
        } else {
            let taken = stand_by(setup(&disk, near(), millis + 1)).await;
            let (vault, running, _) = taken.unwrap_or_else(|error| panic!("{millis} ms: {error}"));
            (vault, Either::Right(running))
        };
        verify_and_close((vault, running), 60).await;
    }
    assert!((10..60).contains(&has_vault), "{has_vault} of 70 were cut off after the takeover");
}
