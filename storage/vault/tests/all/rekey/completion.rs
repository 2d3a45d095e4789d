//! The end of a key change: the new key opens everything that is left, and the old key opens nothing.

use super::openable_objects::opened_by;
use super::owner::{Owner, check, compare, new_key, old_key, touch, wait};
use crate::support::effect_log::{EffectLog, LoggingStore};
use crate::support::rng::TestRng;
use crate::support::{every_scheme, over_ring};
use ameles_core::schemes::ring::RingParameters;
use ameles_store::Blobs;
use ameles_vault::{Pace, Setup, Vault, VaultError, find_orphans};
use std::collections::BTreeSet;
use std::time::Duration;

/// The contents of the blocks when a change has ended.
pub const SECRET: u8 = 40;

/// Checks that the change is complete: in the store, on the disk, and for a restore from the store alone.
pub async fn assert_complete(owner: &Owner) {
    assert_eq!(opened_by(owner, &old_key(), &new_key()).await, [""; 0], "the old key opens these");
    let objects = owner.store.list("").await.unwrap().len() + owner.store.bucket_versions().len();
    let opened = opened_by(owner, &new_key(), &new_key()).await;
    assert_eq!(opened.len(), objects, "the new key opens everything: {opened:?}");
    let refusal = owner.open(old_key(), async |_| {}).await.unwrap_err();
    assert!(matches!(refusal, VaultError::WrongKey), "{refusal}");
    let ((), receipt) = owner
        .open(new_key(), async |vault| {
            assert_eq!(vault.status().key_change, None);
            compare(vault, SECRET).await;
            check(vault).await;
        })
        .await
        .unwrap();
    assert_eq!(owner.count_orphans().await, 0);
    let refusal = owner.restore(old_key(), None).await.err();
    assert!(matches!(refusal, Some(VaultError::WrongKey)), "{refusal:?}");
    let restored = owner.restore(new_key(), Some(receipt)).await.unwrap();
    restored.open(new_key(), async |vault| compare(vault, SECRET).await).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_removal_of_orphans_after_a_change_leaves_what_a_restore_needs() {
    let ring = RingParameters::for_capacity(512, 32, 128, 8);
    let owner = Owner::of(over_ring(ring, 32), SECRET).await;
    // The checkpoint in the store names payloads that earlier ones have sent.
    for block in 0..4 {
        let touched = owner.open(old_key(), async |vault| touch(vault, SECRET, block).await).await;
        touched.unwrap().0.unwrap();
    }
    owner.change_key().await.unwrap();
    let disk = owner.disk.mount().unwrap();
    let found = find_orphans(&disk, &owner.store, &new_key()).await.unwrap();
    found.remove(&owner.store, &new_key()).await.unwrap();
    drop(disk);
    owner.disk.unplug();
    let restored = owner.restore(new_key(), None).await.unwrap();
    restored.open(new_key(), async |vault| compare(vault, SECRET).await).await.unwrap();
}

/// The sealed values on a disk, in all its tables, and the payloads in the slots of its stash.
pub fn sealed_on(owner: &Owner) -> BTreeSet<Vec<u8>> {
    use redb::{ReadableDatabase, ReadableTable, TableDefinition, TableHandle};
    let database = owner.disk.database().unwrap();
    let reading = database.begin_read().unwrap();
    let mut values = BTreeSet::new();
    let names: Vec<String> = reading.list_tables().unwrap().map(|table| table.name().to_owned()).collect();
    for name in &names {
        match name.as_str() {
            "meta" => {
                let table = reading.open_table(TableDefinition::<&str, &[u8]>::new(name)).unwrap();
                for entry in table.iter().unwrap() {
                    let (key, value) = entry.unwrap();
                    if ["vault", "claims", "claim"].contains(&key.value()) {
                        values.insert(value.value().to_vec());
                    }
                }
            }
            "rows" => {
                let table = reading.open_table(TableDefinition::<&[u8], &[u8]>::new(name)).unwrap();
                for entry in table.iter().unwrap() {
                    let (key, value) = entry.unwrap();
                    values.extend([key.value().to_vec(), value.value().to_vec()]);
                }
            }
            "changed-rows" => {
                let table = reading.open_table(TableDefinition::<(u64, &[u8]), ()>::new(name)).unwrap();
                values.extend(table.iter().unwrap().map(|entry| entry.unwrap().0.value().1.to_vec()));
            }
            "long-notes" => {
                let table = reading.open_table(TableDefinition::<(&str, u32), &[u8]>::new(name)).unwrap();
                for entry in table.iter().unwrap() {
                    let (key, value) = entry.unwrap();
                    // The receipts are not sealed.
                    if key.value().0 != "shipped" {
                        values.insert(value.value().to_vec());
                    }
                }
            }
            _ => {
                let table = reading.open_table(TableDefinition::<(u64, u32), &[u8]>::new(name)).unwrap();
                values.extend(table.iter().unwrap().map(|entry| entry.unwrap().1.value().to_vec()));
            }
        }
    }
    drop(reading);
    drop(database);
    owner.disk.unplug();
    let places = owner.disk.slot_file();
    let block = owner.header.parameters.scheme.block_bytes() as usize;
    values.extend(
        places.chunks(block).filter(|payload| payload.iter().any(|byte| *byte != 0)).map(<[u8]>::to_vec),
    );
    values
}

/// Checks that nothing on the trusted disk is still sealed as it was with the old key.
pub fn assert_nothing_is_left_of(before: &BTreeSet<Vec<u8>>, owner: &Owner) {
    let now = sealed_on(owner);
    let left: Vec<_> = now.intersection(before).collect();
    assert!(left.is_empty(), "the trusted disk holds what was sealed with the old key: {left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_vault_changes_its_key_while_it_is_served_and_the_old_key_opens_nothing_that_is_left() {
    for owner in Owner::of_each(every_scheme(), SECRET).await {
        let name = owner.header.parameters.scheme.name();
        let before = sealed_on(&owner);
        assert!(before.len() > 4, "{name}");
        owner.change_key().await.unwrap();
        let refusal = owner.open(old_key(), async |_| {}).await.unwrap_err();
        assert!(matches!(refusal, VaultError::WrongKey), "{name}: {refusal}");
        // Its requests alternate with those of the callers.
        let store = LoggingStore::over(owner.store.clone(), EffectLog::default(), TestRng::of(5));
        owner
            .open_over(store, new_key(), async |vault| {
                assert!(vault.status().key_change.is_some(), "{name}");
                let mut asked = 0;
                while vault.status().key_change.is_some() {
                    touch(vault, SECRET, asked % vault.capacity()).await.unwrap();
                    asked += 1;
                    assert!(asked < 10_000, "{name}: the change never ends");
                }
                assert!(asked > 3, "{name}: {asked}");
                compare(vault, SECRET).await;
                check(vault).await;
            })
            .await
            .unwrap();
        assert_nothing_is_left_of(&before, &owner);
        assert_complete(&owner).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_vault_ends_the_change_by_itself() {
    for owner in Owner::of_each(every_scheme(), SECRET).await {
        let before = sealed_on(&owner);
        owner.change_key().await.unwrap();
        owner.open(new_key(), async |vault| wait(vault).await).await.unwrap();
        assert_nothing_is_left_of(&before, &owner);
        assert_complete(&owner).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_paced_vault_ends_the_change_with_a_step_in_each_turn() {
    for owner in Owner::of_each(every_scheme(), SECRET).await {
        owner.change_key().await.unwrap();
        let setup = owner.setup_over(owner.store.clone(), new_key());
        let pace = Some(Pace::every(Duration::from_millis(80)).unwrap());
        owner.open_as(Setup { pace, ..setup }, async |vault| wait(vault).await).await.unwrap();
        assert_complete(&owner).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_vault_that_was_killed_keeps_what_its_journal_holds() {
    for owner in Owner::of_each(every_scheme(), SECRET).await {
        let (vault, running) = Vault::start(owner.setup_over(owner.store.clone(), old_key())).await.unwrap();
        let working = async {
            for block in 0..7 {
                vault.write(ameles_core::types::BlockId(block), vec![7; vault.block_bytes()]).await.unwrap();
            }
        };
        futures::future::select(std::pin::pin!(working), std::pin::pin!(running)).await;
        owner.disk.unplug();
        owner.change_key().await.unwrap();
        owner
            .open(new_key(), async |vault| {
                // The objects of both keys are intact.
                check(vault).await;
                for block in 0..7 {
                    let read = vault.read(ameles_core::types::BlockId(block)).await.unwrap();
                    assert_eq!(read, vec![7; vault.block_bytes()]);
                    touch(vault, SECRET, block).await.unwrap();
                }
                wait(vault).await;
            })
            .await
            .unwrap();
        assert_complete(&owner).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_key_of_a_vault_that_was_never_opened_can_be_changed() {
    for parameters in every_scheme() {
        let header = crate::support::header(parameters, 1);
        let store = ameles_store::VersionedMemory::new(header.parameters.layout());
        let owner = Owner::at(&header, store, Default::default(), 1);
        let mut setup = owner.setup_over(owner.store.clone(), old_key());
        Vault::create(&mut setup, &header).await.unwrap();
        drop(setup);
        owner.change_key().await.unwrap();
        let filled = owner.open(new_key(), async |vault| {
            super::owner::fill(vault, SECRET).await;
            wait(vault).await;
        });
        filled.await.unwrap();
        assert_complete(&owner).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_can_be_changed_again_when_the_change_before_is_complete_and_not_sooner() {
    let owner = Owner::of(every_scheme().remove(2), SECRET).await;
    owner.change_key().await.unwrap();
    let third = || ameles_seal::master_key::MasterKey::take(&mut [11; 32]);
    let change = async || {
        let setup = owner.setup_over(owner.store.clone(), new_key());
        let new = ameles_vault::NewKey { master: third(), passphrase: None };
        let changed = ameles_vault::change_key(setup, new).await;
        owner.disk.unplug();
        changed
    };
    let refusal = change().await.unwrap_err();
    assert!(matches!(refusal, VaultError::KeyChanging), "{refusal}");
    owner.open(new_key(), async |vault| wait(vault).await).await.unwrap();
    change().await.unwrap();
    owner
        .open(third(), async |vault| {
            wait(vault).await;
            compare(vault, SECRET).await;
        })
        .await
        .unwrap();
    for key in [old_key(), new_key()] {
        assert_eq!(opened_by(&owner, &key, &third()).await, [""; 0]);
    }
}
