//! The folder of a report, from a flag.

use super::path_errors::is_path_error;
use crate::commands::usage_error::usage_error;
use ameles_lab::report::{Folder, WriteError};
use anyhow::{Context, Result};
use std::path::Path;

/// Checks that a report can be written into the folder that a flag names. Creates nothing.
///
/// # Errors
/// A usage error for a folder with other files or an impossible path; errors of the file system.
pub(super) fn open(flag: &str, path: &Path) -> Result<Folder> {
    let why = || format!("{flag} {} cannot be written", path.display());
    match Folder::open(path) {
        Err(error @ WriteError::NotEmpty) => {
            Err(usage_error(format!("{flag} {}: {error}", path.display())).into())
        }
        Err(WriteError::Io(error)) if is_path_error(&error) => {
            Err(usage_error(format!("{}: {error}: name a writable folder, or a new one", why())).into())
        }
        folder => folder.with_context(why),
    }
}
