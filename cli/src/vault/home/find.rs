//! Finding and opening an existing vault.

use super::{Home, Opening, Store};
use crate::config::VaultConfig;
use crate::config::names::STORE;
use crate::vault::parameters::refuse_contradictions;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_store::{MeterReader, OpenError};
use ameles_vault::{Entropy, Host, Setup, TrustedDisk, Vault, VaultError, raw_header, read_header};
use anyhow::Result;

impl Home<'_> {
    /// Returns the parts that create or open a vault.
    ///
    /// # Errors
    /// The system refuses threads.
    pub fn setup(&self, disk: TrustedDisk, store: Store, master: MasterKey) -> Result<Setup<Store>> {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        let workers = SealThreads::threads(threads)?;
        let host = Host::system(&self.database());
        let (entropy, ship_after) = (Entropy::system(), self.settings.serve.ship_after);
        Ok(Setup { disk, store, master, entropy, workers, pace: None, ship_after, host })
    }

    /// Finds the vault and its key, without changes.
    ///
    /// # Errors
    /// There is no vault; the options in `requested` contradict it; disk, key or store fail.
    pub async fn find(&self, requested: &VaultConfig) -> Result<Opening> {
        let (disk, master) = self.disk_and_key()?;
        self.find_with(disk, master, requested).await
    }

    /// Opens the trusted disk of an existing vault and reads its key, without requests to the store.
    ///
    /// # Errors
    /// The errors of [`disk`](Self::disk) and [`key`](Self::key).
    pub fn disk_and_key(&self) -> Result<(TrustedDisk, MasterKey)> {
        let disk = self.disk()?;
        let master = self.key(&self.header_on(&disk)?)?;
        Ok((disk, master))
    }

    /// Returns the stored header on the trusted disk.
    ///
    /// # Errors
    /// [`VaultError::NoVault`], [`VaultError::RestoreUnfinished`], and the errors of the disk.
    pub fn header_on(&self, disk: &TrustedDisk) -> Result<Vec<u8>> {
        raw_header(disk).map_err(|error| match error {
            VaultError::NoVault => self.no_vault(),
            other => other.into(),
        })
    }

    /// Finds the vault with this trusted disk and key.
    ///
    /// # Errors
    /// The errors of [`find`](Self::find).
    pub async fn find_with(
        &self,
        disk: TrustedDisk,
        master: MasterKey,
        requested: &VaultConfig,
    ) -> Result<Opening> {
        let header = read_header(&disk, &master).map_err(|error| self.name_wrong_key(error))?;
        refuse_contradictions(self.settings, requested, &header.parameters)?;
        let objects = self.open_objects(false).await.map_err(|error| match error.downcast_ref() {
            // The folder existed when the vault was created: its loss counts as an emptied store.
            Some(OpenError::NoFolder { path }) => {
                let is_default = self.settings.store.url.is_none();
                let advice = if is_default {
                    format!(" ({} is not given)", self.settings.origins.name(STORE))
                } else {
                    String::new()
                };
                let path = format!("{}{advice}", path.display());
                anyhow::Error::new(VaultError::HeaderVanished).context(path)
            }
            _ => error,
        })?;
        let (store, meter, access_counts) = self.instrumented(&objects, &header.parameters).await?;
        Ok(Opening { header, setup: self.setup(disk, store, master)?, meter, access_counts, objects })
    }

    /// Opens the vault.
    ///
    /// # Errors
    /// Errors of disk, key, store or vault.
    pub async fn open(&self) -> Result<(Vault, MeterReader)> {
        self.find(&VaultConfig::default()).await?.open().await
    }
}
