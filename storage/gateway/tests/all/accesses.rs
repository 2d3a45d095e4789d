//! The table of accesses per verb in the crate's documentation, counted on a device.

use ameles_gateway::catalogue::{ContainerSettings, Details, Object, Versioning};
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::objects::listing::ListRequest;
use ameles_gateway::objects::multipart::{ExpectedObject, NamedPart};
use ameles_gateway::objects::versions::Removal;
use ameles_gateway::testing::{Event, MemoryDevice};
use ameles_gateway::{FIRST_ACCOUNT, Gateway, Options, Padding, Written};
use bytes::Bytes;
use futures::StreamExt;
use std::ops::Range;
use std::sync::Arc;

const BLOCK: usize = 32;
const BATCH: usize = 4;

type TestGateway = Gateway;

async fn open(padding: Padding) -> (Arc<MemoryDevice>, TestGateway) {
    let device = Arc::new(MemoryDevice::new(BLOCK, 1000, BATCH));
    let gateway = Gateway::open(Arc::clone(&device), Options { padding, pack: false, ..Options::default() })
        .await
        .expect("opened");
    gateway
        .account(FIRST_ACCOUNT)
        .create_container("container", ContainerSettings::default())
        .await
        .expect("made");
    device.take_log();
    (device, gateway)
}

async fn write(gateway: &TestGateway, bytes: usize) -> Written {
    let mut writer = gateway.writer(Some(bytes as u64), None).expect("room");
    writer.push(Bytes::from(vec![7; bytes])).await.expect("pushed");
    writer.finish().await.expect("written")
}

async fn put(gateway: &TestGateway, key: &str, bytes: usize) -> Arc<Object> {
    let written = write(gateway, bytes).await;
    gateway
        .account(FIRST_ACCOUNT)
        .link("container", key, written, Details::default(), WriteConditions::default())
        .await
        .expect("linked")
}

async fn get(gateway: &TestGateway, object: &Arc<Object>, range: Option<Range<u64>>) -> usize {
    let wanted = range.as_ref().map_or(object.bytes(), |range| range.end - range.start) as usize;
    let mut reader = gateway.read(object, range).await.expect("read");
    let mut bytes = 0;
    // Like a client that knows the length, it disconnects after the last byte: every access must be over then.
    while bytes < wanted {
        bytes += reader.next().await.expect("more").expect("read").len();
    }
    bytes
}

fn paddings() -> [Padding; 3] {
    [Padding::None, Padding::PowersOfTwo, Padding::Classes(vec![100, 1000])]
}

const SIZES: [usize; 10] = [0, 1, 31, 32, 33, 100, 101, 300, 500, 1200];

#[tokio::test]
async fn a_put_and_a_get_take_the_padded_size() {
    for padding in paddings() {
        let (device, gateway) = open(padding.clone()).await;
        for size in SIZES {
            let padded = padding.blocks(size as u64, BLOCK);
            let object = put(&gateway, "key", size).await;
            assert_eq!(device.take_accesses(), (0, padded), "put of {size} bytes, {padding:?}");
            assert_eq!(get(&gateway, &object, None).await, size);
            assert_eq!(device.take_accesses(), (padded, 0), "get of {size} bytes, {padding:?}");
        }
    }
}

#[tokio::test]
async fn batches_depend_on_the_class_alone() {
    let (device, gateway) = open(Padding::PowersOfTwo).await;
    let shapes = |log: Vec<Event>| -> Vec<(bool, usize)> {
        log.into_iter()
            .filter_map(|event| match event {
                Event::Read(blocks) => Some((false, blocks.len())),
                Event::Write(blocks) => Some((true, blocks.len())),
                Event::Rows(_) => None,
            })
            .collect()
    };
    let mut traces = Vec::new();
    for size in [9 * BLOCK, 9 * BLOCK + 1, 15 * BLOCK - 3, 16 * BLOCK] {
        let object = put(&gateway, "key", size).await;
        get(&gateway, &object, None).await;
        traces.push(shapes(device.take_log()));
    }
    assert_eq!(traces[0].len(), 8);
    assert!(traces.iter().all(|shape| *shape == traces[0]), "{traces:?}");
}

