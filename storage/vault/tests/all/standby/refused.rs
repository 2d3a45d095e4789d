//! The refusals of a standby.

use super::{fixture, stand_by, with_heartbeats};
use crate::promises::fixture::{CAPACITY, VaultFixture, block};
use crate::support::{header, master, memory_disk, setup, work_and_kill};
use ameles_core::types::BlockId;
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::{
    ExistsIn, JournalPlace, RowChange, Standby, StandbyStage, Vault, VaultError, VaultParameters,
};
use futures::future::{Either, select};
use std::pin::pin;
use std::sync::mpsc;
use std::time::Duration;
use tokio::time::sleep;

/// The number of bytes before the accesses of an object, and of those after its records.
const HEAD_BYTES: usize = 21;
const ROW_BYTES: usize = 2048;

/// A vault whose gateway has worked and was killed.
async fn killed() -> VaultFixture {
    let parameters = VaultParameters { ship_every: 1000, ..with_heartbeats() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    let working = async |vault: &Vault| {
        for nth in 0..30u8 {
            vault.write(BlockId(u64::from(nth) % CAPACITY), block(nth)).await.unwrap();
            vault.commit_rows(vec![RowChange::put(vec![nth], "a row")]).await.unwrap();
        }
    };
    fixture.open_and_crash(working).await.unwrap();
    fixture
}

/// Changes the records of each log object that has no accesses.
async fn change_records(
    fixture: &VaultFixture,
    store: &VersionedMemory,
    change: fn(&mut [u8]),
) -> Vec<String> {
    let mut changed = Vec::new();
    for listed in store.list("log/").await.unwrap() {
        let sealed = store.get(&listed.name, usize::MAX).await.unwrap().unwrap();
        let context = [fixture.header.vault.0.as_slice(), listed.name.as_bytes()].concat();
        let purpose = Purpose::named("store-journal");
        let mut text = blob::open(&master(), purpose, &context, &sealed).unwrap();
        let has_accesses = text[9..13] != [0; 4];
        if has_accesses || text.len() < HEAD_BYTES + 32 + ROW_BYTES {
            continue;
        }
        let end = text.len() - ROW_BYTES;
        change(&mut text[HEAD_BYTES..end]);
        let salt = Salt([changed.len() as u8; 32]);
        let sealed = blob::seal(&master(), purpose, &context, Cipher::default(), salt, &text);
        store.put(&listed.name, &sealed).await.unwrap();
        changed.push(listed.name);
    }
    changed
}

/// A copy of the vault's store.
fn copy_of(fixture: &VaultFixture) -> VersionedMemory {
    let copy = VersionedMemory::new(fixture.header.parameters.layout());
    copy.restore(&fixture.store.snapshot());
    copy
}

#[tokio::test(start_paused = true)]
async fn a_standby_whose_engine_causes_other_requests_than_were_announced_stops() {
    let fixture = killed().await;
    let copy = copy_of(&fixture);
    // The last byte of the counter of the last announced version.
    let changed = change_records(&fixture, &copy, |records| *records.last_mut().unwrap() ^= 1).await;
    assert!(changed.len() > 10, "{changed:?}");
    let (mut stopped, mut unread) = (0, 0);
    for name in changed {
        let one = copy_of(&fixture);
        let object = copy.get(&name, usize::MAX).await.unwrap().unwrap();
        one.put(&name, &object).await.unwrap();
        match stand_by(setup(&memory_disk(), one, 77)).await.map(drop) {
            Err(VaultError::Damaged(why)) => {
                assert!(why.to_string().contains("does not follow"), "{why}");
                stopped += 1;
            }
            Err(error) => assert!(error.is_tampering(), "{error}"),
            Ok(()) => unread += 1,
        }
    }
    // The first checkpoint in the store holds the first objects.
    assert!(stopped > 5 && unread < 4, "{stopped} stopped, {unread} were not read");
}

#[tokio::test(start_paused = true)]
async fn a_standby_of_another_version_steps_nothing_and_waits_for_a_checkpoint() {
    let fixture = killed().await;
    let changed = change_records(&fixture, &fixture.store, |records| records[0] += 1).await;
    assert!(changed.len() > 10, "{changed:?}");
    let (report, stages) = mpsc::channel();
    let report = Box::new(move |stage: &StandbyStage| drop(report.send(stage.clone())));
    let standby = Standby { expect: None, report };
    let following = Vault::start_standby(setup(&memory_disk(), fixture.store.clone(), 77), standby);
    let minutes = sleep(Duration::from_secs(300));
    let taken = matches!(select(pin!(following), pin!(minutes)).await, Either::Left(_));
    assert!(!taken, "it takes over what it could not step through");
    let stages: Vec<StandbyStage> = stages.try_iter().collect();
    let [StandbyStage::Fetching, StandbyStage::Waiting(VaultError::OtherEngine { .. })] = &stages[..] else {
        panic!("{stages:?}")
    };
}

#[tokio::test(start_paused = true)]
async fn a_vault_without_heartbeats_has_no_standby() {
    let parameters = VaultParameters { journal: JournalPlace::StoreFirst, ..with_heartbeats() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    let refused = stand_by(setup(&memory_disk(), fixture.store.clone(), 77)).await.map(drop);
    assert!(matches!(refused, Err(VaultError::Parameters(_))), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_standby_takes_no_trusted_disk_of_a_vault_and_leaves_none_before_it_takes_over() {
    let fixture = fixture().await;
    let own = fixture.disk.mount().unwrap();
    let refused = stand_by(fixture.setup(&own)).await.map(drop);
    assert!(matches!(refused, Err(VaultError::AlreadyExists(ExistsIn::TrustedFolder))), "{refused:?}");
    let (vault, running) = Vault::start(fixture.setup(&own)).await.unwrap();
    let disk = memory_disk();
    let following = async {
        vault.write(BlockId(1), block(1)).await.unwrap();
        let standing_by = stand_by(setup(&disk, fixture.store.clone(), 77));
        assert!(matches!(
            select(pin!(standing_by), pin!(sleep(Duration::from_secs(60)))).await,
            Either::Right(_)
        ));
    };
    work_and_kill(running, following).await;
    let refused = Vault::start(setup(&disk, fixture.store.clone(), 78)).await.map(drop);
    assert!(matches!(refused, Err(VaultError::RestoreUnfinished)), "{refused:?}");
}
