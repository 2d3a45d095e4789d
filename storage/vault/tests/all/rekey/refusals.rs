//! Refusals of what comes from before a key change, and restores in the middle of a change.

use super::owner::{Owner, check, compare, new_key, old_key, touch, wait};
use crate::support::every_scheme;
use ameles_core::types::BlockId;
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::{VaultError, VaultHeader};

const SECRET: u8 = 90;

async fn header_in_store(owner: &Owner) -> Vec<u8> {
    owner.store.get("vault", usize::MAX).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_old_header_that_is_brought_back_is_refused() {
    for owner in Owner::of_each(every_scheme(), SECRET).await {
        let mut headers = vec![header_in_store(&owner).await];
        owner.change_key().await.unwrap();
        headers.push(header_in_store(&owner).await);
        let refuses = async |header: &[u8]| {
            let now = header_in_store(&owner).await;
            owner.store.put("vault", header).await.unwrap();
            let refusal = owner.open(new_key(), async |_| {}).await.unwrap_err();
            assert!(refusal.is_tampering() && refusal.to_string().contains("brought back"), "{refusal}");
            owner.store.put("vault", &now).await.unwrap();
        };
        refuses(&headers[0]).await;
        owner.open(new_key(), async |vault| wait(vault).await).await.unwrap();
        for header in &headers {
            refuses(header).await;
        }
        // Without a trusted disk, the new key does not open the oldest header.
        owner.store.put("vault", &headers[0]).await.unwrap();
        let refusal = owner.restore(new_key(), None).await.err();
        assert!(matches!(refusal, Some(VaultError::WrongKey)), "{refusal:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_in_the_midst_of_a_change_is_restored_with_the_new_key_alone() {
    for owner in Owner::of_each(every_scheme(), SECRET).await {
        owner.change_key().await.unwrap();
        // Nothing is resealed yet; then something is, but no checkpoint was uploaded; then one was.
        for step in 0..3 {
            let store = VersionedMemory::new(owner.header.parameters.layout());
            store.restore(&owner.store.snapshot());
            let copy = Owner::at(&owner.header, store, owner.disk.image(), 70);
            if step > 0 {
                let dying = copy.open_and_kill(async |vault| {
                    touch(vault, SECRET, 3).await.unwrap();
                    if step > 1 {
                        vault.checkpoint().await.unwrap();
                    }
                });
                dying.await;
            }
            let refusal = copy.restore(old_key(), None).await.err();
            assert!(matches!(refusal, Some(VaultError::WrongKey)), "{refusal:?}");
            let restored = copy.restore(new_key(), None).await.unwrap();
            let ended = restored.open(new_key(), async |vault| {
                compare(vault, SECRET).await;
                wait(vault).await;
                check(vault).await;
            });
            ended.await.unwrap();
            let opened = super::openable_objects::opened_by(&restored, &old_key(), &new_key()).await;
            assert_eq!(opened, [""; 0], "after step {step}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_the_trusted_disk_from_before_the_change_is_refused() {
    let owner = Owner::of(every_scheme().remove(2), SECRET).await;
    let copy = Owner::at(&owner.header, owner.store.clone(), owner.disk.image(), 70);
    owner.change_key().await.unwrap();
    let refusal = copy.open(old_key(), async |_| {}).await.unwrap_err();
    assert!(refusal.to_string().contains("older copy"), "{refusal}");
    owner.open(new_key(), async |vault| wait(vault).await).await.unwrap();
    let refusal = copy.open(old_key(), async |_| {}).await.unwrap_err();
    assert!(refusal.to_string().contains("older copy"), "{refusal}");
    let refusal = copy.change_key().await.unwrap_err();
    assert!(refusal.to_string().contains("older copy"), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_serves_from_a_copy_is_displaced_by_a_change() {
    let owner = Owner::of(every_scheme().remove(2), SECRET).await;
    let serving = owner.open(old_key(), async |vault| {
        touch(vault, SECRET, 0).await.unwrap();
        let copy = Owner::at(&owner.header, owner.store.clone(), owner.disk.image(), 70);
        copy.change_key().await.unwrap();
        let mut block = 0;
        let refusal = loop {
            match touch(vault, SECRET, block % vault.capacity()).await {
                Err(refusal) => break refusal,
                Ok(()) => block += 1,
            }
            assert!(block < 10_000);
        };
        assert!(matches!(refusal, VaultError::Displaced { .. }), "{refusal}");
    });
    assert!(serving.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_change_to_the_same_key_or_of_another_vaults_key_is_refused() {
    let owner = Owner::of(every_scheme().remove(2), SECRET).await;
    let change = async |from, to| {
        let new = ameles_vault::NewKey { master: to, passphrase: None };
        let refusal = ameles_vault::change_key(owner.setup_over(owner.store.clone(), from), new).await;
        owner.disk.unplug();
        refusal.unwrap_err()
    };
    let same = change(old_key(), old_key()).await;
    assert!(matches!(same, VaultError::Parameters(_)), "{same}");
    let third = ameles_seal::master_key::MasterKey::take(&mut [11; 32]);
    let wrong = change(third, new_key()).await;
    assert!(matches!(wrong, VaultError::WrongKey), "{wrong}");
    owner.open(old_key(), async |vault| assert!(vault.read(BlockId(0)).await.is_ok())).await.unwrap();
    assert!(VaultHeader::decode(&header_in_store(&owner).await, &old_key()).is_ok());
}
