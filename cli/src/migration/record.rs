//! The places of a vault and its successor, noted in the trusted folder so that every start finds both.
//!
//! `successor/making.toml` is written before anything of a successor is made: a making that is cut off is known by it. Once
//! it is made, `successor/note.toml` takes its place, and is the sign that there is one. Both
//! may hold credentials of the successor's provider: it is for its owner alone. `moved.toml` stays when the successor
//! has taken over, without them: it tells a user who comes with the earlier flags which flags are right now. So does
//! `given-up.toml` when a successor was given up: it tells again which store may be emptied.

use super::flags::named_as_successor;
use crate::config::folders::DataFolder;
use crate::config::{KeySettings, Settings, SettingsError, StoreOptions, StoreSettings};
use crate::runtime::replace::replace_durably;
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
    /// The vault that was there first.
    pub from: VaultLocation,
    /// The one that takes its place.
    pub to: VaultLocation,
}

/// The store of a vault, and where its key comes from.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaultLocation {
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    /// The key is in the data folder's own file if nothing else is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_env: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passphrase_env: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, String>,
}

/// A store as far as two can be told apart: the server, and the words of the path.
#[derive(Debug, PartialEq, Eq)]
struct StoreLocation {
    endpoint: Option<String>,
    words: Vec<String>,
}

impl VaultLocation {
    /// The place where these settings say that the vault is.
    ///
    /// # Errors
    /// There is no current folder that a relative path could begin at.
    pub fn of(settings: &Settings) -> Result<Self> {
        let StoreSettings { url, endpoint, options } = settings.store.clone();
        let mut at = VaultLocation {
            store: url,
            endpoint,
            key_file: None,
            key_env: None,
            passphrase_env: None,
            options: options.0,
        };
        match &settings.key {
            KeySettings::File(file) if *file == settings.data.master_key() => {}
            KeySettings::File(file) => at.key_file = Some(std::path::absolute(file)?),
            KeySettings::Env(variable) => at.key_env = Some(variable.clone()),
            KeySettings::Passphrase(variable) => at.passphrase_env = Some(variable.clone()),
        }
        Ok(at)
    }

    /// These settings, but with the store and the key from here.
    pub fn over(&self, settings: &Settings) -> Settings {
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
        };
        Settings { store, key, ..settings.clone() }
    }

    /// Tells whether these settings name the same store.
    pub fn is_named_by(&self, settings: &Settings) -> bool {
        StoreLocation::of(&self.over(settings)) == StoreLocation::of(settings)
    }

    /// The same without what may be secret.
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
        let words = text.split('/').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        StoreLocation { endpoint: endpoint.map(|url| url.trim_end_matches('/').to_owned()), words }
    }

    /// Tells whether one lies in the other, or is it.
    fn touches(&self, other: &StoreLocation) -> bool {
        let common = self.words.len().min(other.words.len());
        self.endpoint == other.endpoint && self.words[..common] == other.words[..common]
    }
}

/// Refuses a store for the successor that is the vault's own, lies in it, or holds it.
///
/// # Errors
/// [`SettingsError::Successor`].
pub fn refuse_same_store(old: &Settings, new: &Settings, name: &str) -> Result<(), SettingsError> {
    if !StoreLocation::of(old).touches(&StoreLocation::of(new)) {
        return Ok(());
    }
    let (theirs, ours) = (Home::new(new).store_name(), Home::new(old).store_name());
    Err(SettingsError::Successor(format!(
        "{name} is {theirs}, and the vault itself is at {ours}: a successor needs a place of its own, neither in that one \
         nor around it, such as another bucket or a prefix beside it"
    )))
}

impl MigrationRecord {
    fn file(data: &DataFolder) -> PathBuf {
        data.of_successor().trusted().join("note.toml")
    }

    fn moved_file(data: &DataFolder) -> PathBuf {
        data.trusted().join("moved.toml")
    }

    fn given_up_file(data: &DataFolder) -> PathBuf {
        data.trusted().join("given-up.toml")
    }

    fn making_file(data: &DataFolder) -> PathBuf {
        data.of_successor().trusted().join("making.toml")
    }

