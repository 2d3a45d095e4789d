//! The folder of a report, which a flag names.

use super::blame::blames_the_path;
use crate::commands::misused::misused;
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
            Err(misused(format!("{flag} {}: {error}", path.display())).into())
        }
        Err(WriteError::Io(error)) if blames_the_path(&error) => {
            Err(misused(format!("{}: {error}: name a folder, or a new one, that can be written to", why()))
                .into())
        }
        folder => folder.with_context(why),
    }
}
