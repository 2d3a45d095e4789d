//! Readers, failures and reloads: acknowledged changes stay, other changes leave nothing behind.

use crate::vault::{Vault, drain, everything};
use ameles_gateway::catalogue::{VersionId, Versioning};
use ameles_gateway::objects::conditions::{TagMatch, WriteConditions};
use ameles_gateway::objects::versions::Removal;
use ameles_gateway::testing::{CommitFault, Faults, MemoryDevice};
use ameles_gateway::{DeviceError, Error, Gateway, OpenError, Options};
use bytes::Bytes;
use futures::StreamExt;
use std::sync::Arc;

const BLOCK: usize = 32;
const BLOCKS: u64 = 100;

/// Returns options without packing: these tests count blocks, and small objects must not share any.
fn blocks_of_their_own() -> Options {
    Options { pack: false, ..Options::default() }
}

async fn fresh() -> Vault {
    Vault::new(BLOCK, BLOCKS, blocks_of_their_own()).await
}

#[tokio::test]
async fn a_reader_gets_the_version_it_began_with_and_holds_its_blocks() {
    let vault = fresh().await;
    let old = vec![1; 30 * BLOCK];
    vault.put("key", &old).await.expect("put");
    let object = vault.object("key").expect("there");
    let mut reader = vault.gateway.read(&object, None).await.expect("read");
    drop(object);
    let mut got = reader.next().await.expect("a piece").expect("read").to_vec();
    for version in 2..30u8 {
        vault.put("key", &vec![version; 30 * BLOCK]).await.expect("put");
    }
    assert_eq!(vault.gateway.usage().free_blocks, BLOCKS - 60);
    got.extend(drain(reader).await.expect("read"));
    assert!(got == old, "the reader saw another version");
    assert_eq!(vault.free_blocks().await, BLOCKS - 30);
    assert_eq!(vault.get("key").await.expect("read"), vec![29; 30 * BLOCK]);
}

#[tokio::test]
async fn a_deleted_object_is_read_to_its_end() {
    let vault = fresh().await;
    vault.put("key", &[5; 1000]).await.expect("put");
    let reader = vault.gateway.read(&vault.object("key").expect("there"), None).await.expect("read");
    vault.delete("key").await.expect("deleted");
    assert_eq!(drain(reader).await.expect("read"), vec![5; 1000]);
    assert_eq!(vault.free_blocks().await, BLOCKS);
}

#[tokio::test]
async fn a_device_that_fails_in_the_middle_of_a_put_leaves_the_old_object() {
    for writes in 0..12 {
        let vault = fresh().await;
        vault.put("key", b"old").await.expect("put");
        let before = vault.free_blocks().await;
        vault.device.set_faults(Faults { writes_left: Some(writes), ..Faults::default() });
        let failed = vault.put("key", &[9; 12 * BLOCK]).await;
        assert!(matches!(failed, Err(Error::Device(DeviceError::Unavailable(_)))), "{failed:?}");
        vault.device.set_faults(Faults::default());
        assert_eq!(vault.get("key").await.expect("read"), b"old");
        assert_eq!(vault.free_blocks().await, before);
        assert_eq!(vault.reopen().await.get("key").await.expect("read"), b"old");
    }
}

#[tokio::test]
async fn a_device_that_fails_in_the_middle_of_a_get_gives_an_error_not_a_short_object() {
    for reads in 0..12 {
        let vault = fresh().await;
        vault.put("key", &[9; 12 * BLOCK]).await.expect("put");
        vault.device.set_faults(Faults { reads_left: Some(reads), ..Faults::default() });
        let failed = vault.get("key").await;
        assert!(matches!(failed, Err(Error::Device(DeviceError::Unavailable(_)))), "{failed:?}");
    }
}