    /// The note of the vault's successor, if there is one. One whose making was cut off is there from the moment that its
    /// trusted disk holds a vault: opening it does the rest.
    ///
    /// # Errors
    /// It cannot be read or understood; [`VaultError::Locked`](ameles_vault::VaultError::Locked) while it is made.
    pub fn of_successor(settings: &Settings) -> Result<Option<MigrationRecord>> {
        let data = &settings.data;
        if let Some(making) = Self::being_made(data)?
            && Home::new(&making.both(settings).1).has_vault()?
        {
            making.leave(data)?;
        }
        Self::load(data)
    }

    /// The note of a successor that is being made, or whose making was cut off.
    ///
    /// # Errors
    /// It cannot be read or understood.
    pub fn being_made(data: &DataFolder) -> Result<Option<MigrationRecord>> {
        match Self::load(data)? {
            Some(_) => Ok(None),
            None => read(&Self::making_file(data)),
        }
    }

    /// Notes that a successor is going to be made, before anything else of it is; `made` gets to know of it. The vault's disk
    /// is held by this process.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn begin(&self, data: &DataFolder, made: &mut CreatedFiles) -> Result<()> {
        let (successor, file) = (data.of_successor(), Self::making_file(data));
        made.will_make_folder(&successor.trusted());
        made.will_make_file(&file);
        let folder = successor.trusted();
        successor.make_trusted().with_context(|| format!("making {}", folder.display()))?;
        write(&file, self)?;
        sync_folder_of(&folder)?;
        remove(&Self::given_up_file(data))
    }

    /// The note of the successor that is there, if one is.
    ///
    /// # Errors
    /// It cannot be read or understood.
    pub fn load(data: &DataFolder) -> Result<Option<MigrationRecord>> {
        read(&Self::file(data))
    }

    /// The note of a successor that has taken over, if one has.
    ///
    /// # Errors
    /// It cannot be read or understood.
    pub fn moved(data: &DataFolder) -> Result<Option<MigrationRecord>> {
        read(&Self::moved_file(data))
    }

    /// The note of the last successor that was given up, unless another was begun since.
    ///
    /// # Errors
    /// It cannot be read or understood.
    pub fn given_up(data: &DataFolder) -> Result<Option<MigrationRecord>> {
        read(&Self::given_up_file(data))
    }

    /// Notes that there is a successor; its trusted folder is there.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn leave(&self, data: &DataFolder) -> Result<()> {
        write(&Self::file(data), self)?;
        remove(&Self::making_file(data))
    }

    /// Notes that the successor has taken over.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn leave_moved(&self, data: &DataFolder) -> Result<()> {
        write(&Self::moved_file(data), &self.without_secrets())
    }

    /// Forgets that there is a successor, or that one was begun, and notes where its store is.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn give_up(&self, data: &DataFolder) -> Result<()> {
        write(&Self::given_up_file(data), &self.without_secrets())?;
        Self::forget(data)
    }

    fn without_secrets(&self) -> Self {
        MigrationRecord { from: self.from.without_secrets(), to: self.to.without_secrets() }
    }

    /// Forgets that there is a successor.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn forget(data: &DataFolder) -> Result<()> {
        remove(&Self::making_file(data))?;
        remove(&Self::file(data))
    }

    /// The settings for the vault, and for its successor while it is one. `settings` may name the store of either.
    pub fn both(&self, settings: &Settings) -> (Settings, Settings) {
        let old = if self.is_for_new(settings) { self.from.over(settings) } else { settings.clone() };
        let new = Settings { data: settings.data.of_successor(), ..self.to.over(settings) };
        let has_own_key = new.key != old.key;
        (old, named_as_successor(new, has_own_key))
    }

    /// Refuses settings for the successor while it has `blocks` of `of` blocks.
    ///
    /// # Errors
    /// [`SettingsError::Successor`].
    pub fn refuse_early(&self, settings: &Settings, blocks: u64, of: u64) -> Result<(), SettingsError> {
        if !self.is_for_new(settings) {
            return Ok(());
        }
        let line = Home::new(&self.from.over(settings)).serve_line();
        Err(SettingsError::Successor(format!(
            "this is the store of the successor, which has {blocks} of {of} blocks so far: until it has all of them, \
             serve the vault with `{line}`"
        )))
    }

    /// Tells whether `settings` name the successor's store.
    pub fn is_for_new(&self, settings: &Settings) -> bool {
        self.to.is_named_by(settings)
    }

    /// The line that serves the successor once it has taken over.
    pub fn serve_line(&self, settings: &Settings) -> String {
        Home::new(&self.to.over(settings)).serve_line()
    }
}

