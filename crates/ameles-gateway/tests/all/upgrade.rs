//! A catalogue that an older version wrote is refused, and rewritten when that is asked for.

use ameles_gateway::catalogue::{UploadId, VersionId, Versioning};
use ameles_gateway::testing::{CommitFault, Faults, MemoryDevice};
use ameles_gateway::{Device, FIRST_ACCOUNT, Flow, Gateway, OpenError, Options};
use futures::TryStreamExt;
use std::collections::BTreeMap;
use std::sync::Arc;

const BLOCK: usize = 16;
const BLOCKS: u64 = 20;
const UPLOAD: UploadId = UploadId([7; 16]);

type Details = (
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<u64>,
    BTreeMap<String, String>,
);

fn details(content_type: &str) -> Details {
    let metadata = BTreeMap::from([("colour".to_owned(), "green".to_owned())]);
    (Some(content_type.to_owned()), None, None, None, Some("fr".to_owned()), Some(5000), metadata)
}

/// The rows of the first format: an object of 20 bytes in the blocks 3 and 9, whose key makes its row's key equal to
/// that of another row of the new format, and an upload with a part in block 1.
fn rows_of_the_first_format() -> Vec<(Vec<u8>, Vec<u8>)> {
    macro_rules! row {
        ($key:expr, $value:expr) => {
            ($key.to_vec(), borsh::to_vec(&$value).expect("encoded"))
        };
    }
    let no_checksum: Option<(u8, u8, String)> = None;
    let runs = vec![(3u64, 1u64), (9, 1)];
    let checksum = Some((1u8, 0u8, "AAAAAA==".to_owned()));
    let upload = (String::from("ameles"), String::from("big"), details("b"), Some((4u8, 1u8)), 77u64);
    vec![
        row!(b"0", (1u32, BLOCK as u64)),
        row!(b"1ameles", 1000u64),
        row!(b"2ameles\0ameles", (details("a"), "0123".to_owned(), checksum, 2000u64, vec![(20u64, runs)])),
        row!([&b"3"[..], &UPLOAD.0].concat(), upload),
        row!(
            [&b"4"[..], &UPLOAD.0, &[0, 2]].concat(),
            ((5u64, vec![(1u64, 1u64)]), [9u8; 16], no_checksum, 88u64)
        ),
    ]
}

async fn old_device() -> Arc<MemoryDevice> {
    let device = Arc::new(MemoryDevice::new(BLOCK, BLOCKS, 4));
    device
        .write(Flow(0), vec![(3, vec![b'x'; BLOCK].into()), (9, vec![b'y'; BLOCK].into())])
        .await
        .expect("written");
    device.edit_rows(|rows| rows.extend(rows_of_the_first_format()));
    device
}

#[tokio::test]
async fn an_older_catalogue_is_refused_with_what_to_do_and_left_alone() {
    let device = old_device().await;
    let refusal = Gateway::open(Arc::clone(&device), Options::default()).await.map(drop);
    let refusal = refusal.expect_err("refused");
    assert!(matches!(refusal, OpenError::OlderFormat { found: 1, known: 2 }));
    assert!(refusal.to_string().contains("`ameles upgrade`"), "{refusal}");
    let mut left = device.load_rows().await.expect("rows");
    left.sort();
    assert_eq!(left, rows_of_the_first_format());
}

#[tokio::test]
async fn an_upgraded_catalogue_holds_all_that_it_held() {
    let device = old_device().await;
    assert!(Gateway::upgrade(&device, FIRST_ACCOUNT).await.expect("upgraded"));
    assert!(!Gateway::upgrade(&device, FIRST_ACCOUNT).await.expect("nothing to do"));
    let gateway = Gateway::open(Arc::clone(&device), Options::default()).await.expect("opened");
    let account = gateway.account(FIRST_ACCOUNT);
    assert_eq!(account.container("ameles").expect("there").settings.created.0, 1000);
    let object = account.object("ameles", "ameles").expect("there");
    assert_eq!((object.etag.as_str(), object.modified.0, object.bytes()), ("0123", 2000, 20));
    assert_eq!(object.checksum.as_ref().map(|checksum| checksum.value.as_str()), Some("AAAAAA=="));
    assert_eq!(object.details.content_type.as_deref(), Some("a"));
    assert_eq!(object.details.content_language.as_deref(), Some("fr"));
    assert_eq!(object.details.expires.map(|moment| moment.0), Some(5000));
    assert_eq!(object.details.metadata["colour"], "green");
    let read = gateway.read(&object, None).await.expect("read");
    let bytes: Vec<u8> = read.try_collect::<Vec<_>>().await.expect("read").concat();
    assert_eq!(bytes, b"xxxxxxxxxxxxxxxxyyyy");
    let upload = account.upload("ameles", "big", UPLOAD).expect("there");
    assert_eq!((upload.started.0, upload.parts[&2].segment.bytes()), (77, 5));
    assert_eq!(gateway.usage().free_blocks, BLOCKS - 3);
}

