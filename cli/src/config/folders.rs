//! The places of files on this machine: trusted state and key apart from the untrusted side.

use std::io;
use std::path::{Path, PathBuf};

/// The trusted disk's file, in the trusted folder.
pub(crate) const DATABASE: &str = "vault.redb";
/// The file of the room that is kept beside it.
pub(crate) const RESERVE: &str = "vault.reserve";

/// The folder of one vault.
///
/// ```text
/// ameles-data/master.key              the key, if it comes from a file and no other was named
/// ameles-data/trusted/                position map, stash, journal, credentials; never give it away
/// ameles-data/trusted/successor/      the same of the vault that is to take this one's place, while there is one
/// ameles-data/trusted/predecessor-…/  what was trusted of the vault that was here before
/// ameles-data/restoring/              a copy of the store's buckets, while a vault is restored
/// ameles-data/untrusted/              what a provider would hold, if no other store was named
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFolder {
    root: PathBuf,
    trusted: PathBuf,
}

impl DataFolder {
    /// Names the folder; makes nothing.
    pub fn new(root: PathBuf) -> Self {
        DataFolder { trusted: root.join("trusted"), root }
    }

    /// The same folder as the successor of its vault sees it.
    pub fn successor(&self) -> Self {
        DataFolder { root: self.root.clone(), trusted: self.trusted.join("successor") }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the trusted state.
    pub fn trusted(&self) -> PathBuf {
        self.trusted.clone()
    }

    /// The folder of the untrusted side when no other store was named.
    pub fn untrusted(&self) -> PathBuf {
        self.root.join("untrusted")
    }

    /// The folder of what a restore keeps until it is complete. A successor is never restored, and has one of its own.
    pub fn restoring(&self) -> PathBuf {
        self.trusted.with_file_name("restoring")
    }

    /// The master key's file when no other was named.
    pub fn master_key(&self) -> PathBuf {
        self.root.join("master.key")
    }

    /// The users of the gateway.
    pub fn credentials(&self) -> PathBuf {
        self.trusted().join("credentials.toml")
    }

    /// Makes the trusted folder, closed to other users of the machine.
    ///
    /// # Errors
    /// What the file system says.
    pub fn make_trusted(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.root)?;
        make_private(&self.trusted())
    }
}

#[cfg(unix)]
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}
