//! With the journal on the trusted disk, a checkpoint is shipped when the store has lacked accesses for some time. Time and
//! the number of accesses decide, and nothing else. All times are virtual.

use crate::promises::fixture::{VaultFixture, block, write_all};
use crate::support::{frequent_evictions, header, parameters};
use ameles_core::types::BlockId;
use ameles_vault::{JournalPlace, Pace, RowChange, SHIP_AFTER, Vault, VaultParameters};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Longer than any request takes, and a small part of the time.
const MOMENT: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A vault that ships no checkpoint by its accesses.
fn seldom() -> VaultParameters {
    VaultParameters { ship_every: 1000, ..frequent_evictions() }
}

/// The last checkpoint in the store, and the accesses that it lacks.
fn shipped(vault: &Vault) -> (u64, u64) {
    let figures = vault.status().checkpoints;
    (figures.shipped, figures.unshipped)
}

/// Writes a block, and waits until the first checkpoint of the vault is in the store.
async fn begin(vault: &Vault) -> u64 {
    vault.write(BlockId(0), block(1)).await.unwrap();
    vault.checkpoint().await.unwrap();
    let (number, lacks) = shipped(vault);
    assert_eq!(lacks, 0);
    number
}

#[tokio::test(start_paused = true)]
async fn accesses_are_shipped_when_the_store_has_lacked_them_and_an_idle_vault_ships_once() {
    let fixture = VaultFixture::with(header(seldom(), 1)).await;
    let using = fixture.open(async |vault| {
        let mut last = begin(vault).await;
        for round in 0..5 {
            sleep(MOMENT).await;
            vault.read(BlockId(round)).await.unwrap();
            vault.write(BlockId(7), block(round as u8)).await.unwrap();
            assert_eq!(shipped(vault), (last, 2), "round {round}");
            sleep(SHIP_AFTER - MOMENT).await;
            assert_eq!(shipped(vault), (last, 2), "round {round}: it has not lacked long");
            sleep(2 * MOMENT).await;
            let (number, lacks) = shipped(vault);
            assert!(number > last && lacks == 0, "round {round}: {number} after {last}, {lacks} are missing");
            let status = vault.status().checkpoints;
            sleep(DAY).await;
            assert_eq!(vault.status().checkpoints, status, "round {round}: nothing came since");
            // The time begins with the first access, so that what comes with it goes together.
            vault.read(BlockId(9)).await.unwrap();
            sleep(SHIP_AFTER - MOMENT).await;
            assert_eq!(shipped(vault), (number, 1), "round {round}: it has not lacked long");
            sleep(2 * MOMENT).await;
            let (later, lacks) = shipped(vault);
            assert!(
                later > number && lacks == 0,
                "round {round}: {later} after {number}, {lacks} are missing"
            );
            last = later;
        }
    });
    using.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_busy_vault_never_lacks_more_than_the_time() {
    let fixture = VaultFixture::with(header(seldom(), 1)).await;
    let using = fixture.open(async |vault| {
        let (mut shipments, mut last) = (0, begin(vault).await);
        let mut lacking = Duration::ZERO;
        for nth in 0..4000u64 {
            sleep(MOMENT).await;
            vault.write(BlockId(nth % 64), block(nth as u8)).await.unwrap();
            let (number, _) = shipped(vault);
            lacking = if number == last { lacking + MOMENT } else { Duration::ZERO };
            shipments += u64::from(number != last);
            last = number;
            assert!(lacking <= SHIP_AFTER + 2 * MOMENT, "access {nth}: {lacking:?}");
        }
        let expected = 4000 / SHIP_AFTER.as_secs();
        assert!(shipments.abs_diff(expected) <= 1, "{shipments} shipments, {expected} are expected");
    });
    using.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn changes_of_rows_alone_ship_nothing() {
    let fixture = VaultFixture::with(header(seldom(), 1)).await;
    let using = fixture.open(async |vault| {
        let last = begin(vault).await;
        vault.commit_rows(vec![RowChange::put("key", "value")]).await.unwrap();
        sleep(DAY).await;
        assert_eq!(shipped(vault), (last, 0));
    });
    using.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_kill_left_is_shipped_after_the_first_request_and_not_before() {
    let fixture = VaultFixture::with(header(seldom(), 1)).await;
    let (last, _) = fixture.open(begin).await.unwrap();
    fixture.open_and_crash(async |vault| write_all(vault, 3).await).await.unwrap();
    let using = fixture.open(async |vault| {
        let (before, lacks) = shipped(vault);
        assert!(before > last && lacks >= 64, "{lacks} are missing");
        sleep(DAY).await;
        assert_eq!(shipped(vault), (before, lacks), "nobody has asked for anything");
        vault.read(BlockId(0)).await.unwrap();
        sleep(MOMENT).await;
        let (number, lacks) = shipped(vault);
        assert!(number > before && lacks <= 1, "{lacks} are missing besides the read");
    });
    using.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_the_journal_in_the_store_no_time_ships() {
    let parameters = VaultParameters { journal: JournalPlace::Store, ..seldom() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    let using = fixture.open(async |vault| {
        let last = begin(vault).await;
        vault.read(BlockId(3)).await.unwrap();
        sleep(DAY).await;
        assert_eq!(shipped(vault), (last, 1));
    });
    using.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_paced_vault_ships_by_time_whether_or_not_anybody_asks() {
    let parameters = VaultParameters { ship_every: 1 << 40, ..parameters(64, 32, 4, 40) };
    for asks in [false, true] {
        let fixture = VaultFixture::with(header(parameters.clone(), 1)).await;
        let disk = fixture.disk.mount().unwrap();
        let mut setup = fixture.setup(&disk);
        setup.pace = Some(Pace::every(MOMENT).unwrap());
        setup.ship_after = 60 * MOMENT;
        let (vault, running) = Vault::start(setup).await.unwrap();
        let using = async {
            let (mut numbers, mut last) = (Vec::new(), 0);
            let until = Instant::now() + 600 * MOMENT;
            while Instant::now() < until {
                if asks {
                    vault.write(BlockId(7), block(7)).await.unwrap();
                } else {
                    sleep(MOMENT).await;
                }
                let (number, _) = shipped(&vault);
                if number != last {
                    numbers.push(number);
                    last = number;
                }
            }
            vault.close().await.unwrap();
            numbers.len()
        };
        let (shipments, ()) = futures::join!(using, running);
        // The first one, and one a minute.
        assert!((9..=11).contains(&shipments), "asks: {asks}, {shipments} shipments");
    }
}
