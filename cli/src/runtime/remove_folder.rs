//! A folder that goes, with all that is in it.

use anyhow::{Context, Result};
use std::path::Path;

/// Removes a folder. One that is not there is as good as removed.
///
/// # Errors
/// What the system says, with the folder's name.
pub fn remove_folder(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", folder.display()))
        }
        _ => Ok(()),
    }
}
