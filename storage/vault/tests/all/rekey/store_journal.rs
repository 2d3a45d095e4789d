//! A key change of a vault whose journal is in the store. The ends of journals are resealed. Records that a crash has
//! left only on the disk still get to the store. A restore in the middle of the change has the objects of both keys.

use super::completion::{SECRET, assert_complete, assert_nothing_is_left_of, sealed_on};
use super::openable_objects::opened_by;
use super::owner::{Owner, check, compare, contents, new_key, old_key, touch, wait};
use crate::support::{every_scheme, parameters};
use ameles_core::types::BlockId;
use ameles_store::{Blobs, Link, LinkSpeed};
use ameles_vault::{JournalPlace, RowChange, Vault, VaultParameters};
use futures::future::select;
use std::pin::pin;
use std::time::Duration;

/// Another secret, for a vault that was overwritten.
const LATER: u8 = 91;

async fn owners() -> Vec<Owner> {
    let kept = |parameters| VaultParameters { journal: JournalPlace::Store, ..parameters };
    Owner::of_each(every_scheme().into_iter().map(kept), SECRET).await
}

/// Overwrites all of the vault with the old key, and is killed: no uploaded checkpoint holds the last writes.
async fn write_over_and_die(owner: &Owner) {
    let (vault, running) = Vault::start(owner.setup_over(owner.store.clone(), old_key())).await.unwrap();
    let working = async {
        vault.commit_rows(vec![RowChange::put("name", vec![LATER])]).await.unwrap();
        for block in 0..vault.capacity() {
            vault.write(BlockId(block), contents(&vault, LATER, block)).await.unwrap();
        }
    };
    select(pin!(working), pin!(running)).await;
    assert!(vault.failure().is_none(), "{:?}", vault.failure());
    owner.disk.unplug();
}

/// Begins a change of rows with the old key, and kills the machine when the trusted disk has it and the store does not.
async fn change_rows_and_die(owner: &Owner) {
    let (vault, running) = Vault::start(owner.setup_over(owner.store.clone(), old_key())).await.unwrap();
    let working = async {
        let is_there = |rows: Vec<ameles_vault::Row>| rows.iter().any(|row| row.value[..] == [LATER]);
        let changing = vault.commit_rows(vec![RowChange::put("name", vec![LATER])]);
        let watching = async {
            while !is_there(vault.load_rows().await.unwrap()) {
                tokio::task::yield_now().await;
            }
        };
        select(pin!(watching), pin!(changing)).await;
    };
    select(pin!(working), pin!(running)).await;
    owner.disk.unplug();
}

/// The journal objects that a key opens.
async fn objects_opened_by(owner: &Owner, key: ameles_seal::master_key::MasterKey) -> Vec<String> {
    let mut opened = opened_by(owner, &key, &new_key()).await;
    opened.retain(|name| name.starts_with("log/"));
    opened
}

#[tokio::test(start_paused = true)]
async fn no_object_of_a_journal_opens_with_the_old_key_when_the_change_is_complete() {
    for owner in owners().await {
        owner.open(old_key(), async |vault| touch(vault, SECRET, 1).await.unwrap()).await.unwrap();
        write_over_and_die(&owner).await;
        let before = sealed_on(&owner);
        owner.change_key().await.unwrap();
        // The first opening is killed in the middle of the sweep.
        owner.open_and_kill(async |vault| touch(vault, LATER, 5).await.unwrap()).await;
        owner
            .open(new_key(), async |vault| {
                check(vault).await;
                compare_later(vault).await;
                wait(vault).await;
                check(vault).await;
                compare_later(vault).await;
                for block in 0..vault.capacity() {
                    touch(vault, SECRET, block).await.unwrap();
                }
                vault.commit_rows(vec![RowChange::put("name", vec![SECRET])]).await.unwrap();
            })
            .await
            .unwrap();
        let names: Vec<String> =
            owner.store.list("log/").await.unwrap().into_iter().map(|blob| blob.name).collect();
        assert!(names.len() >= 5, "the ends of the journals stay: {names:?}");
        assert_eq!(objects_opened_by(&owner, old_key()).await, [""; 0]);
        let mut opened = objects_opened_by(&owner, new_key()).await;
        opened.sort_unstable();
        let mut names = names;
        names.sort_unstable();
        assert_eq!(opened, names);
        assert_nothing_is_left_of(&before, &owner);
        assert_complete(&owner).await;
    }
}

async fn compare_later(vault: &Vault) {
    compare(vault, LATER).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_rows_that_a_crash_has_left_on_the_disk_alone_outlives_the_change_of_the_key() {
    for owner in owners().await {
        change_rows_and_die(&owner).await;
        owner.change_key().await.unwrap();
        owner.open_and_kill(async |vault| touch(vault, SECRET, 0).await.unwrap()).await;
        // The machine is lost: only what the store has counts.
        let restored = owner.restore(new_key(), None).await.unwrap();
        let seen = restored.open(new_key(), async |vault| vault.load_rows().await.unwrap()).await.unwrap().0;
        assert_eq!(seen.iter().map(|row| row.value[..].to_vec()).collect::<Vec<_>>(), [vec![LATER]]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_rows_does_not_wait_for_the_sweep_of_an_idle_vault() {
    let many_buckets = parameters(1024, 32, 4, 64);
    let owner = Owner::of(VaultParameters { journal: JournalPlace::Store, ..many_buckets }, SECRET).await;
    owner.change_key().await.unwrap();
    let changing = async |vault: &Vault| {
        vault.commit_rows(vec![RowChange::put("name", vec![LATER])]).await.unwrap();
        let sweep = vault.status().key_change.expect("the sweep has not ended");
        assert!(sweep.passed < sweep.of, "the change waited for the whole sweep: {sweep:?}");
    };
    // Each step of the sweep takes a while.
    let speed = LinkSpeed::unlimited(Duration::from_millis(10));
    owner.open_over(Link::new(owner.store.clone(), speed), new_key(), changing).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_lost_while_the_key_changes_loses_nothing_that_was_acknowledged() {
    for owner in owners().await {
        write_over_and_die(&owner).await;
        owner.change_key().await.unwrap();
        // Before anything is served with the new key, and after.
        let early = Owner::at(&owner.header, copy_of(&owner), Default::default(), 700);
        let restored = early.restore(new_key(), None).await.unwrap();
        restored.open(new_key(), async |vault| compare_later(vault).await).await.unwrap();
        owner.open_and_kill(async |vault| touch(vault, LATER, 3).await.unwrap()).await;
        let restored = owner.restore(new_key(), None).await.unwrap();
        restored
            .open(new_key(), async |vault| {
                compare_later(vault).await;
                wait(vault).await;
                check(vault).await;
            })
            .await
            .unwrap();
        assert_eq!(objects_opened_by(&restored, old_key()).await, [""; 0]);
    }
}

fn copy_of(owner: &Owner) -> ameles_store::VersionedMemory {
    let store = ameles_store::VersionedMemory::new(owner.header.parameters.layout());
    store.restore(&owner.store.snapshot());
    store
}
