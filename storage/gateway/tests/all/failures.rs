//! Readers, failures and reloads: acknowledged changes stay, other changes leave nothing behind.

use ameles_gateway::catalogue::{ContainerSettings, Details, Object, VersionId, Versioning};
use ameles_gateway::objects::conditions::{TagMatch, WriteConditions};
use ameles_gateway::objects::listing::ListRequest;
use ameles_gateway::objects::multipart::{ExpectedObject, NamedPart};
use ameles_gateway::objects::versions::Removal;
use ameles_gateway::testing::{CommitFault, Faults, MemoryDevice};
use ameles_gateway::{DeviceError, Error, FIRST_ACCOUNT, Gateway, OpenError, Options, Reader};
use bytes::Bytes;
use futures::StreamExt;
use std::sync::Arc;

const BLOCK: usize = 32;
const BLOCKS: u64 = 100;

/// Without packing: these tests count blocks, and small objects must not share any.
fn blocks_of_their_own() -> Options {
    Options { pack: false, ..Options::default() }
}

type TestGateway = Gateway;

async fn open(device: &Arc<MemoryDevice>) -> TestGateway {
    Gateway::open(Arc::clone(device), blocks_of_their_own()).await.expect("opened")
}

async fn fresh() -> (Arc<MemoryDevice>, TestGateway) {
    let device = Arc::new(MemoryDevice::new(BLOCK, BLOCKS, 4));
    let gateway = open(&device).await;
    gateway
        .account(FIRST_ACCOUNT)
        .create_container("container", ContainerSettings::default())
        .await
        .expect("made");
    (device, gateway)
}

async fn put(gateway: &TestGateway, key: &str, body: &[u8]) -> Result<Arc<Object>, Error> {
    let mut writer = gateway.writer(Some(body.len() as u64), None)?;
    writer.push(Bytes::copy_from_slice(body)).await?;
    let written = writer.finish().await?;
    gateway
        .account(FIRST_ACCOUNT)
        .link("container", key, written, Details::default(), WriteConditions::default())
        .await
}

async fn drain(mut reader: Reader) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = reader.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

async fn get(gateway: &TestGateway, key: &str) -> Result<Vec<u8>, Error> {
    let object = gateway.account(FIRST_ACCOUNT).object("container", key)?;
    drain(gateway.read(&object, None).await?).await
}

async fn free(gateway: &TestGateway) -> u64 {
    gateway.settle().await;
    gateway.usage().free_blocks
}

fn faults(device: &MemoryDevice, faults: Faults) {
    device.set_faults(faults);
}

#[tokio::test]
async fn a_reader_gets_the_version_it_began_with_and_holds_its_blocks() {
    let (_, gateway) = fresh().await;
    let old = vec![1; 30 * BLOCK];
    put(&gateway, "key", &old).await.expect("put");
    let object = gateway.account(FIRST_ACCOUNT).object("container", "key").expect("there");
    let mut reader = gateway.read(&object, None).await.expect("read");
    drop(object);
    let mut got = reader.next().await.expect("a piece").expect("read").to_vec();
    for version in 2..30u8 {
        put(&gateway, "key", &vec![version; 30 * BLOCK]).await.expect("put");
    }
    assert_eq!(gateway.usage().free_blocks, BLOCKS - 60);
    got.extend(drain(reader).await.expect("read"));
    assert!(got == old, "the reader saw another version");
    assert_eq!(free(&gateway).await, BLOCKS - 30);
    assert_eq!(get(&gateway, "key").await.expect("read"), vec![29; 30 * BLOCK]);
}

#[tokio::test]
async fn a_deleted_object_is_read_to_its_end() {
    let (_, gateway) = fresh().await;
    put(&gateway, "key", &[5; 1000]).await.expect("put");
    let reader = gateway
        .read(&gateway.account(FIRST_ACCOUNT).object("container", "key").expect("there"), None)
        .await
        .expect("read");
    gateway
        .account(FIRST_ACCOUNT)
        .delete("container", vec![("key".into(), WriteConditions::default())])
        .await
        .expect("deleted");
    assert_eq!(drain(reader).await.expect("read"), vec![5; 1000]);
    assert_eq!(free(&gateway).await, BLOCKS);
}

