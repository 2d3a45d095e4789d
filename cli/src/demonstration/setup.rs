//! The stage of a demonstration: a temporary folder, and a small vault whose shape is fixed.

use super::Pattern;
use crate::config::names::{
    ADMIN, BLOCK_SIZE, CAPACITY, DATA, ENDPOINT, KEY_ENV, KEY_FILE, KEY_SOURCE, Name, STORE, STORE_OPTION,
};
use crate::config::size::Size;
use crate::config::{Config, SettingsError};
use anyhow::{Context, Result};
use std::path::PathBuf;
use tempfile::TempDir;

const BLOCK: Size = Size(4 << 10);
/// 1024 blocks: 16 for each cell of the page's heat maps.
const CAPACITY_BYTES: Size = Size(4 << 20);

/// The settings that would lead to a vault of the user's, or to a vault of another size. Keys do too.
const NOT_TAKEN: [Name; 6] = [DATA, CAPACITY, BLOCK_SIZE, STORE, ENDPOINT, STORE_OPTION];

/// The temporary folder of a demonstration, removed with all that is in it when this is dropped.
#[derive(Debug)]
pub struct DemonstrationFolder {
    folder: TempDir,
    /// The pattern that is read of its own accord.
    pub pattern: Pattern,
}

impl DemonstrationFolder {
    /// Makes the folder, and the configuration of the vault that goes there.
    ///
    /// # Errors
    /// [`SettingsError::Demonstration`] if `config` names a vault, a store or a key,
    /// [`SettingsError::PageBeyondLoopback`]: nothing is made then. The folder cannot be made.
    pub fn set_up(pattern: Pattern, mut config: Config) -> Result<(DemonstrationFolder, Config)> {
        if let Some(name) = config.first_given(&NOT_TAKEN).or_else(|| key_of(&config)) {
            return Err(SettingsError::Demonstration(name).into());
        }
        if let Some(address) = config.serve.admin.filter(|address| !address.ip().is_loopback()) {
            let name = config.origins.name(ADMIN);
            return Err(SettingsError::PageBeyondLoopback { name, address }.into());
        }
        let folder = tempfile::Builder::new().prefix("ameles-demonstration-").tempdir();
        let folder = folder.context("making a temporary folder for the demonstration")?;
        config.data = Some(folder.path().to_owned());
        config.vault.capacity = Some(CAPACITY_BYTES);
        config.vault.block_size = Some(BLOCK);
        Ok((DemonstrationFolder { folder, pattern }, config))
    }

    /// The folder of the bare store, beside the vault's.
    pub fn bare_folder(&self) -> PathBuf {
        self.folder.path().join("bare")
    }

    /// Removes everything.
    ///
    /// # Errors
    /// Something could not be removed; the error says where it is.
    pub fn remove(self) -> Result<()> {
        let path = self.folder.path().display().to_string();
        self.folder.close().with_context(|| format!("the demonstration's folder {path} could not be removed"))
    }
}

/// The source of a key, if something names one.
fn key_of(config: &Config) -> Option<String> {
    let key = &config.key;
    let all = [
        (KEY_FILE, key.file.is_some()),
        (KEY_ENV, key.variable.is_some()),
        (KEY_SOURCE, key.source.is_some()),
    ];
    all.into_iter().find_map(|(name, is_given)| is_given.then(|| config.origins.name(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn what_names_a_vault_or_its_size_is_refused_by_name() {
        for (text, name) in [
            ("data = \"d\"", "`data` in ameles.toml"),
            ("[store]\nurl = \"s3://b\"", "`store.url` in ameles.toml"),
            ("[store]\noptions = { region = \"r\" }", "`store.options` in ameles.toml"),
            ("[key]\nfile = \"k\"", "`key.file` in ameles.toml"),
            ("[vault]\ncapacity = \"1GiB\"", "`vault.capacity` in ameles.toml"),
        ] {
            let config = Config::parse(text, "ameles.toml".as_ref()).unwrap();
            let error = DemonstrationFolder::set_up(Pattern::Sweep, config).unwrap_err().to_string();
            let expected = format!("{name} is given, and --demonstration has a small vault");
            assert!(error.starts_with(&expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_vault_is_small_and_lies_in_a_folder_that_goes_again() {
        let (stage, config) = DemonstrationFolder::set_up(Pattern::Quiet, Config::default()).unwrap();
        let settings = Settings::resolve(config).unwrap();
        let root = settings.data.root().to_owned();
        assert!(root.is_dir() && stage.bare_folder().starts_with(&root));
        assert_eq!(settings.blocks(), 1024);
        std::fs::write(root.join("something"), "").unwrap();
        stage.remove().unwrap();
        assert!(!root.exists());
    }
}
