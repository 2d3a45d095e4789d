//! Finding and opening a vault that is there.

use super::{Home, Opening, Store};
use crate::config::VaultConfig;
use crate::vault::parameters::refuse_contradictions;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_store::{MeterReader, OpenError};
use ameles_vault::{Entropy, Host, Setup, TrustedDisk, Vault, VaultError, raw_header, read_header};
use anyhow::Result;

impl Home<'_> {
    /// The parts that make or open a vault.
    ///
    /// # Errors
    /// There are no threads to be had.
    pub fn setup(&self, disk: TrustedDisk, store: Store, master: MasterKey) -> Result<Setup<Store>> {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        let workers = SealThreads::threads(threads)?;
        let host = Host::system(&self.database());
        Ok(Setup { disk, store, master, entropy: Entropy::system(), workers, pace: None, host })
    }

    /// Finds the vault and its key. Nothing is touched.
    ///
    /// # Errors
    /// There is none; the options in `requested` contradict it; disk, key or store fail.
    pub async fn find(&self, requested: &VaultConfig) -> Result<Opening> {
        let (disk, master) = self.disk_and_key()?;
        self.find_with(disk, master, requested).await
    }

    /// The trusted disk of an existing vault, and its key. The store is not asked.
    ///
    /// # Errors
    /// As [`disk`](Self::disk) and [`key`](Self::key).
    pub fn disk_and_key(&self) -> Result<(TrustedDisk, MasterKey)> {
        let disk = self.disk()?;
        let master = self.key(&self.header_on(&disk)?)?;
        Ok((disk, master))
    }

    /// The header on the trusted disk, as stored.
    ///
    /// # Errors
    /// [`VaultError::NoVault`], [`VaultError::RestoreUnfinished`], and those of the disk.
    pub fn header_on(&self, disk: &TrustedDisk) -> Result<Vec<u8>> {
        raw_header(disk).map_err(|error| match error {
            VaultError::NoVault => self.no_vault(),
            other => other.into(),
        })
    }

    /// Finds the vault whose trusted disk and key are at hand.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub async fn find_with(
        &self,
        disk: TrustedDisk,
        master: MasterKey,
        requested: &VaultConfig,
    ) -> Result<Opening> {
        let header = read_header(&disk, &master)?;
        refuse_contradictions(self.settings, requested, &header.parameters)?;
        let objects = self.objects(false).await.map_err(|error| match error.downcast_ref() {
            // It was there when the vault was made: as good as emptied, and not to be made again.
            Some(OpenError::NoFolder { path }) => {
                let path = path.display().to_string();
                anyhow::Error::new(VaultError::HeaderVanished).context(path)
            }
            _ => error,
        })?;
        let (store, meter, touches) = self.instrumented(&objects, header.parameters.layout());
        Ok(Opening { header, setup: self.setup(disk, store, master)?, meter, touches, objects })
    }

    /// Opens the vault.
    ///
    /// # Errors
    /// Everything that can be wrong with disk, key, store or vault.
    pub async fn open(&self) -> Result<(Vault, MeterReader)> {
        self.find(&VaultConfig::default()).await?.open().await
    }
}
