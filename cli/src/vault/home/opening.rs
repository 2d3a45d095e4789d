//! A vault that is created or found, but not open yet.

use super::Store;
use ameles_store::{AccessCounts, MeterReader, Objects};
use ameles_vault::{Pace, Row, Setup, Standby, Vault, VaultHeader, rows_at_rest};
use anyhow::Result;

/// A vault that is created or found, but not open yet.
pub struct Opening {
    /// The header of the vault.
    pub header: VaultHeader,
    pub(super) setup: Setup<Store>,
    pub(super) meter: MeterReader,
    pub(super) objects: Objects,
    pub(super) access_counts: AccessCounts,
}

impl Opening {
    /// Returns the parts that open the vault.
    pub fn setup(&self) -> &Setup<Store> {
        &self.setup
    }

    /// Returns the meter of the requests to the store.
    pub fn meter(&self) -> &MeterReader {
        &self.meter
    }

    /// Returns the store without wrappers.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Reads the rows of the vault.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn rows(&self) -> Result<Vec<Row>> {
        Ok(rows_at_rest(&self.setup.disk, &self.setup.master)?)
    }

    /// Sets the pace at which the open vault sends batches.
    pub fn with_pace(mut self, pace: Option<Pace>) -> Self {
        self.setup.pace = pace;
        self
    }

    /// Returns the accesses to the store, for the owner's page.
    pub fn access_counts(&self) -> AccessCounts {
        self.access_counts.clone()
    }

    /// Returns the parts, for a command that does not open the vault.
    pub fn into_setup(self) -> Setup<Store> {
        self.setup
    }

    /// Opens the vault.
    ///
    /// # Errors
    /// Errors of disk, store or vault.
    pub async fn open(self) -> Result<(Vault, MeterReader)> {
        Ok((Vault::open(self.setup).await?, self.meter))
    }

    /// Follows the vault until it can be taken over.
    ///
    /// # Errors
    /// Errors of disk, store or vault.
    pub async fn stand_by(self, standby: Standby) -> Result<(Vault, MeterReader)> {
        Ok((Vault::stand_by(self.setup, standby).await?, self.meter))
    }
}
