//! The rows of a container that never had versions, before and after it has them.

use crate::vault::Vault;
use ameles_gateway::catalogue::{VersionId, Versioning};
use ameles_gateway::{Device, Options};

/// A vault with a container that never had versions, and an object in it.
async fn reopened_vault() -> Vault {
    let vault = Vault::new(16, 20, Options::default()).await;
    vault.put("key", &[1]).await.expect("put");
    vault.reopen().await
}

#[tokio::test]
async fn an_object_from_before_there_were_versions_becomes_the_null_version() {
    let vault = reopened_vault().await;
    let account = &vault.account;
    assert_eq!(account.container("container").expect("there").settings.versioning, None);
    let before = vault.object("key").expect("there");
    account.set_versioning("container", Versioning::Enabled).await.expect("set");
    vault.put("key", &[2]).await.expect("put");
    for vault in [&vault, &vault.reopen().await] {
        let old = vault.account.version("container", "key", Some(VersionId::Null)).expect("kept");
        assert_eq!((&old.etag, old.modified, old.bytes()), (&before.etag, before.modified, 1));
        assert_ne!(vault.object("key").expect("there").etag, before.etag);
    }
}

#[tokio::test]
async fn a_vault_in_which_no_old_version_is_kept_has_no_row_of_their_kind() {
    let vault = reopened_vault().await;
    let account = &vault.account;
    let kinds = async || -> Vec<u8> {
        vault.device.load_rows().await.expect("rows").iter().map(|(key, _)| key[0]).collect()
    };
    // The rows of the format, the container, the bytes of the object and the object.
    assert_eq!(kinds().await, b"0234");
    account.update_object("container", "key", false, |_| Ok(())).await.expect("written once more");
    assert_eq!(kinds().await, b"0234");
    account.set_versioning("container", Versioning::Enabled).await.expect("set");
    vault.delete("key").await.expect("deleted");
    assert_eq!(kinds().await, b"02388");
}