#[tokio::test]
async fn an_upgrade_that_fails_changes_nothing_and_can_be_repeated() {
    let device = old_device().await;
    device.set_faults(Faults { commits: CommitFault::RowsFull, ..Faults::default() });
    Gateway::upgrade(&device, FIRST_ACCOUNT).await.expect_err("refused");
    device.set_faults(Faults::default());
    let mut left = device.load_rows().await.expect("rows");
    left.sort();
    assert_eq!(left, rows_of_the_first_format());
    assert!(Gateway::upgrade(&device, FIRST_ACCOUNT).await.expect("upgraded"));
}

/// Rows that this format's first writers left: a container and an object of one byte in block 5. They say nothing of
/// versions.
fn rows_without_versions() -> Vec<(Vec<u8>, Vec<u8>)> {
    let container =
        vec![0xa6, 0x00, 0x19, 0x03, 0xe8, 0x01, 0xa0, 0x02, 0x60, 0x03, 0x60, 0x04, 0x80, 0x06, 0xa0];
    let details = [0xa3, 0x06, 0xa0, 0x09, 0xa0, 0x0a, 0x80];
    let segment = [0xa2, 0x00, 0x01, 0x01, 0x81, 0x82, 0x05, 0x01];
    let object = [
        &[0xa4, 0x00][..],
        &details,
        &[0x01, 0x64],
        b"0123",
        &[0x03, 0x19, 0x07, 0xd0, 0x04, 0x81],
        &segment,
    ];
    vec![
        (b"0".to_vec(), vec![0xa2, 0x00, 0x02, 0x01, 0x10]),
        (b"2ameles\0old".to_vec(), container),
        (b"4ameles\0old\0key".to_vec(), object.concat()),
    ]
}

#[tokio::test]
async fn an_object_from_before_there_were_versions_becomes_the_null_version() {
    let device = Arc::new(MemoryDevice::new(BLOCK, BLOCKS, 4));
    device.edit_rows(|rows| rows.extend(rows_without_versions()));
    let gateway = Gateway::open(Arc::clone(&device), Options::default()).await.expect("opened");
    let account = gateway.account(FIRST_ACCOUNT);
    assert_eq!(account.container("old").expect("there").settings.versioning, None);
    account.set_versioning("old", Versioning::Enabled).await.expect("set");
    let mut writer = gateway.writer(Some(1), None).expect("room");
    writer.push(vec![1].into()).await.expect("pushed");
    let written = writer.finish().await.expect("written");
    account.link("old", "key", written, Default::default(), Default::default()).await.expect("linked");
    for gateway in [&gateway, &Gateway::open(Arc::clone(&device), Options::default()).await.expect("opened")]
    {
        let account = gateway.account(FIRST_ACCOUNT);
        let old = account.version("old", "key", Some(VersionId::Null)).expect("kept");
        assert_eq!((old.etag.as_str(), old.modified.0, old.bytes()), ("0123", 2000, 1));
        assert_ne!(account.object("old", "key").expect("there").etag, "0123");
    }
}

#[tokio::test]
async fn a_vault_in_which_no_old_version_is_kept_has_no_row_of_their_kind() {
    let device = Arc::new(MemoryDevice::new(BLOCK, BLOCKS, 4));
    device.edit_rows(|rows| rows.extend(rows_without_versions()));
    let gateway = Gateway::open(Arc::clone(&device), Options::default()).await.expect("opened");
    let account = gateway.account(FIRST_ACCOUNT);
    account.update_object("old", "key", false, |_| Ok(())).await.expect("written anew");
    let keys = |rows: Vec<(Vec<u8>, Vec<u8>)>| -> Vec<_> { rows.into_iter().map(|(key, _)| key).collect() };
    assert_eq!(keys(device.load_rows().await.expect("rows")), keys(rows_without_versions()));
    account.set_versioning("old", Versioning::Enabled).await.expect("set");
    account.delete("old", vec![("key".into(), Default::default())]).await.expect("deleted");
    let kinds: Vec<u8> = keys(device.load_rows().await.expect("rows")).iter().map(|key| key[0]).collect();
    assert_eq!(kinds, b"0288");
}
