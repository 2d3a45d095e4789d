//! The folder of a report, which a flag names.

use super::path_errors::is_path_error;
use crate::commands::usage_error::usage_error;
use ameles_lab::report::{Folder, WriteError};
use anyhow::{Context, Result};
use std::path::Path;

/// Sees whether a report can be written into the folder that a flag names. Nothing is made yet.
///
/// # Errors
/// A folder with files of somebody else's, or a path at which none can be, as for a mistyped flag; those of the file system.
pub(super) fn open(flag: &str, path: &Path) -> Result<Folder> {
    let why = || format!("{flag} {} cannot be written", path.display());
    match Folder::open(path) {
        Err(error @ WriteError::NotEmpty) => {
            Err(usage_error(format!("{flag} {}: {error}", path.display())).into())
        }
        Err(WriteError::Io(error)) if is_path_error(&error) => Err(usage_error(format!(
            "{}: {error}: name a folder, or a new one, that can be written to",
            why()
        ))
        .into()),
        folder => folder.with_context(why),
    }
}
