//! A journal with a gap: an object did not arrive, and later ones did. The journal ends in the gap.

use super::heartbeats::HoldOne;
use super::{follow_for_a_minute, seconds, stand_by, with_heartbeats};
use crate::promises::fixture::{VaultFixture, block, write_all};
use crate::support::intercepted::{Intercepted, Request};
use crate::support::recorder::Recorder;
use crate::support::{header, memory_disk, restore_options, setup, work_and_kill};
use ameles_core::types::BlockId;
use ameles_vault::{HEARTBEAT_EVERY, RowChange, Vault, VaultParameters, restore};
use futures::future::{Either, select};
use std::pin::pin;
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn objects_behind_the_end_of_a_journal_are_not_part_of_the_next_one() {
    let parameters = VaultParameters { ship_every: 1000, ..with_heartbeats() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    let disk = fixture.disk.mount().unwrap();
    let interceptor = HoldOne::default();
    let store = Intercepted { inner: fixture.store.clone(), interceptor: interceptor.clone() };
    let (vault, running) = Vault::start(fixture.setup_over(&disk, store)).await.unwrap();
    let holding = async {
        vault.write(BlockId(1), block(1)).await.unwrap();
        sleep(seconds(7)).await;
        interceptor.is_on.set(true);
        sleep(3 * HEARTBEAT_EVERY).await;
    };
    work_and_kill(running, holding).await;
    fixture.disk.unplug();
    let working = async |vault: &Vault| {
        for nth in 0..10u8 {
            vault.write(BlockId(u64::from(nth)), block(nth)).await.unwrap();
            vault.commit_rows(vec![RowChange::put(vec![nth], "a row")]).await.unwrap();
        }
    };
    fixture.open_and_crash(working).await.unwrap();
    let (vault, running, _) = stand_by(setup(&memory_disk(), fixture.store.clone(), 77)).await.unwrap();
    let verifying = async {
        assert_eq!(vault.read(BlockId(9)).await.unwrap(), block(9));
        assert_eq!(vault.load_rows().await.unwrap().len(), 10);
    };
    work_and_kill(running, verifying).await;
}

/// The next epoch is that of a restore, whose journal is empty.
#[tokio::test(start_paused = true)]
async fn a_standby_sends_no_read_that_is_announced_behind_the_end_of_a_journal() {
    let parameters = VaultParameters { ship_every: 1000, ..with_heartbeats() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    let recorder = Recorder::new();
    let interceptor = HoldOne::default();
    let disk = fixture.disk.mount().unwrap();
    let store = Intercepted { inner: fixture.store.clone(), interceptor: interceptor.clone() };
    let (vault, running) = Vault::start(fixture.setup_over(&disk, recorder.over(store))).await.unwrap();
    let holding = async {
        for fill in 1..4 {
            write_all(&vault, fill).await;
        }
        vault.checkpoint().await.unwrap();
        sleep(seconds(7)).await;
        // A heartbeat is held back; a read comes after it, whose own object arrives.
        interceptor.is_on.set(true);
        sleep(HEARTBEAT_EVERY).await;
        assert!(!interceptor.is_on.get());
        let reading = vault.read(BlockId(1));
        assert!(matches!(select(pin!(reading), pin!(sleep(seconds(1)))).await, Either::Right(_)));
    };
    work_and_kill(running, holding).await;
    fixture.disk.unplug();
    let second = fixture.with_empty_disk();
    let disk = second.disk.mount().unwrap();
    restore(second.setup(&disk), restore_options(&fixture.header, None)).await.unwrap();
    let opened = Vault::start(second.setup_over(&disk, recorder.over(fixture.store.clone()))).await;
    let (vault, running) = opened.unwrap();
    let of_standby = Recorder::new();
    let following = async {
        vault.write(BlockId(9), block(9)).await.unwrap();
        follow_for_a_minute(setup(&memory_disk(), of_standby.over(fixture.store.clone()), 77)).await
    };
    let taken = work_and_kill(running, following).await;
    let sent = recorder.reads();
    let unsent: Vec<Request> = of_standby.reads().into_iter().filter(|read| !sent.contains(read)).collect();
    assert!(
        unsent.is_empty() && taken.is_none(),
        "reads that nobody else has sent: {unsent:?}; the standby: {taken:?}, the gateway: {:?}",
        vault.failure()
    );
}
