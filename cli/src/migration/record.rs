//! The records of a migration: the locations of a vault and its successor, stored in the trusted folder.
//!
//! `successor/making.toml` is written before anything of a successor is created, so it shows that a creation was
//! interrupted. When the successor exists, `successor/note.toml` replaces it. Both files may hold credentials of the
//! successor's provider, so only their owner can read them. `moved.toml` remains when the successor has taken over, and
//! `given-up.toml` when a successor was cancelled. They hold no credentials. The first names the new flags to users of
//! the old flags. The second names the store that may be emptied.

use super::flags::with_successor_origins;
use crate::config::folders::DataFolder;
use crate::config::{KeySettings, Settings, SettingsError, StoreOptions, StoreSettings};
use crate::runtime::atomic_file::replace_durably;
use crate::vault::created_files::CreatedFiles;
use crate::vault::home::Home;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A vault and its successor.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrationRecord {
    /// The vault.
    pub from: VaultLocation,
    /// The successor.
    pub to: VaultLocation,
}

/// The store of a vault, and the source of its key.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaultLocation {
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    /// The file of the key; without any source, the default file of the data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_env: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passphrase_env: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, String>,
}

/// The parts of a store by which two stores are compared: the server and the parts of the path.
#[derive(Debug, PartialEq, Eq)]
struct StoreLocation {
    endpoint: Option<String>,
    path_parts: Vec<String>,
}

impl VaultLocation {
    /// Returns the location of the vault in these settings.
    ///
    /// # Errors
    /// There is no current folder to resolve a relative path.
    pub fn of(settings: &Settings) -> Result<Self> {
        let StoreSettings { url, endpoint, options, .. } = settings.store.clone();
        let mut location = VaultLocation {
            store: url,
            endpoint,
            key_file: None,
            key_env: None,
            passphrase_env: None,
            options: options.0,
        };
        match &settings.key {
            KeySettings::File(file) if *file == settings.data.master_key() => {}
            KeySettings::File(file) => location.key_file = Some(std::path::absolute(file)?),
            KeySettings::Env(variable) => location.key_env = Some(variable.clone()),
            KeySettings::Passphrase(variable) => location.passphrase_env = Some(variable.clone()),
        }
        Ok(location)
    }

    /// Returns these settings with the store and the key of this location.
    pub fn apply_to(&self, settings: &Settings) -> Settings {
        let key = match (&self.key_file, &self.key_env, &self.passphrase_env) {
            (Some(file), _, _) => KeySettings::File(file.clone()),
            (_, Some(variable), _) => KeySettings::Env(variable.clone()),
            (_, _, Some(variable)) => KeySettings::Passphrase(variable.clone()),
            _ => KeySettings::File(settings.data.master_key()),
        };
        let store = StoreSettings {
            url: self.store.clone(),
            endpoint: self.endpoint.clone(),
            options: StoreOptions(self.options.clone()),
            etcd: settings.store.etcd.clone(),
        };
        Settings { store, key, ..settings.clone() }
    }

    /// Returns true if these settings name the same store.
    pub fn is_named_by(&self, settings: &Settings) -> bool {
        StoreLocation::of(&self.apply_to(settings)) == StoreLocation::of(settings)
    }

    /// Returns the location without values that may be secret.
    fn without_secrets(&self) -> Self {
        let options = self.options.keys().map(|name| (name.clone(), String::new())).collect();
        VaultLocation { options, ..self.clone() }
    }
}

impl StoreLocation {
    fn of(settings: &Settings) -> StoreLocation {
        let store = &settings.store;
        let endpoint = store.endpoint.clone().or_else(|| store.options.0.get("endpoint").cloned());
        let folder = match &store.url {
            None => Some(settings.data.untrusted()),
            Some(url) => url.strip_prefix("file://").map(PathBuf::from),
        };
        let text = match folder {
            Some(folder) => {
                let absolute = std::path::absolute(&folder).unwrap_or(folder);
                format!("file:{}", absolute.canonicalize().unwrap_or(absolute).display())
            }
            None => store.url.clone().unwrap_or_default(),
        };
        let path_parts = text.split('/').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        StoreLocation { endpoint: endpoint.map(|url| url.trim_end_matches('/').to_owned()), path_parts }
    }

    /// Returns true if the stores are the same, or one is inside the other.
    fn overlaps(&self, other: &StoreLocation) -> bool {
        let common = self.path_parts.len().min(other.path_parts.len());
        self.endpoint == other.endpoint && self.path_parts[..common] == other.path_parts[..common]
    }
}

/// Refuses a store for the successor that is the vault's own, is inside it, or contains it.
///
/// # Errors
/// [`SettingsError::Successor`].
pub fn refuse_same_store(old: &Settings, new: &Settings, name: &str) -> Result<(), SettingsError> {
    if !StoreLocation::of(old).overlaps(&StoreLocation::of(new)) {
        return Ok(());
    }
    let (new_store, old_store) = (Home::new(new).store_name(), Home::new(old).store_name());
    Err(SettingsError::Successor(format!(
        "{name} is {new_store}, which overlaps the store of the vault, {old_store}: choose a separate place, such as another \
         bucket or another prefix"
    )))
}

