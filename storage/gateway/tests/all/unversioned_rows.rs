//! The rows of a container that never had versions, before and after it has them.

use ameles_gateway::catalogue::{VersionId, Versioning};
use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Account, Device, FIRST_ACCOUNT, Gateway, Options};
use std::sync::Arc;

async fn opened(device: &Arc<MemoryDevice>) -> Gateway {
    Gateway::open(Arc::clone(device), Options::default()).await.expect("opened")
}

/// Puts an object of one byte.
async fn put(gateway: &Gateway, account: &Account, byte: u8) {
    let mut writer = gateway.writer(Some(1), None).expect("room");
    writer.push(vec![byte].into()).await.expect("pushed");
    let written = writer.finish().await.expect("written");
    account.link("old", "key", written, Default::default(), Default::default()).await.expect("linked");
}

/// A device with a container that never had versions, and an object in it.
async fn device() -> Arc<MemoryDevice> {
    let device = Arc::new(MemoryDevice::new(16, 20, 4));
    let gateway = opened(&device).await;
    let account = gateway.account(FIRST_ACCOUNT);
    account.create_container("old", Default::default()).await.expect("made");
    put(&gateway, &account, 1).await;
    device
}

#[tokio::test]
async fn an_object_from_before_there_were_versions_becomes_the_null_version() {
    let device = device().await;
    let gateway = opened(&device).await;
    let account = gateway.account(FIRST_ACCOUNT);
    assert_eq!(account.container("old").expect("there").settings.versioning, None);
    let before = account.object("old", "key").expect("there");
    account.set_versioning("old", Versioning::Enabled).await.expect("set");
    put(&gateway, &account, 2).await;
    for gateway in [&gateway, &opened(&device).await] {
        let account = gateway.account(FIRST_ACCOUNT);
        let old = account.version("old", "key", Some(VersionId::Null)).expect("kept");
        assert_eq!((&old.etag, old.modified, old.bytes()), (&before.etag, before.modified, 1));
        assert_ne!(account.object("old", "key").expect("there").etag, before.etag);
    }
}

#[tokio::test]
async fn a_vault_in_which_no_old_version_is_kept_has_no_row_of_their_kind() {
    let device = device().await;
    let kinds = async || -> Vec<u8> {
        device.load_rows().await.expect("rows").iter().map(|(key, _)| key[0]).collect()
    };
    // The rows of the format, the container, the bytes of the object and the object.
    assert_eq!(kinds().await, b"0234");
    let gateway = opened(&device).await;
    let account = gateway.account(FIRST_ACCOUNT);
    account.update_object("old", "key", false, |_| Ok(())).await.expect("written once more");
    assert_eq!(kinds().await, b"0234");
    account.set_versioning("old", Versioning::Enabled).await.expect("set");
    account.delete("old", vec![("key".into(), Default::default())]).await.expect("deleted");
    assert_eq!(kinds().await, b"02388");
}