#[tokio::test]
async fn a_device_that_fails_in_the_middle_of_a_put_leaves_the_old_object() {
    for writes in 0..12 {
        let (device, gateway) = fresh().await;
        put(&gateway, "key", b"old").await.expect("put");
        let before = free(&gateway).await;
        faults(&device, Faults { writes_left: Some(writes), ..Faults::default() });
        let failed = put(&gateway, "key", &[9; 12 * BLOCK]).await;
        assert!(matches!(failed, Err(Error::Device(DeviceError::Unavailable(_)))), "{failed:?}");
        faults(&device, Faults::default());
        assert_eq!(get(&gateway, "key").await.expect("read"), b"old");
        assert_eq!(free(&gateway).await, before);
        assert_eq!(get(&open(&device).await, "key").await.expect("read"), b"old");
    }
}

#[tokio::test]
async fn a_device_that_fails_in_the_middle_of_a_get_gives_an_error_not_a_short_object() {
    for reads in 0..12 {
        let (device, gateway) = fresh().await;
        put(&gateway, "key", &[9; 12 * BLOCK]).await.expect("put");
        faults(&device, Faults { reads_left: Some(reads), ..Faults::default() });
        let failed = get(&gateway, "key").await;
        assert!(matches!(failed, Err(Error::Device(DeviceError::Unavailable(_)))), "{failed:?}");
    }
}

#[tokio::test]
async fn a_put_without_room_is_refused_before_it_writes_and_loses_nothing() {
    let (device, gateway) = fresh().await;
    put(&gateway, "key", &[1; 60 * BLOCK]).await.expect("put");
    device.take_log();
    let refused = put(&gateway, "key", &[2; 41 * BLOCK]).await;
    assert!(matches!(refused, Err(Error::Full { needed: 41, free: 40 })), "{refused:?}");
    assert_eq!(device.take_accesses(), (0, 0));
    let mut writer = gateway.writer(None, None).expect("begun");
    let refused = writer.push(Bytes::from(vec![2; 60 * BLOCK])).await;
    assert!(matches!(refused, Err(Error::Full { .. })), "{refused:?}");
    assert!(writer.finish().await.is_err(), "a writer that failed cannot be finished");
    assert_eq!(get(&gateway, "key").await.expect("read"), vec![1; 60 * BLOCK]);
    assert_eq!(free(&gateway).await, BLOCKS - 60);
}

#[tokio::test]
async fn a_full_catalogue_refuses_the_name_and_frees_the_blocks() {
    let (device, gateway) = fresh().await;
    put(&gateway, "key", b"old").await.expect("put");
    faults(&device, Faults { commits: CommitFault::RowsFull, ..Faults::default() });
    let refused = put(&gateway, "key", b"new").await;
    assert!(matches!(refused, Err(Error::Device(DeviceError::RowsFull))), "{refused:?}");
    faults(&device, Faults::default());
    assert_eq!(get(&gateway, "key").await.expect("read"), b"old");
    assert_eq!(free(&gateway).await, BLOCKS - 1);
    put(&gateway, "key", b"newer").await.expect("put");
    assert_eq!(get(&open(&device).await, "key").await.expect("read"), b"newer");
}