impl MigrationRecord {
    fn file(data: &DataFolder) -> PathBuf {
        data.successor().trusted().join("note.toml")
    }

    fn moved_file(data: &DataFolder) -> PathBuf {
        data.trusted().join("moved.toml")
    }

    fn cancelled_file(data: &DataFolder) -> PathBuf {
        data.trusted().join("given-up.toml")
    }

    fn unfinished_file(data: &DataFolder) -> PathBuf {
        data.successor().trusted().join("making.toml")
    }

    /// Loads the record of the vault's successor, if there is one.
    ///
    /// A successor whose creation was interrupted exists as soon as its trusted disk holds a vault: opening it
    /// completes the creation.
    ///
    /// # Errors
    /// The record cannot be read or parsed; [`VaultError::Locked`](ameles_vault::VaultError::Locked) while it is
    /// created.
    pub fn load_successor(settings: &Settings) -> Result<Option<MigrationRecord>> {
        let data = &settings.data;
        if let Some(unfinished) = Self::load_unfinished(data)?
            && Home::new(&unfinished.settings_of_both(settings).1).has_vault()?
        {
            unfinished.save(data)?;
        }
        Self::load(data)
    }

    /// Loads the record of a successor whose creation is running or was interrupted.
    ///
    /// # Errors
    /// The record cannot be read or parsed.
    pub fn load_unfinished(data: &DataFolder) -> Result<Option<MigrationRecord>> {
        match Self::load(data)? {
            Some(_) => Ok(None),
            None => read(&Self::unfinished_file(data)),
        }
    }

    /// Saves the record before anything else of the successor is created, and adds its files to `created`. This process
    /// must have the vault's disk open.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save_unfinished(&self, data: &DataFolder, created: &mut CreatedFiles) -> Result<()> {
        let (successor, file) = (data.successor(), Self::unfinished_file(data));
        created.add_folder(&successor.trusted());
        created.add_file(&file);
        let folder = successor.trusted();
        successor.create_trusted().with_context(|| format!("creating {}", folder.display()))?;
        write(&file, self)?;
        sync_parent(&folder)?;
        remove(&Self::cancelled_file(data))
    }

    /// Loads the record of an existing successor, if there is one.
    ///
    /// # Errors
    /// The record cannot be read or parsed.
    pub fn load(data: &DataFolder) -> Result<Option<MigrationRecord>> {
        read(&Self::file(data))
    }

    /// Loads the record of a successor that has taken over, if there is one.
    ///
    /// # Errors
    /// The record cannot be read or parsed.
    pub fn load_moved(data: &DataFolder) -> Result<Option<MigrationRecord>> {
        read(&Self::moved_file(data))
    }

    /// Loads the record of the last cancelled successor, unless another one was started since.
    ///
    /// # Errors
    /// The record cannot be read or parsed.
    pub fn load_cancelled(data: &DataFolder) -> Result<Option<MigrationRecord>> {
        read(&Self::cancelled_file(data))
    }

    /// Saves the record of an existing successor, whose trusted folder exists.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, data: &DataFolder) -> Result<()> {
        write(&Self::file(data), self)?;
        remove(&Self::unfinished_file(data))
    }

    /// Records that the successor has taken over.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save_moved(&self, data: &DataFolder) -> Result<()> {
        write(&Self::moved_file(data), &self.without_secrets())
    }

    /// Records that the successor is cancelled, with its store, and removes its other records.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save_cancelled(&self, data: &DataFolder) -> Result<()> {
        write(&Self::cancelled_file(data), &self.without_secrets())?;
        Self::remove_records(data)
    }

    fn without_secrets(&self) -> Self {
        MigrationRecord { from: self.from.without_secrets(), to: self.to.without_secrets() }
    }

    /// Removes the records of a successor.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn remove_records(data: &DataFolder) -> Result<()> {
        remove(&Self::unfinished_file(data))?;
        remove(&Self::file(data))
    }

    /// Returns the settings of the vault and of its successor, which has not taken over. `settings` may name either
    /// store.
    pub fn settings_of_both(&self, settings: &Settings) -> (Settings, Settings) {
        let old =
            if self.is_for_successor(settings) { self.from.apply_to(settings) } else { settings.clone() };
        let new = Settings { data: settings.data.successor(), ..self.to.apply_to(settings) };
        let has_own_key = new.key != old.key;
        (old, with_successor_origins(new, has_own_key))
    }

    /// Refuses settings of the successor while it has only `blocks` of `of` blocks.
    ///
    /// # Errors
    /// [`SettingsError::Successor`].
    pub fn refuse_early(&self, settings: &Settings, blocks: u64, of: u64) -> Result<(), SettingsError> {
        if !self.is_for_successor(settings) {
            return Ok(());
        }
        let line = Home::new(&self.from.apply_to(settings)).serve_line();
        Err(SettingsError::Successor(format!(
            "this is the store of the successor, which has only {blocks} of {of} blocks: until it is complete, serve the \
             vault with `{line}`"
        )))
    }

    /// Returns true if `settings` name the successor's store.
    pub fn is_for_successor(&self, settings: &Settings) -> bool {
        self.to.is_named_by(settings)
    }

    /// Returns the command that serves the successor after it has taken over.
    pub fn serve_line(&self, settings: &Settings) -> String {
        Home::new(&self.to.apply_to(settings)).serve_line()
    }
}