#[tokio::test]
async fn a_put_without_room_is_refused_before_it_writes_and_loses_nothing() {
    let vault = fresh().await;
    vault.put("key", &[1; 60 * BLOCK]).await.expect("put");
    vault.device.take_log();
    let refused = vault.put("key", &[2; 41 * BLOCK]).await;
    assert!(matches!(refused, Err(Error::Full { needed: 41, free: 40 })), "{refused:?}");
    assert_eq!(vault.device.take_accesses(), (0, 0));
    let mut writer = vault.gateway.writer(None, None).expect("begun");
    let refused = writer.push(Bytes::from(vec![2; 60 * BLOCK])).await;
    assert!(matches!(refused, Err(Error::Full { .. })), "{refused:?}");
    assert!(writer.finish().await.is_err(), "a writer that failed cannot be finished");
    assert_eq!(vault.get("key").await.expect("read"), vec![1; 60 * BLOCK]);
    assert_eq!(vault.free_blocks().await, BLOCKS - 60);
}

#[tokio::test]
async fn a_full_catalogue_refuses_the_name_and_frees_the_blocks() {
    let vault = fresh().await;
    vault.put("key", b"old").await.expect("put");
    vault.device.set_faults(Faults { commits: CommitFault::RowsFull, ..Faults::default() });
    let refused = vault.put("key", b"new").await;
    assert!(matches!(refused, Err(Error::Device(DeviceError::RowsFull))), "{refused:?}");
    vault.device.set_faults(Faults::default());
    assert_eq!(vault.get("key").await.expect("read"), b"old");
    assert_eq!(vault.free_blocks().await, BLOCKS - 1);
    vault.put("key", b"newer").await.expect("put");
    assert_eq!(vault.reopen().await.get("key").await.expect("read"), b"newer");
}

