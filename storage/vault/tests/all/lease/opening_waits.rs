//! Openings that wait for an earlier gateway, and openings that do not.

use super::Machine;
use crate::promises::fixture::{VaultFixture, read_all, write_all};
use crate::support::fragile_disk::FragileDisk;
use crate::support::{restore_options, setup};
use ameles_core::types::BlockId;
use ameles_seal::master_key::MasterKey;
use ameles_store::Blobs;
use ameles_vault::{LEASE, NewKey, Restore, Setup, Vault, VaultError, change_key, restore};
use futures::future::Either;
use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, timeout};

const FILL: u8 = 60;

/// A vault that was opened on this machine, and written to.
async fn written(machine: &Machine) -> VaultFixture {
    let fixture = VaultFixture::new().await;
    open(&fixture, machine, true).await.unwrap();
    fixture
}

/// Opens the vault and works with it; then closes it, or is killed. Returns how long the opening took.
async fn open(fixture: &VaultFixture, machine: &Machine, closes: bool) -> Result<Duration, VaultError> {
    let before = Instant::now();
    let (vault, running) = Vault::start(machine.setup(fixture, fixture.store.clone())).await?;
    let took = before.elapsed();
    {
        let working = std::pin::pin!(async {
            write_all(&vault, FILL).await;
            vault.checkpoint().await.unwrap();
            if closes {
                vault.close().await.unwrap();
            }
        });
        futures::future::select(working, std::pin::pin!(running)).await;
    }
    drop(vault);
    fixture.disk.unplug();
    Ok(took)
}

