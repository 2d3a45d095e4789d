//! The trusted disk of a vault.

use super::Home;
use crate::config::SettingsError;
use crate::config::folders::DATABASE;
use crate::config::names::DATA;
use crate::migration::{record::MigrationRecord, switch};
use crate::vault::created_files::CreatedFiles;
use ameles_vault::{TrustedDisk, VaultError, is_unfinished, raw_header};
use anyhow::{Context, Result};
use std::path::PathBuf;

impl Home<'_> {
    /// The trusted disk's file.
    pub fn database(&self) -> PathBuf {
        self.settings.data.trusted().join(DATABASE)
    }

    /// Tells whether there is a vault, as far as this machine knows.
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

    /// The trusted disk of an existing vault. If a successor was taking over when its process was cut off, it has taken
    /// over when this returns.
    ///
    /// # Errors
    /// [`VaultError::NoVault`], [`VaultError::RestoreUnfinished`], [`VaultError::Locked`], [`VaultError::Disk`];
    /// [`SettingsError::Moved`] if the store is that of a vault whose successor has taken over.
    pub fn disk(&self) -> Result<TrustedDisk> {
        switch::finish(&self.settings.data)?;
        self.refuse_moved_vault()?;
        // A folder that this user may not look into is not the same as one without a vault.
        let database = self.database();
        let is_there = database.try_exists().with_context(|| {
            format!("{}: {} cannot be looked at", self.settings.origins.name(DATA), database.display())
        })?;
        if is_there { self.open_database() } else { Err(self.no_vault()) }
    }

    /// Refuses to make a vault in a folder into which another is being restored.
    ///
    /// # Errors
    /// [`VaultError::RestoreUnfinished`], and those of the disk.
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
        let Some(moved) = MigrationRecord::moved(&self.settings.data)? else { return Ok(()) };
        if !moved.from.is_named_by(self.settings) {
            return Ok(());
        }
        let line = moved.serve_line(self.settings);
        Err(SettingsError::Moved { from: self.store_name(), line }.into())
    }

    /// There is none, or half of one that is being restored, and where it was looked for.
    pub fn no_vault(&self) -> anyhow::Error {
        let error = match self.is_being_restored() {
            true => VaultError::RestoreUnfinished,
            false => VaultError::NoVault,
        };
        anyhow::Error::new(error).context(self.settings.data.trusted().display().to_string())
    }

    /// Tells whether a restore into this folder was begun and is not complete, as far as can be seen from here.
    pub fn is_being_restored(&self) -> bool {
        let is_noted = || match TrustedDisk::open(&self.database()) {
            Ok(disk) => is_unfinished(&disk).unwrap_or(false),
            // Another process has it, and says what it does.
            Err(_) => false,
        };
        self.settings.data.restoring().exists() || (self.database().exists() && is_noted())
    }

    /// The trusted disk of a vault that is to be made or restored.
    ///
    /// # Errors
    /// [`VaultError::Locked`], [`VaultError::Disk`].
    pub fn new_disk(&self, made: &mut CreatedFiles) -> Result<TrustedDisk> {
        self.make_trusted(made)?;
        made.will_make_file(&self.database());
        self.open_database()
    }

    pub(super) fn make_trusted(&self, made: &mut CreatedFiles) -> Result<()> {
        let folder = self.settings.data.trusted();
        made.will_make_folder(&folder);
        self.settings.data.make_trusted().with_context(|| {
            format!("{}: {} cannot be made", self.settings.origins.name(DATA), folder.display())
        })
    }

    fn open_database(&self) -> Result<TrustedDisk> {
        TrustedDisk::open(&self.database()).with_context(|| self.database().display().to_string())
    }
}
