//! The room that a run needs on the disk: without it, a linker dies of a bus error half an hour later.

use crate::tool::target_folder;
use anyhow::{Context, Result, ensure};
use std::fs;

/// The bytes that a whole run writes into an empty target folder, rounded up.
const WHOLE_RUN: u64 = 10_000_000_000;
/// The bytes that a whole run may add to the target folder of an earlier one.
const NEXT_RUN: u64 = 3_000_000_000;

/// Fails if the disk of the target folder has no room for a whole run.
pub fn check_for_whole_run() -> Result<()> {
    let folder = target_folder()?;
    let needed = if folder.join("tests").exists() { NEXT_RUN } else { WHOLE_RUN };
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let disk =
        rustix::fs::statvfs(&folder).with_context(|| format!("asking how full {} is", folder.display()))?;
    let free = disk.f_bavail * disk.f_frsize;
    ensure!(
        free >= needed,
        "the disk of {} has {:.1} GB free, but a run writes up to {:.0} GB: free some space, or set CARGO_TARGET_DIR to \
         another disk",
        folder.display(),
        free as f64 / 1e9,
        needed as f64 / 1e9
    );
    Ok(())
}
