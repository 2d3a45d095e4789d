//! A vault that is made or found, and not open yet.

use super::Store;
use ameles_store::{MeterReader, Objects, Touches};
use ameles_vault::{Pace, Row, Setup, Vault, VaultHeader, rows_at_rest};
use anyhow::Result;

/// A vault that is made or found, and not open yet.
pub struct Opening {
    /// Its header.
    pub header: VaultHeader,
    pub(super) setup: Setup<Store>,
    pub(super) meter: MeterReader,
    pub(super) objects: Objects,
    pub(super) touches: Touches,
}

impl Opening {
    /// The parts that open it.
    pub fn setup(&self) -> &Setup<Store> {
        &self.setup
    }

    /// Counts what is asked of its store.
    pub fn meter(&self) -> &MeterReader {
        &self.meter
    }

    /// Its store as the provider has it.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Its rows.
    ///
    /// # Errors
    /// Those of its disk.
    pub fn rows(&self) -> Result<Vec<Row>> {
        Ok(rows_at_rest(&self.setup.disk, &self.setup.master)?)
    }

    /// Has a batch sent at this pace while it is open.
    pub fn with_pace(mut self, pace: Option<Pace>) -> Self {
        self.setup.pace = pace;
        self
    }

    /// The touches of its store: for the owner's page.
    pub fn touches(&self) -> Touches {
        self.touches.clone()
    }

    /// The parts that open it, for a command that does not.
    pub fn into_setup(self) -> Setup<Store> {
        self.setup
    }

    /// Opens it.
    ///
    /// # Errors
    /// Everything that can be wrong with disk, store or vault.
    pub async fn open(self) -> Result<(Vault, MeterReader)> {
        Ok((Vault::open(self.setup).await?, self.meter))
    }
}
