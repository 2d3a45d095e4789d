//! Atomic replacement of files, which only their owner can read from the start.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Replaces the contents of a file. After a crash of the machine, the file may have its old contents.
///
/// # Errors
/// The folder cannot be written.
pub fn replace(file: &Path, contents: &[u8]) -> io::Result<()> {
    let mut new = NamedTempFile::new_in(parent_folder(file))?;
    new.write_all(contents)?;
    new.persist(file)?;
    Ok(())
}

/// Replaces the contents of a file durably: they survive a crash of the machine.
///
/// # Errors
/// The folder cannot be written.
pub fn replace_durably(file: &Path, contents: &[u8]) -> io::Result<()> {
    temporary_file(file, contents)?.persist(file)?;
    File::open(parent_folder(file))?.sync_all()
}

/// Creates a file with these contents durably.
///
/// # Errors
/// The folder cannot be written, or the file exists.
pub fn create_durably(file: &Path, contents: &[u8]) -> io::Result<()> {
    temporary_file(file, contents)?.persist_noclobber(file)?;
    File::open(parent_folder(file))?.sync_all()
}

fn temporary_file(file: &Path, contents: &[u8]) -> io::Result<NamedTempFile> {
    let mut new = NamedTempFile::new_in(parent_folder(file))?;
    new.write_all(contents)?;
    new.as_file().sync_all()?;
    Ok(new)
}

/// Returns the folder of a file: `.` for a name alone.
pub fn parent_folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
