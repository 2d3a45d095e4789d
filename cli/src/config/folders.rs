//! The paths of files on this machine: trusted state and key, separate from the untrusted side.

use super::settings_error::SettingsError;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// The default folder of a vault.
pub(super) const DEFAULT: &str = "ameles-data";
/// The file of the trusted disk, in the trusted folder.
pub(crate) const DATABASE: &str = "vault.redb";
/// The file that reserves space for a full disk.
pub(crate) const RESERVE: &str = "vault.reserve";

/// The folder of one vault.
///
/// ```text
/// ameles-data/master.key              the key, if it comes from a file and no other file is named
/// ameles-data/trusted/                position map, stash, journal, credentials; never give it away
/// ameles-data/trusted/successor/      the same files of the successor, while there is one
/// ameles-data/trusted/predecessor-…/  the trusted files of the vault that the successor has replaced
/// ameles-data/restoring/              a copy of the store's buckets, while a vault is restored
/// ameles-data/untrusted/              the untrusted store, if no other store is named
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFolder {
    root: PathBuf,
    trusted: PathBuf,
}

impl DataFolder {
    /// Names the folder, without creating it.
    pub fn new(root: PathBuf) -> Self {
        DataFolder { trusted: root.join("trusted"), root }
    }

    /// Returns the folder of the successor, inside this one.
    pub fn successor(&self) -> Self {
        DataFolder { root: self.root.clone(), trusted: self.trusted.join("successor") }
    }

    /// Returns the folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the flag with which a command in a shell finds this folder, after a space. The default needs none.
    pub fn flag(&self) -> String {
        if self.root == Path::new(DEFAULT) {
            return String::new();
        }
        let root = self.root.display().to_string();
        // The name of a file has no NUL, which cannot be quoted.
        let quoted = shlex::try_quote(&root).map_or(root.clone(), Cow::into_owned);
        format!(" --data {quoted}")
    }

    /// Returns the folder of the trusted state.
    pub fn trusted(&self) -> PathBuf {
        self.trusted.clone()
    }

    /// Returns the folder of the untrusted side, if no other store is named.
    pub fn untrusted(&self) -> PathBuf {
        self.root.join("untrusted")
    }

    /// Returns the folder for the files of a running restore.
    pub fn restoring(&self) -> PathBuf {
        self.trusted.with_file_name("restoring")
    }

    /// Returns the default file of the master key.
    pub fn master_key(&self) -> PathBuf {
        self.root.join("master.key")
    }

    /// Returns the file of the users of the gateway.
    pub fn credentials(&self) -> PathBuf {
        self.trusted().join("credentials.toml")
    }

    /// Refuses a file in the place of this folder, which has this name in errors.
    ///
    /// # Errors
    /// [`SettingsError::NotAFolder`].
    pub fn refuse_file(&self, name: String) -> Result<(), SettingsError> {
        if !self.root.exists() || self.root.is_dir() {
            return Ok(());
        }
        Err(SettingsError::NotAFolder { name, path: self.root.display().to_string() })
    }

    /// Creates the trusted folder, closed to other users of the machine.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn create_trusted(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.root)?;
        create_private(&self.trusted())
    }
}

#[cfg(unix)]
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}
