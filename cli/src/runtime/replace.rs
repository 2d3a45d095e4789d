//! Files that are replaced whole or not at all, and that only their owner can read from the first moment.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Gives a file these contents. After a crash of the machine it may have its earlier ones.
///
/// # Errors
/// The folder cannot be written.
pub fn replace(file: &Path, contents: &[u8]) -> io::Result<()> {
    let mut new = NamedTempFile::new_in(parent_folder(file))?;
    new.write_all(contents)?;
    new.persist(file)?;
    Ok(())
}

/// Gives a file these contents for good: they outlast a crash of the machine.
///
/// # Errors
/// The folder cannot be written.
pub fn replace_durably(file: &Path, contents: &[u8]) -> io::Result<()> {
    temporary_file(file, contents)?.persist(file)?;
    File::open(parent_folder(file))?.sync_all()
}

/// Makes a file with these contents for good, where none is yet.
///
/// # Errors
/// The folder cannot be written, or the file is there already.
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

fn parent_folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
