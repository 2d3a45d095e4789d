//! Removing a folder with its contents.

use anyhow::{Context, Result};
use std::path::Path;

/// Removes a folder with its contents, if it exists.
///
/// # Errors
/// The error of the system, with the folder's name.
pub fn remove_folder(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", folder.display()))
        }
        _ => Ok(()),
    }
}
