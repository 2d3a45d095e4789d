//! Files next to the database that belong to it. Each has a random name, which the database stores. So they can be moved
//! with the database to any folder, also to one with the files of another database.

use super::disk_reserve::DiskReserve;
use super::folder_sync::{make_durable, sync_folder};
use base16ct::lower::encode_string;
use rand_core::{OsRng, TryRngCore};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of a database.
pub(super) fn folder_of(database: &Path) -> PathBuf {
    database.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Creates a file with a new name; its name is durable when this returns.
pub(super) fn create(folder: &Path, extension: &str, reserve: &DiskReserve) -> io::Result<(String, File)> {
    let mut random = [0; 8];
    OsRng.try_fill_bytes(&mut random).map_err(io::Error::other)?;
    let name = format!("vault-{}.{extension}", encode_string(&random));
    let path = folder.join(&name);
    let create = || OpenOptions::new().read(true).write(true).create_new(true).open(&path);
    let file = reserve.retry_with_reserve(0, create)?;
    make_durable(&path, sync_folder)?;
    Ok((name, file))
}

/// Opens the file of this name.
pub(super) fn open(folder: &Path, name: &str) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(folder.join(name))
}
