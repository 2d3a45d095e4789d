//! Journal objects that the store has altered.

use super::{fixture, in_successor, objects};
use crate::promises::fixture::{VaultFixture, block};
use crate::support::intercepted::Request;
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::{faults_of, work_and_close};
use ameles_core::types::BlockId;
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::{RowChange, Vault, VaultError};

/// The number of objects that may be on their way at once.
const IN_FLIGHT: usize = 4;

/// A vault whose machine was lost in its second opening, and the names of its journal objects.
async fn lost() -> (VaultFixture, Vec<String>) {
    let fixture = fixture().await;
    for opening in 0..2 {
        fixture
            .open_and_crash(async |vault| {
                for at in 0..6 {
                    vault.write(BlockId(at), block(opening)).await.unwrap();
                }
                vault.commit_rows(vec![RowChange::put("a", "row")]).await.unwrap();
            })
            .await
            .unwrap();
    }
    let names = objects(&fixture.store).await;
    (fixture, names)
}

async fn get(store: &VersionedMemory, name: &str) -> Vec<u8> {
    store.get(name, usize::MAX).await.unwrap().expect("it is there")
}

/// Asserts that a restore from this store detects tampering.
async fn assert_found(fixture: &VaultFixture, store: &VersionedMemory, what: &str) {
    let restored = in_successor(&fixture.header, store, async |_| ()).await;
    assert!(matches!(&restored, Err(error) if error.is_tampering()), "{what}: {restored:?}");
}

#[tokio::test(start_paused = true)]
async fn a_spoilt_object_is_found_by_a_restore_wherever_it_is_spoilt() {
    let (fixture, names) = lost().await;
    let whole = fixture.store.snapshot();
    let copy = || fixture.copy(&whole).store;
    in_successor(&fixture.header, &copy(), async |_| ()).await.expect("it is sound");
    assert!(names.len() > 6, "{names:?}");
    for (nth, name) in names.iter().enumerate() {
        let held = get(&fixture.store, name).await;
        for at in [0, 45, held.len() / 2, held.len() - 1] {
            let mut flipped = held.clone();
            flipped[at] ^= 1;
            let store = copy();
            store.put(name, &flipped).await.unwrap();
            assert_found(&fixture, &store, &format!("{name} flipped at {at}")).await;
        }
        let store = copy();
        store.put(name, &held[..held.len() - 1]).await.unwrap();
        assert_found(&fixture, &store, &format!("{name} cut")).await;
        if let Some(next) = names.get(nth + 1) {
            let store = copy();
            store.put(name, &get(&fixture.store, next).await).await.unwrap();
            store.put(next, &held).await.unwrap();
            assert_found(&fixture, &store, &format!("{name} and {next} swapped")).await;
        }
        let store = copy();
        Blobs::remove(&store, name).await.unwrap();
        if nth + IN_FLIGHT < names.len() {
            assert_found(&fixture, &store, &format!("{name} dropped")).await;
        } else {
            // A crash may have left such a gap: the journal ends before it.
            in_successor(&fixture.header, &store, async |_| ()).await.expect("it looks like a crash");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_names_each_spoilt_object() {
    let (fixture, names) = lost().await;
    fixture
        .open_and_crash(async |vault| {
            assert!(faults_of(vault).await.is_empty());
            for name in &names {
                let held = get(&fixture.store, name).await;
                let mut flipped = held.clone();
                flipped[50] ^= 1;
                for (tampered, word) in [(Some(&flipped), "changed"), (None, "removed")] {
                    match tampered {
                        Some(bytes) => fixture.store.put(name, bytes).await.unwrap(),
                        None => Blobs::remove(&fixture.store, name).await.unwrap(),
                    }
                    let faults = faults_of(vault).await;
                    assert_eq!(faults, [format!("{name} was {word}")]);
                }
                fixture.store.put(name, &held).await.unwrap();
            }
            let planted = "log/00000001-00000000000fffff";
            fixture.store.put(planted, b"nothing").await.unwrap();
            let faults = faults_of(vault).await;
            assert_eq!(faults, [format!("{planted} was not written by this vault")]);
        })
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_check_lists_the_journal_once_however_many_of_its_objects_are_missing() {
    let (fixture, names) = lost().await;
    let recorder = Recorder::new();
    let store = recorder.over(fixture.store.clone());
    let opened = Vault::start(fixture.setup_over(&fixture.disk.mount().unwrap(), store)).await.unwrap();
    work_and_close(opened, &fixture.disk, async |vault| {
        let missing = &names[..3];
        for name in missing {
            Blobs::remove(&fixture.store, name).await.unwrap();
        }
        recorder.clear();
        let faults = faults_of(vault).await;
        assert_eq!(faults.len(), missing.len(), "{faults:?}");
        let is_list =
            |event: &TraceEvent| matches!(event, TraceEvent::Asks { request: Request::List(prefix), .. } if prefix == "log/");
        let lists = recorder.take_trace().into_iter().filter(|(_, event)| is_list(event)).count();
        assert_eq!(lists, 1);
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_missing_is_told_at_the_next_opening() {
    let (fixture, names) = lost().await;
    let opening = names.iter().find(|name| name.starts_with("log/00000002-")).expect("the second opening's");
    Blobs::remove(&fixture.store, opening).await.unwrap();
    let refused = fixture.open(async |_| ()).await.err();
    assert!(matches!(&refused, Some(VaultError::Tampered(_))), "{refused:?}");
    assert!(refused.unwrap().to_string().contains(opening.as_str()));
}
