//! The folder of a report, which a flag names.

use crate::commands::misused::misused;
use anyhow::{Context, Result};
use lethe_lab::report::{Folder, WriteError};
use std::path::Path;

/// Sees whether a report can be written into the folder that a flag names. Nothing is made yet.
///
/// # Errors
/// A folder with files of somebody else's, as for a mistyped flag; those of the file system.
pub(super) fn open(flag: &str, path: &Path) -> Result<Folder> {
    match Folder::open(path) {
        Err(error @ WriteError::NotEmpty) => {
            Err(misused(format!("{flag} {}: {error}", path.display())).into())
        }
        folder => folder.with_context(|| format!("{flag} {} cannot be written", path.display())),
    }
}