async fn restored(fixture: &VaultFixture) -> (VaultFixture, Duration) {
    let mut other = fixture.with_copied_disk();
    other.disk = FragileDisk::default();
    let before = Instant::now();
    restore(
        setup(&other.disk.mount().unwrap(), fixture.store.clone(), 5),
        restore_options(&fixture.header, None),
    )
    .await
    .unwrap();
    other.disk.unplug();
    (other, before.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_restart_on_the_machine_and_the_disk_of_the_last_opening_does_not_wait() {
    let machine = Machine::new("it");
    let fixture = written(&machine).await;
    for closes in [false, false, true, true] {
        assert_eq!(open(&fixture, &machine, closes).await.unwrap(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_end_in_order_no_opening_waits_wherever_it_is() {
    let fixture = written(&Machine::new("one")).await;
    assert_eq!(open(&fixture, &Machine::new("another start"), true).await.unwrap(), Duration::ZERO);
    let (other, took) = restored(&fixture).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    other.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_opening_elsewhere_waits_a_lease_if_the_last_one_did_not_end() {
    let fixture = written(&Machine::new("one")).await;
    open(&fixture, &Machine::new("one"), false).await.unwrap();
    let another = Machine::new("another start");
    assert_eq!(open(&fixture, &another, false).await.unwrap(), LEASE);
    assert_eq!(open(&fixture, &another, false).await.unwrap(), Duration::ZERO, "it has waited once");
}

#[tokio::test(start_paused = true)]
async fn a_takeover_waits_a_lease_if_the_last_gateway_did_not_end() {
    let fixture = written(&Machine::new("one")).await;
    open(&fixture, &Machine::new("one"), false).await.unwrap();
    let (other, took) = restored(&fixture).await;
    assert!(took >= LEASE && took < LEASE + Duration::from_secs(1), "{took:?}");
    assert_eq!(open(&other, &Machine::new("the only machine"), true).await.unwrap(), Duration::ZERO);
}

/// An opening that is killed while it waits must still wait the next time.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_cut_off_is_waited_by_the_next_opening() {
    let fixture = written(&Machine::new("one")).await;
    open(&fixture, &Machine::new("one"), false).await.unwrap();
    let another = Machine::new("another start");
    for _ in 0..3 {
        let waiting = Vault::start(another.setup(&fixture, fixture.store.clone()));
        assert!(timeout(LEASE / 2, waiting).await.is_err(), "it waits");
        fixture.disk.unplug();
    }
    assert_eq!(open(&fixture, &another, true).await.unwrap(), LEASE);
}

/// The same promise for a restore: its objects cannot be opened before it is complete.
#[tokio::test(start_paused = true)]
async fn a_takeover_that_is_cut_off_while_it_waits_leaves_nothing_that_can_be_served() {
    let fixture = written(&Machine::new("one")).await;
    open(&fixture, &Machine::new("one"), false).await.unwrap();
    let disk = FragileDisk::default();
    let mounted = disk.mount().unwrap();
    let restoring =
        restore(setup(&mounted, fixture.store.clone(), 5), restore_options(&fixture.header, None));
    assert!(timeout(LEASE / 2, restoring).await.is_err(), "it waits");
    let opened = Vault::start(setup(&mounted, fixture.store.clone(), 6)).await.err();
    assert!(matches!(opened, Some(VaultError::RestoreUnfinished)), "{opened:?}");
}

/// A restore that was killed has claimed an epoch, or two, and has answered nobody.
#[tokio::test(start_paused = true)]
async fn a_takeover_that_is_repeated_waits_for_the_gateway_that_it_displaces_and_not_for_itself() {
    for (has_ended, waited) in [(true, Duration::ZERO), (false, LEASE)] {
        let fixture = written(&Machine::new("one")).await;
        open(&fixture, &Machine::new("one"), has_ended).await.unwrap();
        let disk = FragileDisk::default();
        for _ in 0..3 {
            killed_while_it_rewrites(&fixture, &disk).await;
        }
        let before = Instant::now();
        restore(
            setup(&disk.mount().unwrap(), fixture.store.clone(), 9),
            restore_options(&fixture.header, None),
        )
        .await
        .unwrap();
        let took = before.elapsed();
        assert!(took >= waited && took < waited + Duration::from_secs(1), "{took:?}");
    }
}

/// A change of the key claims an epoch in which nobody is answered. It knows whether the epoch before may still answer.
#[tokio::test(start_paused = true)]
async fn a_takeover_after_a_change_of_the_key_waits_if_the_gateway_before_the_change_may_still_answer() {
    for (has_ended, waited) in [(true, Duration::ZERO), (false, LEASE)] {
        let fixture = written(&Machine::new("one")).await;
        open(&fixture, &Machine::new("one"), has_ended).await.unwrap();
        let key = || MasterKey::take(&mut [9; 32]);
        let changing = Machine::new("another start").setup(&fixture, fixture.store.clone());
        change_key(changing, NewKey { master: key(), passphrase: None }).await.unwrap();
        fixture.disk.unplug();
        let disk = FragileDisk::default();
        let before = Instant::now();
        let restoring = Setup { master: key(), ..setup(&disk.mount().unwrap(), fixture.store.clone(), 9) };
        restore(restoring, restore_options(&fixture.header, None)).await.unwrap();
        let took = before.elapsed();
        assert!(took >= waited && took < waited + Duration::from_secs(1), "{took:?}");
    }
}

/// Restores onto this disk until the first bucket is rewritten.
async fn killed_while_it_rewrites(fixture: &VaultFixture, disk: &FragileDisk) {
    let (tell, told) = tokio::sync::oneshot::channel();
    let tell = Cell::new(Some(tell));
    let progress = Box::new(move |stage: &'static str, _, _| {
        if stage == "rewriting"
            && let Some(tell) = tell.take()
        {
            tell.send(()).unwrap();
        }
    });
    let restoring = Restore { progress, ..restore_options(&fixture.header, None) };
    let restoring = pin!(restore(setup(&disk.mount().unwrap(), fixture.store.clone(), 5), restoring));
    let ended = futures::future::select(restoring, told).await;
    assert!(matches!(ended, Either::Right(_)), "it ended too early");
    disk.unplug();
}

#[tokio::test(start_paused = true)]
async fn the_mark_of_an_earlier_end_or_a_spoilt_one_spares_no_wait() {
    for spoil in [false, true] {
        let fixture = written(&Machine::new("one")).await;
        let earlier = fixture.store.get("ended", 4096).await.unwrap().expect("an end is marked");
        open(&fixture, &Machine::new("one"), spoil).await.unwrap();
        if spoil {
            fixture.store.tamper_blob("ended", |mark| mark[20] ^= 1);
        } else {
            fixture.store.put("ended", &earlier).await.unwrap();
        }
        assert_eq!(open(&fixture, &Machine::new("another start"), true).await.unwrap(), LEASE, "{spoil}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_resumed_from_a_snapshot_stops_and_its_next_opening_waits() {
    let machine = Machine::new("it");
    let fixture = written(&machine).await;
    let (vault, running) = Vault::start(machine.setup(&fixture, fixture.store.clone())).await.unwrap();
    let working = async {
        vault.read(BlockId(0)).await.unwrap();
        vault.stop_resumed().await;
        assert!(!vault.may_answer());
        let asked = vault.read(BlockId(0)).await;
        assert!(matches!(asked, Err(VaultError::Resumed)), "{asked:?}");
        let closed = vault.close().await;
        assert!(matches!(closed, Err(VaultError::Resumed)), "{closed:?}");
    };
    futures::join!(working, running);
    drop(vault);
    fixture.disk.unplug();
    assert_eq!(open(&fixture, &machine, true).await.unwrap(), LEASE);
    fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
}
