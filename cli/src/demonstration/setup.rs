//! The setup of a demonstration: a temporary folder, and a small vault of fixed shape.

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

/// The settings that would use a vault of the user, or another size. Keys are refused too.
const FORBIDDEN: [Name; 6] = [DATA, CAPACITY, BLOCK_SIZE, STORE, ENDPOINT, STORE_OPTION];

/// The temporary folder of a demonstration, removed with its contents when this is dropped.
#[derive(Debug)]
pub struct DemonstrationFolder {
    folder: TempDir,
    /// The pattern that the demonstration reads by itself.
    pub pattern: Pattern,
}

impl DemonstrationFolder {
    /// Creates the folder, and returns it with the configuration of its vault.
    ///
    /// # Errors
    /// [`SettingsError::Demonstration`] if `config` names a vault, a store or a key,
    /// [`SettingsError::PageNotOnLoopback`]: in this case nothing is created. The folder cannot be created.
    pub fn set_up(pattern: Pattern, mut config: Config) -> Result<(DemonstrationFolder, Config)> {
        if let Some(name) = config.first_set(&FORBIDDEN).or_else(|| key_source(&config)) {
            return Err(SettingsError::Demonstration(name).into());
        }
        if let Some(address) = config.serve.admin.filter(|address| !address.ip().is_loopback()) {
            let name = config.origins.name(ADMIN);
            return Err(SettingsError::PageNotOnLoopback { name, address }.into());
        }
        let folder = tempfile::Builder::new().prefix("ameles-demonstration-").tempdir();
        let folder = folder.context("creating a temporary folder for the demonstration")?;
        config.data = Some(folder.path().to_owned());
        config.vault.capacity = Some(CAPACITY_BYTES);
        config.vault.block_size = Some(BLOCK);
        Ok((DemonstrationFolder { folder, pattern }, config))
    }

    /// Returns the folder of the bare store.
    pub fn bare_folder(&self) -> PathBuf {
        self.folder.path().join("bare")
    }

    /// Removes everything.
    ///
    /// # Errors
    /// The folder could not be removed; the error names it.
    pub fn remove(self) -> Result<()> {
        let path = self.folder.path().display().to_string();
        self.folder.close().with_context(|| format!("removing the demonstration's folder {path}"))
    }
}

/// Returns the name of the setting that names a key, if there is one.
fn key_source(config: &Config) -> Option<String> {
    let key = &config.key;
    let all = [
        (KEY_FILE, key.file.is_some()),
        (KEY_ENV, key.variable.is_some()),
        (KEY_SOURCE, key.source.is_some()),
    ];
    all.into_iter().find_map(|(name, is_set)| is_set.then(|| config.origins.name(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn a_setting_that_names_a_vault_or_its_size_is_refused_by_name() {
        for (text, name) in [
            ("data = \"d\"", "`data` in ameles.toml"),
            ("[store]\nurl = \"s3://b\"", "`store.url` in ameles.toml"),
            ("[store]\noptions = { region = \"r\" }", "`store.options` in ameles.toml"),
            ("[key]\nfile = \"k\"", "`key.file` in ameles.toml"),
            ("[vault]\ncapacity = \"1GiB\"", "`vault.capacity` in ameles.toml"),
        ] {
            let config = Config::parse(text, "ameles.toml".as_ref()).unwrap();
            let error = DemonstrationFolder::set_up(Pattern::Sweep, config).unwrap_err().to_string();
            let expected = format!("{name} cannot be combined with --demonstration");
            assert!(error.starts_with(&expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_vault_is_small_and_its_folder_is_removed() {
        let (demonstration, config) = DemonstrationFolder::set_up(Pattern::Quiet, Config::default()).unwrap();
        let settings = Settings::resolve(config).unwrap();
        let root = settings.data.root().to_owned();
        assert!(root.is_dir() && demonstration.bare_folder().starts_with(&root));
        assert_eq!(settings.blocks(), 1024);
        std::fs::write(root.join("something"), "").unwrap();
        demonstration.remove().unwrap();
        assert!(!root.exists());
    }
}
