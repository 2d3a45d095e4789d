//! The file of the stash's places, made when a payload is first written.
//!
//! It has a name of its own, which the database remembers: a database that is moved to another folder is followed by its
//! file, and meets no other's there.

use super::names::{make_durable, sync_folder};
use base16ct::lower::encode_string;
use rand_core::{OsRng, TryRngCore};
use redb::StorageBackend;
use redb::backends::FileBackend;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// See the module.
pub(super) struct PlacesFile {
    file: OnceLock<Box<dyn StorageBackend>>,
    /// The folder of the database; `None` for a file that was given.
    folder: Option<PathBuf>,
}

impl PlacesFile {
    /// A file in the folder of this database.
    pub(super) fn beside(database: &Path) -> Self {
        let folder = database.parent().map(Path::to_path_buf).unwrap_or_default();
        PlacesFile { file: OnceLock::new(), folder: Some(folder) }
    }

    /// A file of the caller's own.
    pub(super) fn given(file: impl StorageBackend) -> Self {
        PlacesFile { file: OnceLock::from(Box::new(file) as Box<dyn StorageBackend>), folder: None }
    }

    /// The file, if it is open.
    pub(super) fn get(&self) -> Option<&dyn StorageBackend> {
        self.file.get().map(|file| &**file)
    }

    /// Opens the file of this name.
    pub(super) fn open(&self, name: &str) -> io::Result<&dyn StorageBackend> {
        let file = OpenOptions::new().read(true).write(true).open(self.path(name))?;
        self.take(file)
    }

    /// Makes a file under a new name, durable when this returns.
    pub(super) fn make(&self) -> io::Result<String> {
        let mut random = [0; 8];
        OsRng.try_fill_bytes(&mut random).map_err(io::Error::other)?;
        let name = format!("vault-{}.stash", encode_string(&random));
        let path = self.path(&name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        make_durable(&path, sync_folder)?;
        self.take(file)?;
        Ok(name)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.as_deref().unwrap_or(Path::new("")).join(name)
    }

    fn take(&self, file: File) -> io::Result<&dyn StorageBackend> {
        let file = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(&**self.file.get_or_init(|| Box::new(file)))
    }
}