fn read(file: &Path) -> Result<Option<MigrationRecord>> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("reading {}", file.display())),
    };
    // The parser's message may quote a secret.
    let record = toml::from_str(&text).ok();
    record.map(Some).with_context(|| {
        format!("{} is damaged: it differs from what `ameles migrate` writes", file.display())
    })
}

/// Returns true if a file does not exist. A path through a file counts too: the user of the folder reports that error.
pub(super) fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Writes the record atomically and durably. Only its owner can read it.
fn write(file: &Path, record: &MigrationRecord) -> Result<()> {
    let work = || -> Result<()> { Ok(replace_durably(file, toml::to_string(record)?.as_bytes())?) };
    work().with_context(|| format!("writing {}", file.display()))
}

/// Removes a record durably, if it exists.
fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if !is_missing(&error) => {
            Err(error).with_context(|| format!("removing {}", file.display()))
        }
        _ => sync_parent(file),
    }
}

/// Syncs the folder of a file.
pub(super) fn sync_parent(file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    match File::open(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        opened => opened
            .and_then(|folder| folder.sync_all())
            .with_context(|| format!("syncing {}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_inside_around_or_equal_to_the_old_one_is_refused() {
        let s3 =
            |url: &str| Settings::from_toml(&format!("[store]\nurl = \"{url}\"\nendpoint = \"https://x\""));
        let old = s3("s3://bucket/a/b");
        for url in
            ["s3://bucket/a/b", "s3://bucket/a/b/", "s3://bucket/a/b/c", "s3://bucket/a", "s3://bucket"]
        {
            let error = refuse_same_store(&old, &s3(url), "--to").unwrap_err().to_string();
            assert!(error.starts_with(&format!("--to is {url}")), "{error}");
        }
        for fine in ["s3://bucket/a/c", "s3://bucket/a/b2", "s3://other/a/b", "gs://bucket/a/b"] {
            assert_eq!(refuse_same_store(&old, &s3(fine), "--to"), Ok(()), "{fine}");
        }
        let elsewhere = Settings::from_toml("[store]\nurl = \"s3://bucket/a/b\"\nendpoint = \"https://y\"");
        assert_eq!(refuse_same_store(&old, &elsewhere, "--to"), Ok(()));
    }

    #[test]
    fn the_default_folder_is_known_by_its_path() {
        let old = Settings::from_toml("data = \"/d\"");
        let named = Settings::from_toml("data = \"/d\"\nstore.url = \"file:///d/untrusted/\"");
        assert!(refuse_same_store(&old, &named, "--to").is_err());
        assert!(VaultLocation::of(&old).unwrap().is_named_by(&named));
        let other = Settings::from_toml("data = \"/d\"\nstore.url = \"file:///d/untrusted-2\"");
        assert_eq!(refuse_same_store(&old, &other, "--to"), Ok(()));
    }

    #[test]
    fn a_record_is_read_back_and_keeps_no_secret_longer_than_needed() {
        let home = tempfile::tempdir().unwrap();
        let data = DataFolder::new(home.path().to_path_buf());
        std::fs::create_dir_all(data.successor().trusted()).unwrap();
        let old = Settings::from_toml("[key]\nsource = \"env\"\nvariable = \"K\"");
        let new = Settings::from_toml(
            "store.url = \"s3://b/p\"\nstore.options = { secret_access_key = \"hush\" }\nkey.file = \"/k\"",
        );
        let (from, to) = (VaultLocation::of(&old).unwrap(), VaultLocation::of(&new).unwrap());
        let record = MigrationRecord { from, to };
        record.save(&data).unwrap();
        assert!(MigrationRecord::load(&data).unwrap() == Some(record.clone()));
        assert!(
            record.to.apply_to(&old) == Settings { store: new.store.clone(), key: new.key, ..old.clone() }
        );
        record.save_moved(&data).unwrap();
        MigrationRecord::remove_records(&data).unwrap();
        assert!(MigrationRecord::load(&data).unwrap().is_none());
        let text = std::fs::read_to_string(MigrationRecord::moved_file(&data)).unwrap();
        assert!(text.contains("secret_access_key") && !text.contains("hush"), "{text}");
    }
}
