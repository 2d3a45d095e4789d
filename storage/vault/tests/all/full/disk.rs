//! The trusted disk is full. Writes are refused, reads continue for as long as documented, and lists and deletions
//! always continue. Everything continues when there is space again. Nothing acknowledged is lost.

use super::fixture::{BLOCKS, FullVault, LATER, vault_header};
use crate::support::effect_log::{EffectLog, LoggingStore};
use crate::support::rng::TestRng;
use ameles_store::VersionedMemory;
use ameles_vault::VaultError;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::rc::Rc;
use std::time::Duration;

/// Twice the time between two checks for room.
const TWO_CHECKS: Duration = Duration::from_secs(4);

async fn fixture() -> FullVault<VersionedMemory> {
    FullVault::new(vault_header(), VersionedMemory::new).await
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_refuses_writes_answers_the_reads_that_were_stated_and_takes_all_when_there_is_room() {
    let mut fixture = fixture().await;
    let (disk, sizes) = (fixture.disk.clone(), fixture.header.parameters.reserve());
    fixture
        .open(3, async |known| {
            known.fill().await;
            disk.leave_room(Some(0));
            let refused = known.write_until_refused().await;
            assert!(matches!(refused, VaultError::NoRoom), "{refused}");
            let reserve = known.vault.status().reserve;
            assert!(reserve.is_full && reserve.reads() > 0 && reserve.sizes == sizes, "{reserve:?}");
            for nth in 0..reserve.reads() {
                known.read(nth * 7 % BLOCKS).await.unwrap();
                assert!(matches!(known.write(1, 1).await, Err(VaultError::NoRoom)));
            }
            assert!(matches!(known.put_row("late", 100).await, Err(VaultError::NoRoom)));
            known.remove_row("early").await.unwrap();
            assert!(known.vault.load_rows().await.unwrap().is_empty());
        })
        .await;
    // It was killed, and is reopened on the full disk.
    fixture
        .open(4, async |known| {
            for at in 0..BLOCKS {
                known.read(at).await.unwrap();
            }
            assert!(matches!(known.write(1, 1).await, Err(VaultError::NoRoom)));
            disk.leave_room(None);
            tokio::time::sleep(LATER).await;
            assert!(!known.vault.status().reserve.is_full);
            known.write(1, 200).await.unwrap();
            known.put_row("late", 100).await.unwrap();
            assert_eq!(known.vault.status().reserve.held, sizes.whole);
        })
        .await;
    fixture.open(5, async |known| known.read(1).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_rows_have_found_full_is_checked_for_room_though_no_block_is_asked_for() {
    let mut fixture = fixture().await;
    let disk = fixture.disk.clone();
    fixture
        .open(3, async |known| {
            known.write(1, 1).await.unwrap();
            tokio::time::sleep(LATER).await;
            disk.leave_room(Some(0));
            for _ in 0..100 {
                let _ = known.put_row("key", 3000).await;
            }
            assert!(known.vault.status().reserve.is_full);
            disk.leave_room(None);
            tokio::time::sleep(TWO_CHECKS).await;
            assert!(!known.vault.status().reserve.is_full);
            known.put_row("late", 100).await.unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_reserve_that_is_needed_for_pending_work_refuses_reads_and_the_vault_stays_open() {
    let mut fixture = fixture().await;
    let (disk, sizes) = (fixture.disk.clone(), fixture.header.parameters.reserve());
    fixture.open(3, async |known| known.fill().await).await;
    disk.leave_room(Some(0));
    disk.shrink_reserve(sizes.pending as usize);
    fixture
        .open(4, async |known| {
            for at in 0..BLOCKS {
                assert!(matches!(known.read(at).await, Err(VaultError::DiskFull)));
                assert!(matches!(known.write(at, 9).await, Err(VaultError::NoRoom)));
            }
            known.remove_row("early").await.unwrap();
            assert!(known.vault.failure().is_none());
            disk.leave_room(None);
            tokio::time::sleep(LATER).await;
            for at in 0..BLOCKS {
                known.read(at).await.unwrap();
            }
            known.write(2, 222).await.unwrap();
        })
        .await;
    fixture.open(5, async |known| known.read(2).await.unwrap()).await;
}

/// The requests of an opening and of some reads, with the same randomness, on a disk that is full or not.
async fn requests_of_reads(is_full: bool) -> Vec<String> {
    let (effect_log, made) =
        (EffectLog::default(), FullVault::new(vault_header(), VersionedMemory::new).await);
    let store = LoggingStore::over(made.store.clone(), effect_log.clone(), TestRng::of(1));
    let taped = Rc::new(store);
    let mut fixture =
        FullVault { store: taped, header: made.header, disk: made.disk, known: BTreeMap::new() };
    fixture
        .open(3, async |known| {
            for at in 0..BLOCKS {
                known.write(at, at as u8).await.unwrap();
            }
        })
        .await;
    let before = effect_log.len();
    let sizes = fixture.header.parameters.reserve();
    if is_full {
        fixture.disk.leave_room(Some(0));
        fixture.disk.shrink_reserve(sizes.whole as usize - 8192);
    }
    fixture
        .open(4, async |known| {
            for nth in 0..sizes.reads(sizes.whole - 8192) {
                known.read(nth * 7 % BLOCKS).await.unwrap();
            }
            assert_eq!(known.vault.status().reserve.is_full, is_full);
        })
        .await;
    let requests = effect_log.effects().split_off(before);
    requests.iter().map(|effect| format!("{effect:?}")).collect()
}

#[tokio::test(start_paused = true)]
async fn reads_on_a_full_disk_show_the_same_requests_as_on_any() {
    let (with_room, full) = (requests_of_reads(false).await, requests_of_reads(true).await);
    assert!(with_room.len() > 50, "{}", with_room.len());
    assert!(with_room == full, "{} and {} requests", with_room.len(), full.len());
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_fails_a_change_of_rows_stops_the_vault_though_no_block_is_asked_for() {
    let mut fixture = fixture().await;
    let disk = fixture.disk.clone();
    fixture
        .open(3, async |known| {
            known.write(1, 1).await.unwrap();
            disk.refuse_after(Some(0), ErrorKind::Other);
            let failed = known.put_row("key", 10).await.unwrap_err();
            assert!(matches!(failed, VaultError::Disk(_)), "{failed}");
            tokio::time::sleep(LATER).await;
            let why = known.vault.failure();
            assert!(matches!(why, Some(VaultError::Disk(_))), "it lives on, and refuses everything: {why:?}");
            disk.refuse_after(None, ErrorKind::Other);
        })
        .await;
}
