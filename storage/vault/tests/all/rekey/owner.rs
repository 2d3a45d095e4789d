//! The owner of a small vault, with both keys and contents that never change.

use crate::support::fragile_disk::FragileDisk;
use crate::support::{header, master, restore_options, setup, work_and_close};
use ameles_core::types::BlockId;
use ameles_seal::master_key::MasterKey;
use ameles_store::VersionedMemory;
use ameles_vault::AnyStore;
use ameles_vault::{
    Call, NewKey, Receipt, Row, RowChange, Setup, Vault, VaultError, VaultHeader, VaultParameters,
    VaultStore, change_key, find_orphans, restore,
};
use futures::future::{Either, select};
use std::cell::Cell;
use std::time::Duration;

/// The key before the change.
pub fn old_key() -> MasterKey {
    master()
}

/// The key after the change.
pub fn new_key() -> MasterKey {
    MasterKey::take(&mut [9; 32])
}

/// An owner of a small vault.
pub struct Owner {
    pub header: VaultHeader,
    pub store: VersionedMemory,
    pub disk: FragileDisk,
    seed: Cell<u64>,
}

/// The contents of a block in a vault with this secret.
pub fn contents(vault: &Vault, secret: u8, block: u64) -> Vec<u8> {
    vec![secret.wrapping_add(block as u8); vault.block_bytes()]
}

impl Owner {
    /// The owner of a vault that was served with the old key, and closed.
    pub async fn of(parameters: VaultParameters, secret: u8) -> Owner {
        let header = header(parameters, 1);
        let store = VersionedMemory::new(header.parameters.layout());
        let owner = Owner::at(&header, store, FragileDisk::default(), 1);
        let mut setup = owner.setup_over(owner.store.clone(), old_key());
        Vault::create(&mut setup, &owner.header).await.unwrap();
        drop(setup);
        owner.open(old_key(), async |vault| fill(vault, secret).await).await.unwrap();
        owner
    }

    /// The owners of filled vaults, one with each of these parameters.
    pub async fn of_each(each: impl IntoIterator<Item = VaultParameters>, secret: u8) -> Vec<Owner> {
        let mut owners = Vec::new();
        for parameters in each {
            owners.push(Owner::of(parameters, secret).await);
        }
        owners
    }

    /// An owner with this disk and this store.
    pub fn at(header: &VaultHeader, store: VersionedMemory, disk: FragileDisk, seed: u64) -> Owner {
        Owner { header: header.clone(), store, disk, seed: Cell::new(seed) }
    }

    pub fn setup_over(&self, store: impl VaultStore, key: MasterKey) -> Setup<AnyStore> {
        self.seed.set(self.seed.get() + 1);
        Setup { master: key, ..setup(&self.disk.mount().unwrap(), store, self.seed.get()) }
    }

    /// Changes the key.
    pub async fn change_key(&self) -> Result<(), VaultError> {
        self.change_key_over(self.store.clone()).await
    }

    /// Changes the key of the vault over this store.
    pub async fn change_key_over(&self, store: impl VaultStore) -> Result<(), VaultError> {
        let new = NewKey { master: new_key(), passphrase: None };
        let changed = change_key(self.setup_over(store, old_key()), new).await;
        self.disk.unplug();
        changed
    }

    /// Opens the vault with this key, works with it, and closes it.
    pub async fn open<T>(
        &self,
        key: MasterKey,
        work: impl AsyncFnOnce(&Vault) -> T,
    ) -> Result<(T, Receipt), VaultError> {
        self.open_over(self.store.clone(), key, work).await
    }

    /// Does the same as [`open`](Self::open) with another store.
    pub async fn open_over<T>(
        &self,
        store: impl VaultStore,
        key: MasterKey,
        work: impl AsyncFnOnce(&Vault) -> T,
    ) -> Result<(T, Receipt), VaultError> {
        self.open_as(self.setup_over(store, key), work).await
    }

    /// Opens the vault with this setup, works with it, and closes it.
    pub async fn open_as<T>(
        &self,
        setup: Setup<AnyStore>,
        work: impl AsyncFnOnce(&Vault) -> T,
    ) -> Result<(T, Receipt), VaultError> {
        let opened = Vault::start(setup).await.inspect_err(|_| self.disk.unplug())?;
        work_and_close(opened, &self.disk, work).await
    }

    /// Opens the vault with the new key, works with it, and is killed.
    pub async fn open_and_kill(&self, work: impl AsyncFnOnce(&Vault)) {
        let (vault, running) = Vault::start(self.setup_over(self.store.clone(), new_key())).await.unwrap();
        let (working, running) = (std::pin::pin!(work(&vault)), std::pin::pin!(running));
        let is_done = matches!(select(working, running).await, Either::Left(_));
        assert!(is_done, "{:?}", vault.failure());
        self.disk.unplug();
    }

    /// Restores the vault with this key onto another disk.
    pub async fn restore(&self, key: MasterKey, expect: Option<Receipt>) -> Result<Owner, VaultError> {
        let owner =
            Owner::at(&self.header, self.store.clone(), FragileDisk::default(), self.seed.get() + 500);
        let options = restore_options(&self.header, expect);
        restore(owner.setup_over(self.store.clone(), key), options).await?;
        owner.disk.unplug();
        Ok(owner)
    }

    /// The objects in the store that nothing needs.
    pub async fn count_orphans(&self) -> u64 {
        let disk = self.disk.mount().unwrap();
        let found = find_orphans(&disk, &self.store, &new_key()).await.unwrap();
        drop(disk);
        self.disk.unplug();
        assert_eq!((&found.newer, &found.foreign), (&Vec::new(), &Vec::new()));
        found.dead().objects
    }
}

/// Writes all blocks, twice, and some rows.
pub async fn fill(vault: &Vault, secret: u8) {
    for _ in 0..2 {
        for block in 0..vault.capacity() {
            vault.write(BlockId(block), contents(vault, secret, block)).await.unwrap();
        }
    }
    vault.commit_rows(vec![RowChange::put("name", vec![secret])]).await.unwrap();
}

/// Reads everything, and compares it.
pub async fn compare(vault: &Vault, secret: u8) {
    compare_blocks(vault, |_| vec![secret]).await;
    assert_eq!(vault.load_rows().await.unwrap(), [Row::new("name", vec![secret])]);
}

/// Reads all blocks, each of which must hold one of its allowed secrets. Returns those that they hold.
pub async fn compare_blocks(vault: &Vault, allowed: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    let mut found = Vec::new();
    for block in 0..vault.capacity() {
        let read = vault.read(BlockId(block)).await.unwrap();
        let allowed = allowed(block);
        let held = allowed.iter().find(|secret| read == contents(vault, **secret, block));
        found.push(*held.unwrap_or_else(|| panic!("block {block} is {read:?}, and may hold {allowed:?}")));
    }
    found
}

/// Writes a block with its present contents.
pub async fn touch(vault: &Vault, secret: u8, block: u64) -> Result<(), VaultError> {
    vault.access(vec![Call::Write(BlockId(block), contents(vault, secret, block).into())]).await.map(drop)
}

/// Waits until the change is complete, without requests.
pub async fn wait(vault: &Vault) {
    while vault.status().key_change.is_some() {
        assert!(vault.failure().is_none(), "{:?}", vault.failure());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Checks everything in the store.
pub async fn check(vault: &Vault) {
    let report = vault.check(Box::new(|_, _| {})).await.unwrap();
    assert_eq!(report.faults, [""; 0]);
}
