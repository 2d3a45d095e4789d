//! A vault on a disk that can be full, with the expected contents of its blocks.

use crate::support::fragile_disk::{Crash, FragileDisk};
use crate::support::rng::TestRng;
use crate::support::{header, parameters, setup, work_and_kill};
use ameles_core::tree::layout::Layout;
use ameles_core::types::BlockId;
use ameles_vault::{RowChange, TrustedDisk, Vault, VaultError, VaultHeader, VaultStore};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) const BLOCKS: u64 = 64;
const BLOCK_BYTES: usize = 32;
/// A time that is longer than the interval between two checks for space.
pub(super) const LATER: Duration = Duration::from_secs(10);

pub(super) fn vault_header() -> VaultHeader {
    header(parameters(BLOCKS, BLOCK_BYTES as u32, 4, 40), 1)
}

pub(super) fn block(fill: u8) -> Vec<u8> {
    vec![fill; BLOCK_BYTES]
}

/// A vault on a disk, with the expected bytes of its blocks.
pub(super) struct FullVault<S> {
    pub(super) header: VaultHeader,
    pub(super) disk: FragileDisk,
    pub(super) store: S,
    pub(super) known: BTreeMap<u64, u8>,
}

impl<S: VaultStore + Clone> FullVault<S> {
    pub(super) async fn new(header: VaultHeader, store: impl FnOnce(Layout) -> S) -> Self {
        let (disk, store) = (FragileDisk::default(), store(header.parameters.layout()));
        let mounted = disk.mount_with_reserve().unwrap();
        Vault::create(&mut setup(&mounted, store.clone(), 2), &header).await.unwrap();
        disk.unplug();
        FullVault { header, disk, store, known: BTreeMap::new() }
    }

    /// Opens the vault, works, and kills it.
    pub(super) async fn open<T>(&mut self, seed: u64, work: impl AsyncFnOnce(&mut OpenVault<'_>) -> T) -> T {
        let mounted: TrustedDisk = self.disk.mount_with_reserve().unwrap();
        let (vault, running) = Vault::start(setup(&mounted, self.store.clone(), seed)).await.unwrap();
        drop(mounted);
        let mut known = OpenVault { vault: &vault, known: &mut self.known };
        let done = work_and_kill(running, work(&mut known)).await;
        self.disk.unplug();
        self.disk.crash(Crash::Kill, &mut TestRng::of(seed));
        done
    }
}

/// An open vault with the known contents of its blocks.
pub(super) struct OpenVault<'a> {
    pub(super) vault: &'a Vault,
    known: &'a mut BTreeMap<u64, u8>,
}

impl OpenVault<'_> {
    pub(super) async fn write(&mut self, at: u64, fill: u8) -> Result<(), VaultError> {
        self.vault.write(BlockId(at), block(fill)).await?;
        self.known.insert(at, fill);
        Ok(())
    }

    pub(super) async fn read(&self, at: u64) -> Result<(), VaultError> {
        let read = self.vault.read(BlockId(at)).await?;
        assert_eq!(read, block(self.known.get(&at).copied().unwrap_or(0)), "block {at}");
        Ok(())
    }

    /// Writes every block, and a row.
    pub(super) async fn fill(&mut self) {
        for at in 0..BLOCKS {
            self.write(at, at as u8).await.unwrap();
        }
        self.put_row("early", 100).await.unwrap();
    }

    /// Writes until the disk is full, and remembers every acknowledged write.
    pub(super) async fn write_until_refused(&mut self) -> VaultError {
        for nth in 0..10_000 {
            if let Err(error) = self.write(nth % BLOCKS, nth as u8).await {
                return error;
            }
        }
        panic!("the disk never was full");
    }

    pub(super) async fn put_row(&self, key: &str, bytes: usize) -> Result<(), VaultError> {
        self.vault.commit_rows(vec![RowChange::put(key.to_owned(), vec![1; bytes])]).await
    }

    pub(super) async fn remove_row(&self, key: &str) -> Result<(), VaultError> {
        self.vault.commit_rows(vec![RowChange::remove(key.to_owned())]).await
    }
}
