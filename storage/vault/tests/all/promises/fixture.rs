//! A small vault for tests: a trusted disk, a store that keeps every version, and the expected contents of the blocks.

use crate::support::fragile_disk::FragileDisk;
use crate::support::{frequent_evictions, header, setup, work_and_close, work_and_kill};
use ameles_core::types::BlockId;
use ameles_store::{Snapshot, VersionedMemory};
use ameles_vault::AnyStore;
use ameles_vault::{Call, Receipt, Report, Setup, TrustedDisk, Vault, VaultError, VaultHeader, VaultStore};
use std::cell::Cell;

/// The vault's blocks.
pub const CAPACITY: u64 = 64;
/// The bytes of each.
pub const BLOCK_BYTES: u32 = 32;

/// A small vault, its disk and its store.
pub struct VaultFixture {
    pub header: VaultHeader,
    pub store: VersionedMemory,
    pub disk: FragileDisk,
    seed: Cell<u64>,
}

/// A block filled with one byte.
pub fn block(fill: u8) -> Vec<u8> {
    vec![fill; BLOCK_BYTES as usize]
}

impl VaultFixture {
    /// A new vault with empty blocks.
    pub async fn new() -> Self {
        Self::with(header(frequent_evictions(), 1)).await
    }

    /// A new vault with this header.
    pub async fn with(header: VaultHeader) -> Self {
        let store = VersionedMemory::new(header.parameters.layout());
        let fixture = VaultFixture { header, store, disk: FragileDisk::default(), seed: Cell::new(1) };
        let disk = fixture.disk.mount().unwrap();
        Vault::create(&mut fixture.setup(&disk), &fixture.header).await.unwrap();
        fixture
    }

    /// A copy of the vault with a store in this state, and a copy of the disk.
    pub fn copy(&self, state: &Snapshot) -> VaultFixture {
        let store = VersionedMemory::new(self.header.parameters.layout());
        store.restore(state);
        VaultFixture {
            header: self.header.clone(),
            store,
            disk: self.disk.image(),
            seed: Cell::new(self.seed.get()),
        }
    }

    /// This vault at the same store, with a copy of the trusted disk.
    pub fn with_copied_disk(&self) -> VaultFixture {
        let (header, store) = (self.header.clone(), self.store.clone());
        VaultFixture { header, store, disk: self.disk.image(), seed: Cell::new(self.seed.get() + 1000) }
    }

    /// Another machine with an empty disk at the same store.
    pub fn with_empty_disk(&self) -> VaultFixture {
        let (header, store) = (self.header.clone(), self.store.clone());
        VaultFixture { header, store, disk: FragileDisk::default(), seed: Cell::new(self.seed.get() + 2000) }
    }

    /// A copy of the machine: the same disk, and the same random numbers from now on.
    pub fn copied_machine(&self) -> VaultFixture {
        let (header, store) = (self.header.clone(), self.store.clone());
        VaultFixture { header, store, disk: self.disk.image(), seed: Cell::new(self.seed.get()) }
    }

    /// A setup with its own randomness.
    pub fn setup(&self, disk: &TrustedDisk) -> Setup<AnyStore> {
        self.setup_over(disk, self.store.clone())
    }

    /// Returns the setup with another store.
    pub fn setup_over(&self, disk: &TrustedDisk, store: impl VaultStore) -> Setup<AnyStore> {
        self.seed.set(self.seed.get() + 1);
        setup(disk, store, self.seed.get())
    }

    /// Opens the vault, works with it, and closes it.
    pub async fn open<T>(&self, work: impl AsyncFnOnce(&Vault) -> T) -> Result<(T, Receipt), VaultError> {
        let opened = Vault::start(self.setup(&self.disk.mount()?)).await?;
        work_and_close(opened, &self.disk, work).await
    }

    /// Opens the vault, works with it, and kills it when the work is done. Returns the error that stopped it, if any.
    pub async fn open_and_crash<T>(
        &self,
        work: impl AsyncFnOnce(&Vault) -> T,
    ) -> Result<(T, Option<VaultError>), VaultError> {
        let (vault, running) = Vault::start(self.setup(&self.disk.mount()?)).await?;
        let done = work_and_kill(running, work(&vault)).await;
        let failure = vault.failure();
        self.disk.unplug();
        Ok((done, failure))
    }
}

/// Writes all blocks, block n filled with `fill` + n.
pub async fn write_all(vault: &Vault, fill: u8) {
    let calls = (0..CAPACITY).map(|at| Call::Write(BlockId(at), block(fill.wrapping_add(at as u8)).into()));
    vault.access(calls.collect()).await.unwrap();
}

/// Reads all blocks as [`write_all`] has left them, up to the first that cannot be read.
pub async fn read_all(vault: &Vault, fill: u8) -> Result<(), VaultError> {
    for at in 0..CAPACITY {
        let read = vault.read(BlockId(at)).await?;
        assert_eq!(read, block(fill.wrapping_add(at as u8)), "block {at} is wrong");
    }
    Ok(())
}

/// Runs a full check of the vault.
pub async fn check(vault: &Vault) -> Result<Report, VaultError> {
    vault.check(Box::new(|_, _| {})).await
}
