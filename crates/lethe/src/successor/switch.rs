//! The successor's trusted disk takes the place of the old one.
//!
//! When the successor holds everything, a mark says so; from then on every start carries the switch out, from wherever
//! the last one was cut off. There is no moment without a database under the vault's name: the old one gets a second name
//! in `predecessor-…/`, and the new one takes its first by one rename.

use super::note::{Note, sync_folder_of};
use crate::folders::DataFolder;
use crate::place::DATABASE;
use anyhow::{Context, Result, bail};
use lethe_seal::versions::VaultId;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Stands in the successor's folder from the moment that it holds everything, and names the vault before it.
const MARK: &str = "complete";
/// Letters of the old vault's identity in the name of its folder.
const LETTERS: usize = 16;

/// Marks that the successor of `old` holds everything, durably. It must be closed, or serve from now on.
///
/// # Errors
/// The trusted folder cannot be written.
pub fn begin(data: &DataFolder, old: VaultId) -> Result<()> {
    let mark = data.of_successor().trusted().join(MARK);
    let write = || -> std::io::Result<()> {
        let mut new = tempfile::NamedTempFile::new_in(data.of_successor().trusted())?;
        std::io::Write::write_all(&mut new, old.to_string().as_bytes())?;
        new.as_file().sync_all()?;
        new.persist(&mark)?;
        Ok(())
    };
    write().with_context(|| format!("writing {}", mark.display()))?;
    sync_folder_of(&mark)
}

/// Carries the switch out if it was begun. Returns where the old vault's trusted disk is now.
///
/// # Errors
/// The trusted folder cannot be written. Nothing is lost: the next one goes on.
pub fn finish(data: &DataFolder) -> Result<Option<PathBuf>> {
    let successor = data.of_successor().trusted();
    let mark = successor.join(MARK);
    let old = match std::fs::read_to_string(&mark) {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("reading {}", mark.display())),
    };
    if old.len() < LETTERS || !old.bytes().all(|letter| letter.is_ascii_hexdigit()) {
        bail!("{} is not as `lethe` has written it", mark.display());
    }
    let trusted = data.trusted();
    let predecessor = trusted.join(format!("predecessor-{}", &old[..LETTERS]));
    step(&predecessor, |folder| crate::folders::make_private(folder))?;
    let (old, new, before) = (trusted.join(DATABASE), successor.join(DATABASE), predecessor.join(DATABASE));
    if new.exists() {
        step(&before, |before| unless_there(std::fs::hard_link(&old, before)))?;
        sync_folder_of(&before)?;
        sync_folder_of(&predecessor)?;
        step(&old, |old| unless_gone(std::fs::rename(&new, old)))?;
        sync_folder_of(&old)?;
    }
    // Its figures are those of the old vault until the new one leaves its own.
    let (figures, kept) = (trusted.join("status.json"), predecessor.join("status.json"));
    if !kept.exists() {
        step(&kept, |kept| unless_gone(std::fs::rename(&figures, kept)))?;
    }
    if let Some(note) = Note::load(data)? {
        step(&trusted, |_| Ok(()))?;
        note.leave_moved(data)?;
        step(&successor, |_| Ok(()))?;
        Note::forget(data)?;
    }
    // The mark last: as long as it stands, all of this is done again.
    step(&mark, |mark| unless_gone(std::fs::remove_file(mark)))?;
    sync_folder_of(&mark)?;
    step(&successor, |folder| unless_gone(std::fs::remove_dir_all(folder)))?;
    Ok(Some(predecessor))
}

/// Whether the switch has begun: the successor cannot be taken back any more.
pub fn has_begun(data: &DataFolder) -> bool {
    data.of_successor().trusted().join(MARK).exists()
}

fn step(at: &Path, work: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    work(at).with_context(|| format!("switching to the successor: {}", at.display()))
}

fn unless_there(outcome: std::io::Result<()>) -> std::io::Result<()> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome,
    }
}

fn unless_gone(outcome: std::io::Result<()>) -> std::io::Result<()> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}
