//! A master key in a file that only its owner can read, or in an environment variable.

use crate::key_text::{self, NotAKey};
use crate::master_key::MasterKey;
use rand_core::{OsRng, TryRngCore};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::string::String;
use zeroize::Zeroizing;

/// The maximum number of bytes of a key file: a longer file is not a key file.
const MAX_FILE_BYTES: u64 = 4096;

/// The reason why a master key could not be read or created.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file could not be read or written.
    #[error("cannot {doing} the key file {path}: {cause}", path = .path.display())]
    Io {
        /// The action that was tried: "read", "create", ….
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// There is no such file.
    #[error("there is no key file {path}: name the copy of the key that you keep", path = .0.display())]
    Missing(PathBuf),
    /// The folder of a new key file does not exist.
    #[error("the key file {path} cannot be created, because its folder does not exist: create the folder first", path = .0.display())]
    NoFolder(PathBuf),
    /// The path is a folder.
    #[error("the key file {path} is a folder, not a file: name the key's file", path = .0.display())]
    Folder(PathBuf),
    /// The file can be read or changed by others than its owner.
    #[error(
        "the key file {path} has mode {mode:04o}, which lets others read or change it; run `chmod 600 {path}`",
        path = .path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// The file does not contain a key.
    #[error("the key file {path} holds no key: {cause}", path = .path.display())]
    NotAKey {
        /// The file.
        path: PathBuf,
        /// The problem of its text.
        cause: NotAKey,
    },
    /// The environment variable is not set.
    #[error("the environment variable {0} is not set; put the master key there")]
    Unset(String),
    /// The environment variable does not contain a key.
    #[error("the environment variable {name} holds no key: {cause}")]
    NotAKeyInVariable {
        /// The variable.
        name: String,
        /// The problem of its text.
        cause: NotAKey,
    },
}

/// Draws a master key from the operating system and writes it durably to a new file with mode 0600.
///
/// # Errors
/// [`KeyFileError::NoFolder`]. [`KeyFileError::Io`], also for an existing file, which is never replaced.
pub fn create(path: &Path) -> Result<MasterKey, KeyFileError> {
    let fail = |cause| io_error("create", path, cause);
    let key = MasterKey::draw(&mut OsRng.unwrap_err());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => KeyFileError::NoFolder(path.to_owned()),
        _ => fail(cause),
    })?;
    let mut text = key_text::write(&key);
    text.push('\n');
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| sync_folder(path))
        .map_err(fail)?;
    Ok(key)
}

/// Reads a master key.
///
/// # Errors
/// [`KeyFileError::Missing`], [`KeyFileError::Io`], [`KeyFileError::Folder`], [`KeyFileError::Exposed`],
/// [`KeyFileError::NotAKey`].
pub fn load(path: &Path) -> Result<MasterKey, KeyFileError> {
    let fail = |cause| io_error("read", path, cause);
    let file = File::open(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => KeyFileError::Missing(path.to_owned()),
        _ => fail(cause),
    })?;
    if file.metadata().map_err(fail)?.is_dir() {
        return Err(KeyFileError::Folder(path.to_owned()));
    }
    refuse_exposed(path, &file)?;
    let mut text = Zeroizing::new(String::with_capacity(MAX_FILE_BYTES as usize));
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(fail)?;
    key_text::parse(&text).map_err(|cause| KeyFileError::NotAKey { path: path.to_owned(), cause })
}

/// Reads a master key from an environment variable.
///
/// The process's environment keeps a copy that cannot be wiped: prefer a file.
///
/// # Errors
/// [`KeyFileError::Unset`], [`KeyFileError::NotAKeyInVariable`].
pub fn from_environment(variable: &str) -> Result<MasterKey, KeyFileError> {
    let text = std::env::var_os(variable)
        .ok_or_else(|| KeyFileError::Unset(variable.to_owned()))?
        .into_string()
        .map_err(|text| KeyFileError::NotAKeyInVariable {
            name: variable.to_owned(),
            cause: NotAKey { length: text.len() },
        })?;
    let text = Zeroizing::new(text);
    key_text::parse(&text)
        .map_err(|cause| KeyFileError::NotAKeyInVariable { name: variable.to_owned(), cause })
}

fn io_error(doing: &'static str, path: &Path, cause: io::Error) -> KeyFileError {
    KeyFileError::Io { doing, path: path.to_owned(), cause }
}

// The open file is checked, not the path: so the file that is checked is the file that is read.
#[cfg(unix)]
fn refuse_exposed(path: &Path, file: &File) -> Result<(), KeyFileError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = file.metadata().map_err(|cause| io_error("read", path, cause))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Exposed { path: path.to_owned(), mode });
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_exposed(_path: &Path, _file: &File) -> Result<(), KeyFileError> {
    Ok(())
}

/// The name of a new file is durable only when its folder is.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::File::open(folder)?.sync_all(),
        _ => fs::File::open(".")?.sync_all(),
    }
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}