/// A commit that failed may still be durable. After any further work, a reload must give a catalogue that agrees with
/// the acknowledged changes and in which no block has two holders.
#[tokio::test]
async fn a_commit_of_unknown_outcome_is_settled_before_the_next() {
    for commits in [CommitFault::Before, CommitFault::After] {
        let (device, gateway) = fresh().await;
        put(&gateway, "key", b"old").await.expect("put");
        let id = gateway
            .account(FIRST_ACCOUNT)
            .begin_upload("container", "parts", Details::default(), None)
            .await
            .expect("begun");
        let mut writer = gateway.writer(Some(4), None).expect("room");
        writer.push(Bytes::from_static(b"part")).await.expect("pushed");
        let part = writer.finish().await.expect("written");
        gateway.account(FIRST_ACCOUNT).link_part("container", "parts", id, 1, part).await.expect("linked");

        faults(&device, Faults { commits, ..Faults::default() });
        let named = vec![NamedPart { number: 1, ..NamedPart::default() }];
        let conditions = WriteConditions::default;
        gateway
            .account(FIRST_ACCOUNT)
            .complete_upload("container", "parts", id, named, ExpectedObject::default(), conditions())
            .await
            .expect_err("simulated failure");
        put(&gateway, "key", b"not acknowledged").await.expect_err("still uncertain");

        // After a crash here either outcome is allowed, and the catalogue loads.
        open(&device).await;

        faults(&device, Faults::default());
        gateway
            .account(FIRST_ACCOUNT)
            .abort_upload("container", "parts", id)
            .await
            .expect("aborted: it was never completed");
        for key in ["one", "two", "three"] {
            put(&gateway, key, &[3; 30 * BLOCK]).await.expect("put");
        }
        let reloaded = open(&device).await;
        assert_eq!(reloaded.usage(), gateway.usage());
        assert_eq!(get(&reloaded, "key").await.expect("read"), b"old");
        assert!(matches!(
            reloaded.account(FIRST_ACCOUNT).object("container", "parts"),
            Err(Error::NoSuchKey)
        ));
        assert_eq!(free(&reloaded).await, BLOCKS - 91);
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_half_written_object_and_no_held_block() {
    let (_, gateway) = fresh().await;
    for polls in 0..40 {
        let body = [polls; 20 * BLOCK];
        {
            let mut attempt = std::pin::pin!(put(&gateway, "key", &body));
            for _ in 0..polls {
                let polled = futures::poll!(&mut attempt);
                if polled.is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        gateway.settle().await;
        match get(&gateway, "key").await {
            Ok(bytes) => {
                assert!(bytes.len() == body.len() && bytes.iter().all(|&byte| byte == bytes[0]));
                assert_eq!(free(&gateway).await, BLOCKS - 20);
            }
            Err(Error::NoSuchKey) => assert_eq!(free(&gateway).await, BLOCKS),
            Err(other) => panic!("{other}"),
        }
    }
    gateway.account(FIRST_ACCOUNT).object("container", "key").expect("the last attempts had time enough");
}

#[tokio::test]
async fn blocks_of_a_write_that_is_under_way_are_not_given_to_another() {
    let (device, gateway) = fresh().await;
    let held = device.hold_writes().await;
    let mut writer = gateway.writer(Some(20 * BLOCK as u64), None).expect("room");
    writer.push(Bytes::from(vec![1; 5 * BLOCK])).await.expect("a batch is under way");
    tokio::task::yield_now().await;
    drop(writer);
    tokio::task::yield_now().await;
    assert_eq!(gateway.usage().free_blocks, BLOCKS - 20);
    drop(held);
    assert_eq!(free(&gateway).await, BLOCKS);
}

#[tokio::test]
async fn one_of_two_writers_of_a_new_object_succeeds() {
    let (_, gateway) = fresh().await;
    let attempt = |body: &'static [u8]| {
        let gateway = gateway.clone();
        async move {
            let mut writer = gateway.writer(Some(body.len() as u64), None)?;
            writer.push(Bytes::from_static(body)).await?;
            let written = writer.finish().await?;
            let absent = WriteConditions { if_match: None, if_none_match: Some(TagMatch::Any) };
            gateway.account(FIRST_ACCOUNT).link("container", "key", written, Details::default(), absent).await
        }
    };
    let (one, two) = tokio::join!(attempt(b"one"), attempt(b"two"));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    assert_eq!(free(&gateway).await, BLOCKS - 1);
}

#[tokio::test]
async fn corrupt_rows_are_an_error_that_says_which() {
    let (device, gateway) = fresh().await;
    put(&gateway, "key", b"body").await.expect("put");
    device.edit_rows(|rows| {
        let object = rows.iter_mut().find(|(key, _)| key.first() == Some(&b'4')).expect("a row");
        object.1.pop();
    });
    let failed = Gateway::open(Arc::clone(&device), blocks_of_their_own()).await.map(|_| ());
    let Err(error @ OpenError::Corrupt { row: 3, rows: 3, kind: "an object", .. }) = failed else {
        panic!("{failed:?}");
    };
    assert!(!error.to_string().contains("key"), "the error names the object: {error}");
    device.edit_rows(|rows| rows.retain(|key, _| key.first() != Some(&b'0')));
    let failed = Gateway::open(Arc::clone(&device), blocks_of_their_own()).await.map(|_| ());
    assert!(matches!(failed, Err(OpenError::Corrupt { row: 1, .. })), "{failed:?}");
}

#[tokio::test]
async fn a_catalogue_of_other_blocks_is_refused() {
    let (device, _) = fresh().await;
    let rows = ameles_gateway::Device::load_rows(&device).await.expect("rows");
    let other = Arc::new(MemoryDevice::new(2 * BLOCK, BLOCKS, 4));
    other.edit_rows(|there| there.extend(rows));
    let failed = Gateway::open(other, blocks_of_their_own()).await.map(|_| ());
    assert!(matches!(failed, Err(OpenError::BlockBytes { found: 32, block_bytes: 64 })), "{failed:?}");
}

#[tokio::test]
async fn a_body_shorter_or_longer_than_announced_is_refused() {
    let (_, gateway) = fresh().await;
    let mut writer = gateway.writer(Some(10), None).expect("room");
    writer.push(Bytes::from_static(b"short")).await.expect("pushed");
    let short = writer.finish().await;
    assert!(matches!(short, Err(Error::WrongLength { declared: 10, got: 5 })), "{short:?}");
    let mut writer = gateway.writer(Some(3), None).expect("room");
    let long = writer.push(Bytes::from_static(b"longer")).await;
    assert!(matches!(long, Err(Error::WrongLength { declared: 3, got: 6 })), "{long:?}");
    drop(writer);
    assert_eq!(free(&gateway).await, BLOCKS);
}

/// The bodies of the versions of a key, the newest first; `None` for a delete marker.
async fn bodies(gateway: &TestGateway) -> Vec<Option<Vec<u8>>> {
    let account = gateway.account(FIRST_ACCOUNT);
    let all = ListRequest { limit: 100, ..ListRequest::default() };
    let page = account.list_versions("container", &all, None).expect("listed");
    let mut bodies = Vec::new();
    for listed in page.entries {
        bodies.push(match listed.object.version.is_marker() {
            true => None,
            false => {
                Some(drain(gateway.read(&listed.object, None).await.expect("read")).await.expect("read"))
            }
        });
    }
    bodies
}

#[tokio::test]
async fn a_commit_that_fails_leaves_all_versions_or_none_of_its_change() {
    let body = |number: u8| Some(vec![number; 2 * BLOCK]);
    for fault in [CommitFault::RowsFull, CommitFault::Before, CommitFault::After] {
        for change in 0..4 {
            let (device, gateway) = fresh().await;
            let account = gateway.account(FIRST_ACCOUNT);
            account.set_versioning("container", Versioning::Enabled).await.expect("set");
            let first = put(&gateway, "key", &[1; 2 * BLOCK]).await.expect("put").version.id();
            let second = put(&gateway, "key", &[2; 2 * BLOCK]).await.expect("put").version.id();
            faults(&device, Faults { commits: fault, ..Faults::default() });
            let removal = |version| Removal {
                key: "key".into(),
                version,
                conditions: WriteConditions::default(),
                marks_missing: true,
            };
            let (failed, after) = match change {
                0 => {
                    let failed = put(&gateway, "key", &[3; 2 * BLOCK]).await.is_err();
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
            assert_eq!(bodies(&gateway).await, before, "{fault:?} {change}");
            faults(&device, Faults::default());
            // After a crash here, the change is there as a whole or not at all.
            let crashed = open(&device).await;
            let expected = if fault == CommitFault::After { &after } else { &before };
            assert_eq!(&bodies(&crashed).await, expected, "{fault:?} {change}");
            let held: u64 = expected.iter().flatten().map(|_| 2).sum();
            assert_eq!(crashed.usage().free_blocks, BLOCKS - held);
            drop(crashed);
            // Without a reload, the next change first undoes it.
            let last = put(&gateway, "key", &[9; 2 * BLOCK]).await.expect("put");
            assert_eq!(bodies(&gateway).await, [body(9), body(2), body(1)]);
            drop(last);
            assert_eq!(bodies(&open(&device).await).await, [body(9), body(2), body(1)]);
            assert_eq!(free(&gateway).await, BLOCKS - 6);
        }
    }
}

#[tokio::test]
async fn puts_at_the_same_time_are_versions_in_the_order_of_their_commits() {
    let (device, gateway) = fresh().await;
    gateway.account(FIRST_ACCOUNT).set_versioning("container", Versioning::Enabled).await.expect("set");
    let bytes: Vec<[u8; 1]> = (0..20).map(|number| [number]).collect();
    let puts = futures::future::join_all(bytes.iter().map(|body| put(&gateway, "key", body))).await;
    let mut names: Vec<_> = puts.into_iter().map(|put| put.expect("put").version.id()).collect();
    let listed = |gateway: &TestGateway| -> Vec<VersionId> {
        let all = ListRequest { limit: 100, ..ListRequest::default() };
        let page = gateway.account(FIRST_ACCOUNT).list_versions("container", &all, None).expect("listed");
        page.entries.into_iter().map(|listed| listed.object.version.id()).collect()
    };
    let number = |id: &VersionId| match id {
        VersionId::Number(number) => *number,
        VersionId::Null => 0,
    };
    let before = listed(&gateway);
    assert!(before.windows(2).all(|pair| number(&pair[0]) > number(&pair[1])));
    names.sort_by_key(|name| std::cmp::Reverse(number(name)));
    assert_eq!(before, names);
    assert_eq!(listed(&open(&device).await), names);
}
