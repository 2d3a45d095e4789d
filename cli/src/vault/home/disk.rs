//! The trusted disk of a vault.

use super::Home;
use crate::config::SettingsError;
use crate::config::folders::{DATABASE, RESERVE};
use crate::config::names::DATA;
use crate::migration::{record::MigrationRecord, switch};
use crate::vault::created_files::CreatedFiles;
use ameles_vault::{TrustedDisk, VaultError, is_unfinished, raw_header};
use anyhow::{Context, Result};
use std::path::PathBuf;

impl Home<'_> {
    /// Returns the file of the trusted disk.
    pub fn database(&self) -> PathBuf {
        self.settings.data.trusted().join(DATABASE)
    }

    /// Returns true if this machine has a vault.
    ///
    /// # Errors
    /// The trusted disk cannot be read, or is in use.
    pub fn has_vault(&self) -> Result<bool> {
        match self.disk() {
            Ok(disk) => Ok(raw_header(&disk).is_ok()),
            Err(error)
                if matches!(
                    error.downcast_ref(),
                    Some(VaultError::NoVault | VaultError::RestoreUnfinished)
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the trusted disk of an existing vault. An interrupted switch to a successor is finished first.
    ///
    /// # Errors
    /// [`VaultError::NoVault`], [`VaultError::RestoreUnfinished`], [`VaultError::Damaged`], [`VaultError::Locked`],
    /// [`VaultError::Disk`]; [`SettingsError::Moved`] if the store is that of a vault whose successor has taken over.
    pub fn disk(&self) -> Result<TrustedDisk> {
        switch::finish(&self.settings.data)?;
        self.refuse_moved_vault()?;
        // A folder that this user may not read differs from a folder without a vault.
        let database = self.database();
        let has_database = database.try_exists().with_context(|| {
            format!("{}: reading {}", self.settings.origins.name(DATA), database.display())
        })?;
        if has_database && !self.has_lost_database() { self.open_database() } else { Err(self.no_vault()) }
    }

    /// Returns true if the database is missing or empty, and a file that belongs to one is there.
    fn has_lost_database(&self) -> bool {
        let bytes = std::fs::metadata(self.database()).map_or(0, |found| found.len());
        let belongs = |file: PathBuf| {
            let extension = file.extension().and_then(|extension| extension.to_str());
            file.ends_with(RESERVE) || matches!(extension, Some("journal" | "stash"))
        };
        let files = || std::fs::read_dir(self.settings.data.trusted()).into_iter().flatten().flatten();
        bytes == 0 && files().any(|file| belongs(file.path()))
    }

    /// Refuses to create a vault in a folder with an unfinished restore.
    ///
    /// # Errors
    /// [`VaultError::RestoreUnfinished`], and the errors of the disk.
    pub(super) fn refuse_during_restore(&self) -> Result<()> {
        let is_unfinished = match self.database().exists() {
            true => is_unfinished(&self.disk()?)?,
            false => false,
        };
        if !is_unfinished && !self.settings.data.restoring().exists() {
            return Ok(());
        }
        let folder = self.settings.data.trusted().display().to_string();
        Err(anyhow::Error::new(VaultError::RestoreUnfinished).context(folder))
    }

    fn refuse_moved_vault(&self) -> Result<()> {
        let Some(moved) = MigrationRecord::load_moved(&self.settings.data)? else { return Ok(()) };
        if !moved.from.is_named_by(self.settings) {
            return Ok(());
        }
        let line = moved.serve_line(self.settings);
        Err(SettingsError::Moved { from: self.store_name(), line }.into())
    }

    /// Returns the error of a missing or partly restored vault, with its folder.
    pub fn no_vault(&self) -> anyhow::Error {
        // Looked at first: a look at the state of a restore fills an empty database.
        let error = if self.has_lost_database() && !self.settings.data.restoring().exists() {
            VaultError::Damaged(format!("{DATABASE} is missing or empty").into())
        } else if self.is_being_restored() {
            VaultError::RestoreUnfinished
        } else {
            VaultError::NoVault
        };
        anyhow::Error::new(error).context(self.settings.data.trusted().display().to_string())
    }

    /// Returns true if a restore into this folder has begun and is not complete.
    pub fn is_being_restored(&self) -> bool {
        let is_recorded = || match TrustedDisk::open(&self.database()) {
            Ok(disk) => is_unfinished(&disk).unwrap_or(false),
            // Another process has the disk open, and reports its own state.
            Err(_) => false,
        };
        self.settings.data.restoring().exists() || (self.database().exists() && is_recorded())
    }

    /// Opens the trusted disk of a vault that will be created or restored.
    ///
    /// # Errors
    /// [`VaultError::Locked`], [`VaultError::Disk`].
    pub fn new_disk(&self, created: &mut CreatedFiles) -> Result<TrustedDisk> {
        self.create_trusted(created)?;
        created.add_file(&self.database());
        self.open_database()
    }

    pub(super) fn create_trusted(&self, created: &mut CreatedFiles) -> Result<()> {
        let folder = self.settings.data.trusted();
        created.add_folder(&folder);
        self.settings.data.create_trusted().with_context(|| {
            let name = self.settings.origins.name(DATA);
            format!("{name}: creating {}, where this user must be able to write", folder.display())
        })
    }

    fn open_database(&self) -> Result<TrustedDisk> {
        TrustedDisk::open(&self.database()).with_context(|| self.database().display().to_string())
    }
}