#[tokio::test]
async fn a_range_takes_the_class_of_its_blocks_and_at_most_the_object() {
    for padding in paddings() {
        let (device, gateway) = open(padding.clone()).await;
        let size = 1200u64;
        let object = put(&gateway, "key", size as usize).await;
        device.take_log();
        for start in (0..size).step_by(37) {
            for length in [1, 31, 32, 33, 64, 200, 700, size - start] {
                let end = (start + length).min(size);
                assert_eq!(get(&gateway, &object, Some(start..end)).await as u64, end - start);
                let touched = (end - 1) / BLOCK as u64 - start / BLOCK as u64 + 1;
                let expected = padding.blocks(touched * BLOCK as u64, BLOCK).min(object.blocks());
                assert_eq!(device.take_accesses(), (expected, 0), "{start}..{end}, {padding:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_copy_takes_a_get_and_a_put() {
    for padding in paddings() {
        let (device, gateway) = open(padding.clone()).await;
        for size in SIZES {
            let padded = padding.blocks(size as u64, BLOCK);
            let source = put(&gateway, "source", size).await;
            device.take_log();
            let written = gateway.copy_blocks(&source, None, None).await.expect("copied");
            gateway
                .account(FIRST_ACCOUNT)
                .link("container", "copy", written, Details::default(), WriteConditions::default())
                .await
                .expect("linked");
            assert_eq!(device.take_accesses(), (padded, padded), "copy of {size} bytes, {padding:?}");
        }
    }
}

#[tokio::test]
async fn parts_take_their_padded_sizes_and_completing_takes_nothing() {
    for padding in paddings() {
        let (device, gateway) = open(padding.clone()).await;
        let id = gateway
            .account(FIRST_ACCOUNT)
            .begin_upload("container", "key", Details::default(), None)
            .await
            .expect("begun");
        assert_eq!(device.take_accesses(), (0, 0));
        let sizes = [300usize, 5, 64];
        let padded = sizes.map(|size| padding.blocks(size as u64, BLOCK));
        for (number, size) in (1..).zip(sizes) {
            let written = write(&gateway, size).await;
            gateway
                .account(FIRST_ACCOUNT)
                .link_part("container", "key", id, number, written)
                .await
                .expect("linked");
            assert_eq!(device.take_accesses(), (0, padded[usize::from(number) - 1]));
        }
        gateway
            .account(FIRST_ACCOUNT)
            .list_uploads("container", &ListRequest { limit: 9, ..Default::default() }, None)
            .expect("listed");
        let named = [1, 2, 3].map(|number| NamedPart { number, ..NamedPart::default() });
        let object = gateway
            .account(FIRST_ACCOUNT)
            .complete_upload(
                "container",
                "key",
                id,
                named.to_vec(),
                ExpectedObject::default(),
                WriteConditions::default(),
            )
            .await
            .expect("completed");
        assert_eq!(device.take_accesses(), (0, 0));
        assert_eq!(get(&gateway, &object, None).await, 369);
        assert_eq!(device.take_accesses(), (padded.iter().sum(), 0));
        assert_eq!(get(&gateway, &object, Some(299..306)).await, 7);
        let (reads, writes) = device.take_accesses();
        assert!(reads <= object.blocks() && writes == 0);
    }
}

/// The lengths of the batches that a device was asked for: an observer sees no more.
fn lengths(device: &MemoryDevice) -> Vec<usize> {
    let log = device.take_log().into_iter();
    log.filter_map(|event| match event {
        Event::Read(blocks) | Event::Write(blocks) => Some(blocks.len()),
        Event::Rows(_) => None,
    })
    .collect()
}

/// The batches of puts, deletes and gets of small and large objects in a container with this versioning.
async fn trace_of_history(versioning: Option<Versioning>, pack: bool) -> Vec<Vec<usize>> {
    let device = Arc::new(MemoryDevice::new(BLOCK, 1000, BATCH));
    let options = Options { pack, ..Options::default() };
    let gateway = Gateway::open(Arc::clone(&device), options).await.expect("opened");
    let account = gateway.account(FIRST_ACCOUNT);
    account.create_container("container", ContainerSettings::default()).await.expect("made");
    if let Some(versioning) = versioning {
        account.set_versioning("container", versioning).await.expect("set");
    }
    let mut shown = vec![lengths(&device)];
    for step in 0..60 {
        let key = ["a", "b", "c"][step % 3];
        match step % 5 {
            4 => {
                account
                    .delete("container", vec![(key.into(), WriteConditions::default())])
                    .await
                    .expect("deleted");
            }
            _ => drop(put(&gateway, key, [5, 100, 12, 300][step % 4]).await),
        }
        gateway.settle().await;
        shown.push(lengths(&device));
        if let Ok(object) = account.object("container", key) {
            get(&gateway, &object, None).await;
        }
        shown.push(lengths(&device));
    }
    shown
}

#[tokio::test]
async fn a_history_shows_the_same_whether_old_versions_are_kept_or_not() {
    for pack in [false, true] {
        let without = trace_of_history(None, pack).await;
        assert!(without.iter().any(|batches| !batches.is_empty()));
        for versioning in [Versioning::Enabled, Versioning::Suspended] {
            assert_eq!(trace_of_history(Some(versioning), pack).await, without, "{versioning:?}");
        }
    }
}

#[tokio::test]
async fn an_old_version_takes_what_its_object_took_and_deleting_it_takes_nothing() {
    let (device, gateway) = open(Padding::None).await;
    let account = gateway.account(FIRST_ACCOUNT);
    account.set_versioning("container", Versioning::Enabled).await.expect("set");
    let old = put(&gateway, "key", 100).await;
    put(&gateway, "key", 500).await;
    device.take_log();
    let found = account.version("container", "key", Some(old.version.id())).expect("kept");
    get(&gateway, &found, None).await;
    assert_eq!(device.take_accesses(), (4, 0));
    let removal = |version| Removal {
        key: "key".into(),
        version,
        conditions: WriteConditions::default(),
        marks_missing: true,
    };
    let all = ListRequest { limit: 9, ..ListRequest::default() };
    account.remove("container", vec![removal(None)]).await.expect("marked");
    for listed in account.list_versions("container", &all, None).expect("listed").entries {
        account.remove("container", vec![removal(Some(listed.object.version.id()))]).await.expect("removed");
    }
    drop((old, found));
    assert_eq!(gateway.usage().free_blocks, 1000);
    account.delete_container("container").await.expect("empty");
    assert_eq!(device.take_accesses(), (0, 0));
}

#[tokio::test]
async fn looking_listing_and_deleting_take_nothing() {
    let (device, gateway) = open(Padding::None).await;
    for key in ["a", "b", "c"] {
        put(&gateway, key, 100).await;
    }
    device.take_log();
    gateway.account(FIRST_ACCOUNT).object("container", "a").expect("there");
    gateway.account(FIRST_ACCOUNT).object("container", "none").expect_err("not there");
    gateway
        .account(FIRST_ACCOUNT)
        .list("container", &ListRequest { limit: 2, ..Default::default() })
        .expect("listed");
    gateway.account(FIRST_ACCOUNT).containers(&ListRequest { limit: 9, ..Default::default() });
    gateway.usage();
    let keys = ["a", "b", "c", "d"].map(|key| (key.to_owned(), WriteConditions::default()));
    gateway.account(FIRST_ACCOUNT).delete("container", keys.to_vec()).await.expect("deleted");
    let id = gateway
        .account(FIRST_ACCOUNT)
        .begin_upload("container", "key", Details::default(), None)
        .await
        .expect("begun");
    gateway.account(FIRST_ACCOUNT).abort_upload("container", "key", id).await.expect("aborted");
    gateway.account(FIRST_ACCOUNT).delete_container("container").await.expect("empty");
    assert_eq!(device.take_accesses(), (0, 0));
}