fn read(file: &Path) -> Result<Option<MigrationRecord>> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("reading {}", file.display())),
    };
    // The parser's message may quote a secret.
    let note = toml::from_str(&text).ok();
    note.map(Some).with_context(|| format!("{} is not as `ameles migrate` has written it", file.display()))
}

/// Tells whether a file is not there, nor can be: the function that needs its folder reports a wrong folder.
pub(super) fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Writes the note in one step, for its owner alone, and durable.
fn write(file: &Path, note: &MigrationRecord) -> Result<()> {
    let work = || -> Result<()> { Ok(replace_durably(file, toml::to_string(note)?.as_bytes())?) };
    work().with_context(|| format!("writing {}", file.display()))
}

/// Removes a note for good, if it is there.
fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if !is_absent(&error) => {
            Err(error).with_context(|| format!("removing {}", file.display()))
        }
        _ => sync_folder_of(file),
    }
}

/// Makes the names in a file's folder durable.
pub(super) fn sync_folder_of(file: &Path) -> Result<()> {
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
    use crate::config::Config;

    fn settings(text: &str) -> Settings {
        Settings::resolve(Config::parse(text, Path::new("ameles.toml")).unwrap()).unwrap()
    }

    #[test]
    fn a_store_in_around_or_at_the_old_one_is_refused() {
        let s3 = |url: &str| settings(&format!("[store]\nurl = \"{url}\"\nendpoint = \"https://x\""));
        let old = s3("s3://bucket/a/b");
        for refused in
            ["s3://bucket/a/b", "s3://bucket/a/b/", "s3://bucket/a/b/c", "s3://bucket/a", "s3://bucket"]
        {
            let error = refuse_same_store(&old, &s3(refused), "--to").unwrap_err().to_string();
            assert!(error.starts_with(&format!("--to is {refused}")), "{error}");
        }
        for fine in ["s3://bucket/a/c", "s3://bucket/a/b2", "s3://other/a/b", "gs://bucket/a/b"] {
            assert_eq!(refuse_same_store(&old, &s3(fine), "--to"), Ok(()), "{fine}");
        }
        let elsewhere = settings("[store]\nurl = \"s3://bucket/a/b\"\nendpoint = \"https://y\"");
        assert_eq!(refuse_same_store(&old, &elsewhere, "--to"), Ok(()));
    }

    #[test]
    fn the_default_folder_is_known_by_its_path() {
        let old = settings("data = \"/d\"");
        let named = settings("data = \"/d\"\nstore.url = \"file:///d/untrusted/\"");
        assert!(refuse_same_store(&old, &named, "--to").is_err());
        assert!(VaultLocation::of(&old).unwrap().is_named_by(&named));
        let beside = settings("data = \"/d\"\nstore.url = \"file:///d/untrusted-2\"");
        assert_eq!(refuse_same_store(&old, &beside, "--to"), Ok(()));
    }

    #[test]
    fn a_note_comes_back_as_it_was_and_keeps_no_secret_longer_than_needed() {
        let home = tempfile::tempdir().unwrap();
        let data = DataFolder::new(home.path().to_path_buf());
        std::fs::create_dir_all(data.of_successor().trusted()).unwrap();
        let old = settings("[key]\nsource = \"env\"\nvariable = \"K\"");
        let new = settings(
            "store.url = \"s3://b/p\"\nstore.options = { secret_access_key = \"hush\" }\nkey.file = \"/k\"",
        );
        let (from, to) = (VaultLocation::of(&old).unwrap(), VaultLocation::of(&new).unwrap());
        let note = MigrationRecord { from, to };
        note.leave(&data).unwrap();
        assert!(MigrationRecord::load(&data).unwrap() == Some(note.clone()));
        assert!(note.to.over(&old) == Settings { store: new.store.clone(), key: new.key, ..old.clone() });
        note.leave_moved(&data).unwrap();
        MigrationRecord::forget(&data).unwrap();
        assert!(MigrationRecord::load(&data).unwrap().is_none());
        let text = std::fs::read_to_string(MigrationRecord::moved_file(&data)).unwrap();
        assert!(text.contains("secret_access_key") && !text.contains("hush"), "{text}");
    }
}