/// A commit that failed may still be durable. After any further work, a reload must give a catalogue that agrees with
/// the acknowledged changes and in which no block has two holders.
#[tokio::test]
async fn a_commit_of_unknown_outcome_is_settled_before_the_next() {
    for commits in [CommitFault::Before, CommitFault::After] {
        let vault = fresh().await;
        vault.put("key", b"old").await.expect("put");
        let id = vault.begin_upload("parts").await.expect("begun");
        vault.put_part("parts", id, 1, b"part").await.expect("linked");

        vault.device.set_faults(Faults { commits, ..Faults::default() });
        vault.complete("parts", id, &[1]).await.expect_err("simulated failure");
        vault.put("key", b"not acknowledged").await.expect_err("still uncertain");

        // After a crash here either outcome is allowed, and the catalogue loads.
        vault.reopen().await;

        vault.device.set_faults(Faults::default());
        vault.account.abort_upload("container", "parts", id).await.expect("aborted: it was never completed");
        for key in ["one", "two", "three"] {
            vault.put(key, &[3; 30 * BLOCK]).await.expect("put");
        }
        let reloaded = vault.reopen().await;
        assert_eq!(reloaded.gateway.usage(), vault.gateway.usage());
        assert_eq!(reloaded.get("key").await.expect("read"), b"old");
        assert!(matches!(reloaded.object("parts"), Err(Error::NoSuchKey)));
        assert_eq!(reloaded.free_blocks().await, BLOCKS - 91);
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_half_written_object_and_no_held_block() {
    let vault = fresh().await;
    for polls in 0..40 {
        let body = [polls; 20 * BLOCK];
        {
            let mut attempt = std::pin::pin!(vault.put("key", &body));
            for _ in 0..polls {
                let polled = futures::poll!(&mut attempt);
                if polled.is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        vault.gateway.settle().await;
        match vault.get("key").await {
            Ok(bytes) => {
                assert!(bytes.len() == body.len() && bytes.iter().all(|&byte| byte == bytes[0]));
                assert_eq!(vault.free_blocks().await, BLOCKS - 20);
            }
            Err(Error::NoSuchKey) => assert_eq!(vault.free_blocks().await, BLOCKS),
            Err(other) => panic!("{other}"),
        }
    }
    vault.object("key").expect("the last attempts had time enough");
}

#[tokio::test]
async fn blocks_of_a_write_that_is_under_way_are_not_given_to_another() {
    let vault = fresh().await;
    let held = vault.device.hold_writes().await;
    let mut writer = vault.gateway.writer(Some(20 * BLOCK as u64), None).expect("room");
    writer.push(Bytes::from(vec![1; 5 * BLOCK])).await.expect("a batch is under way");
    tokio::task::yield_now().await;
    drop(writer);
    tokio::task::yield_now().await;
    assert_eq!(vault.gateway.usage().free_blocks, BLOCKS - 20);
    drop(held);
    assert_eq!(vault.free_blocks().await, BLOCKS);
}

#[tokio::test]
async fn one_of_two_writers_of_a_new_object_succeeds() {
    let vault = fresh().await;
    let absent = || WriteConditions { if_match: None, if_none_match: Some(TagMatch::Any) };
    let attempt = |body| vault.put_if("key", body, absent());
    let (one, two) = tokio::join!(attempt(b"one"), attempt(b"two"));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    assert_eq!(vault.free_blocks().await, BLOCKS - 1);
}

#[tokio::test]
async fn corrupt_rows_are_an_error_that_says_which() {
    let vault = fresh().await;
    vault.put("key", b"body").await.expect("put");
    vault.device.edit_rows(|rows| {
        let object = rows.iter_mut().find(|(key, _)| key.first() == Some(&b'4')).expect("a row");
        object.1.pop();
    });
    let failed = Gateway::open(Arc::clone(&vault.device), blocks_of_their_own()).await.map(|_| ());
    let Err(error @ OpenError::Corrupt { row: 3, rows: 3, kind: "an object", .. }) = failed else {
        panic!("{failed:?}");
    };
    assert!(!error.to_string().contains("key"), "the error names the object: {error}");
    vault.device.edit_rows(|rows| rows.retain(|key, _| key.first() != Some(&b'0')));
    let failed = Gateway::open(Arc::clone(&vault.device), blocks_of_their_own()).await.map(|_| ());
    assert!(matches!(failed, Err(OpenError::Corrupt { row: 1, .. })), "{failed:?}");
}

#[tokio::test]
async fn a_catalogue_of_other_blocks_is_refused() {
    let vault = fresh().await;
    let rows = ameles_gateway::Device::load_rows(&vault.device).await.expect("rows");
    let other = Arc::new(MemoryDevice::new(2 * BLOCK, BLOCKS, 4));
    other.edit_rows(|there| there.extend(rows));
    let failed = Gateway::open(other, blocks_of_their_own()).await.map(|_| ());
    assert!(matches!(failed, Err(OpenError::BlockBytes { found: 32, block_bytes: 64 })), "{failed:?}");
}

#[tokio::test]
async fn a_body_shorter_or_longer_than_announced_is_refused() {
    let vault = fresh().await;
    let mut writer = vault.gateway.writer(Some(10), None).expect("room");
    writer.push(Bytes::from_static(b"short")).await.expect("pushed");
    let short = writer.finish().await;
    assert!(matches!(short, Err(Error::WrongLength { declared: 10, got: 5 })), "{short:?}");
    let mut writer = vault.gateway.writer(Some(3), None).expect("room");
    let long = writer.push(Bytes::from_static(b"longer")).await;
    assert!(matches!(long, Err(Error::WrongLength { declared: 3, got: 6 })), "{long:?}");
    drop(writer);
    assert_eq!(vault.free_blocks().await, BLOCKS);
}

/// The bodies of the versions of a key, the newest first; `None` for a delete marker.
async fn bodies(vault: &Vault) -> Vec<Option<Vec<u8>>> {
    let page = vault.account.list_versions("container", &everything(), None).expect("listed");
    let mut bodies = Vec::new();
    for listed in page.entries {
        bodies.push(match listed.object.version.is_marker() {
            true => None,
            false => Some(
                drain(vault.gateway.read(&listed.object, None).await.expect("read")).await.expect("read"),
            ),
        });
    }
    bodies
}

#[tokio::test]
async fn a_commit_that_fails_leaves_all_versions_or_none_of_its_change() {
    let body = |number: u8| Some(vec![number; 2 * BLOCK]);
    for fault in [CommitFault::RowsFull, CommitFault::Before, CommitFault::After] {
        for change in 0..4 {
            let vault = fresh().await;
            let account = &vault.account;
            account.set_versioning("container", Versioning::Enabled).await.expect("set");
            let first = vault.put("key", &[1; 2 * BLOCK]).await.expect("put").version.id();
            let second = vault.put("key", &[2; 2 * BLOCK]).await.expect("put").version.id();
            vault.device.set_faults(Faults { commits: fault, ..Faults::default() });
            let removal = |version| Removal {
                key: "key".into(),
                version,
                conditions: WriteConditions::default(),
                marks_missing: true,
            };
            let (failed, after) = match change {
                0 => {
                    let failed = vault.put("key", &[3; 2 * BLOCK]).await.is_err();
                    (failed, vec![body(3), body(2), body(1)])
                }
                1 => {
                    let marked = account.remove("container", vec![removal(None)]).await;
                    (marked.is_err(), vec![None, body(2), body(1)])
                }
                2 => {
                    let removed = account.remove("container", vec![removal(Some(second))]).await;
                    (removed.is_err(), vec![body(1)])
                }
                _ => {
                    let both = vec![removal(Some(second)), removal(Some(first))];
                    (account.remove("container", both).await.is_err(), vec![])
                }
            };
            assert!(failed, "{fault:?}");
            let before = vec![body(2), body(1)];
            assert_eq!(bodies(&vault).await, before, "{fault:?} {change}");
            vault.device.set_faults(Faults::default());
            // After a crash here, the change is there as a whole or not at all.
            let crashed = vault.reopen().await;
            let expected = if fault == CommitFault::After { &after } else { &before };
            assert_eq!(&bodies(&crashed).await, expected, "{fault:?} {change}");
            let held: u64 = expected.iter().flatten().map(|_| 2).sum();
            assert_eq!(crashed.gateway.usage().free_blocks, BLOCKS - held);
            drop(crashed);
            // Without a reload, the next change first undoes it.
            let last = vault.put("key", &[9; 2 * BLOCK]).await.expect("put");
            assert_eq!(bodies(&vault).await, [body(9), body(2), body(1)]);
            drop(last);
            assert_eq!(bodies(&vault.reopen().await).await, [body(9), body(2), body(1)]);
            assert_eq!(vault.free_blocks().await, BLOCKS - 6);
        }
    }
}

#[tokio::test]
async fn puts_at_the_same_time_are_versions_in_the_order_of_their_commits() {
    let vault = fresh().await;
    vault.account.set_versioning("container", Versioning::Enabled).await.expect("set");
    let bytes: Vec<[u8; 1]> = (0..20).map(|number| [number]).collect();
    let puts = futures::future::join_all(bytes.iter().map(|body| vault.put("key", body))).await;
    let mut names: Vec<_> = puts.into_iter().map(|put| put.expect("put").version.id()).collect();
    let listed = |vault: &Vault| -> Vec<VersionId> {
        let page = vault.account.list_versions("container", &everything(), None).expect("listed");
        page.entries.into_iter().map(|listed| listed.object.version.id()).collect()
    };
    let number = |id: &VersionId| match id {
        VersionId::Number(number) => *number,
        VersionId::Null => 0,
    };
    let before = listed(&vault);
    assert!(before.windows(2).all(|pair| number(&pair[0]) > number(&pair[1])));
    names.sort_by_key(|name| std::cmp::Reverse(number(name)));
    assert_eq!(before, names);
    assert_eq!(listed(&vault.reopen().await), names);
}
