//! The switch to the successor: its trusted disk replaces the old one.
//!
//! When the successor is complete, a mark file records it. From then on every start runs the switch, and continues
//! where the last one was interrupted. There is always a database under the vault's name: the old one is hard-linked
//! into `predecessor-…/`, and one rename replaces it by the new one. The files of stashes and journals have unique
//! names. They are hard-linked into their new folder before that rename, and removed from their old folder after it.
//!
//! Every command that opens a vault runs the switch. It locks the mark, so only one runs at a time, and removes it
//! last.

use super::record::{MigrationRecord, is_missing, sync_parent};
use crate::config::folders::{DATABASE, DataFolder, RESERVE};
use crate::runtime::atomic_file::replace_durably;
use ameles_seal::versions::VaultId;
use ameles_vault::VaultError;
use anyhow::{Context, Result, bail};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The name of the mark in the successor's folder. The mark contains the identity of the old vault.
const MARK: &str = "complete";
/// The number of letters of the old vault's identity in the name of its folder.
const ID_LETTERS: usize = 16;

/// Marks durably that the successor of `old` is complete. The successor must be closed, or serve from now on.
///
/// # Errors
/// The trusted folder cannot be written.
pub fn mark_complete(data: &DataFolder, old: VaultId) -> Result<()> {
    let mark = data.successor().trusted().join(MARK);
    replace_durably(&mark, old.to_string().as_bytes()).with_context(|| format!("writing {}", mark.display()))
}

/// Runs the switch if the mark exists. Returns the new folder of the old vault's trusted disk.
///
/// # Errors
/// [`VaultError::Locked`] while another process runs it; the trusted folder cannot be written. No data is lost: the
/// next start continues.
pub fn finish(data: &DataFolder) -> Result<Option<PathBuf>> {
    let successor = data.successor().trusted();
    let mark = successor.join(MARK);
    let Some((_locked, old)) = lock_mark(&mark)? else { return Ok(None) };
    if old.len() < ID_LETTERS || !old.bytes().all(|letter| letter.is_ascii_hexdigit()) {
        bail!("{} is damaged: it differs from what `ameles` writes", mark.display());
    }
    let trusted = data.trusted();
    let predecessor = trusted.join(format!("predecessor-{}", &old[..ID_LETTERS]));
    step(&predecessor, crate::config::folders::create_private)?;
    let (old, new, database_copy) =
        (trusted.join(DATABASE), successor.join(DATABASE), predecessor.join(DATABASE));
    if new.exists() {
        let is_new = |name: &Path| successor.join(name).exists();
        link_all(companion_files(&trusted)?.filter(|name| !is_new(name)), &trusted, &predecessor)?;
        link_all(companion_files(&successor)?, &successor, &trusted)?;
        step(&database_copy, |database_copy| ignore_existing(std::fs::hard_link(&old, database_copy)))?;
        sync_parent(&database_copy)?;
        sync_parent(&predecessor)?;
        step(&old, |old| ignore_missing(std::fs::rename(&new, old)))?;
        sync_parent(&old)?;
    }
    // The figures belong to the old vault until the new one writes its own.
    let (figures, kept) = (trusted.join("status.json"), predecessor.join("status.json"));
    if !kept.exists() {
        step(&kept, |kept| ignore_missing(std::fs::rename(&figures, kept)))?;
    }
    if let Some(record) = MigrationRecord::load(data)? {
        step(&trusted, |_| Ok(()))?;
        record.save_moved(data)?;
        step(&successor, |_| Ok(()))?;
        MigrationRecord::remove_records(data)?;
    }
    // Only files that already have their second name are removed.
    for name in companion_files(&trusted)?.filter(|name| predecessor.join(name).exists()) {
        step(&trusted.join(name), |file| ignore_missing(std::fs::remove_file(file)))?;
    }
    for name in companion_files(&successor)?.filter(|name| trusted.join(name).exists()) {
        step(&successor.join(name), |file| ignore_missing(std::fs::remove_file(file)))?;
    }
    // The reserved space of the successor: the folder of the served vault has its own.
    step(&successor.join(RESERVE), |reserve| ignore_missing(std::fs::remove_file(reserve)))?;
    // The mark comes last: while it exists, the switch is repeated. Later files in the folder belong to another
    // successor.
    step(&mark, |mark| ignore_missing(std::fs::remove_file(mark)))?;
    sync_parent(&mark)?;
    step(&successor, |folder| ignore_not_empty(std::fs::remove_dir(folder)))?;
    Ok(Some(predecessor))
}

/// Locks the mark and returns it with its content; `None` if it does not exist or was removed meanwhile.
fn lock_mark(mark: &Path) -> Result<Option<(File, String)>> {
    let reading = || format!("reading {}", mark.display());
    let mut file = match File::options().read(true).write(true).open(mark) {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error).with_context(reading),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let folder = mark.parent().unwrap_or(mark).display().to_string();
            return Err(anyhow::Error::new(VaultError::Locked).context(folder));
        }
        // If files cannot be locked, the database cannot be locked either.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => return Err(error).with_context(reading),
    }
    let mut old = String::new();
    file.read_to_string(&mut old).with_context(reading)?;
    // The process that locked it before may have removed it.
    Ok(mark.try_exists().with_context(reading)?.then_some((file, old)))
}

/// Returns the names of the stash and journal files in a folder.
fn companion_files(folder: &Path) -> Result<impl Iterator<Item = PathBuf>> {
    let context = || format!("listing {}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let name = PathBuf::from(entry.with_context(context)?.file_name());
        if name.extension().is_some_and(|kind| kind == "stash" || kind == "journal") {
            found.push(name);
        }
    }
    found.sort();
    Ok(found.into_iter())
}

/// Hard-links files into another folder.
fn link_all(names: impl Iterator<Item = PathBuf>, from: &Path, to: &Path) -> Result<()> {
    names.into_iter().try_for_each(|name| {
        step(&to.join(&name), |there| ignore_existing(std::fs::hard_link(from.join(&name), there)))
    })
}

/// Returns true if the switch has begun: then the successor cannot be cancelled.
pub fn has_begun(data: &DataFolder) -> bool {
    data.successor().trusted().join(MARK).exists()
}

/// Runs one change of the trusted folder. The process may end before any of them.
fn step(at: &Path, work: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    #[cfg(test)]
    tests::count_step()?;
    work(at).with_context(|| format!("switching to the successor: {}", at.display()))
}

fn ignore_existing(outcome: std::io::Result<()>) -> std::io::Result<()> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome,
    }
}

fn ignore_missing(outcome: std::io::Result<()>) -> std::io::Result<()> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Ignores the error of a folder that is not empty.
fn ignore_not_empty(outcome: std::io::Result<()>) -> std::io::Result<()> {
    match ignore_missing(outcome) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};
    use crate::migration::record::VaultLocation;
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;

    thread_local! {
        /// The steps until the process ends, or until another one intervenes.
        static STEPS_LEFT: Cell<Option<u32>> = const { Cell::new(None) };
        /// The folder with which the other process starts.
        static OTHER: RefCell<Option<DataFolder>> = const { RefCell::new(None) };
    }

    pub(super) fn count_step() -> Result<()> {
        let steps_left = STEPS_LEFT.get();
        STEPS_LEFT.set(steps_left.and_then(|steps_left| steps_left.checked_sub(1)));
        if steps_left != Some(0) {
            return Ok(());
        }
        let Some(data) = OTHER.take() else { bail!("the process ends here") };
        match finish(&data) {
            Ok(done) => assert!(done.is_none() && !has_begun(&data)),
            Err(error) => assert!(matches!(error.downcast_ref(), Some(VaultError::Locked)), "{error:#}"),
        }
        Ok(())
    }

    const OLD: VaultId = VaultId([0xab; 16]);

    /// Creates a vault with a complete successor.
    fn data() -> (tempfile::TempDir, DataFolder) {
        let home = tempfile::tempdir().unwrap();
        let data = DataFolder::new(home.path().to_path_buf());
        std::fs::create_dir_all(data.successor().trusted()).unwrap();
        std::fs::write(data.trusted().join(DATABASE), "old").unwrap();
        std::fs::write(data.trusted().join("status.json"), "old").unwrap();
        std::fs::write(data.trusted().join("credentials.toml"), "kept").unwrap();
        std::fs::write(data.trusted().join("vault-1.stash"), "old").unwrap();
        std::fs::write(data.trusted().join("vault-3.journal"), "old").unwrap();
        std::fs::write(data.successor().trusted().join(DATABASE), "new").unwrap();
        std::fs::write(data.successor().trusted().join("vault-2.stash"), "new").unwrap();
        std::fs::write(data.successor().trusted().join("vault-4.journal"), "new").unwrap();
        let settings = Settings::resolve(Config::default()).unwrap();
        let at = || VaultLocation::of(&settings).unwrap();
        MigrationRecord { from: at(), to: at() }.save(&data).unwrap();
        (home, data)
    }

    fn contents(folder: &Path) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut folders = vec![folder.to_path_buf()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
        found
    }

    fn assert_is_finished(data: &DataFolder) {
        let after = contents(&data.trusted());
        let kept = "predecessor-abababababababab";
        assert_eq!(after[DATABASE], "new");
        assert_eq!((after["vault-2.stash"].as_str(), after["vault-4.journal"].as_str()), ("new", "new"));
        for name in [DATABASE, "vault-1.stash", "vault-3.journal", "status.json"] {
            assert_eq!(after[&format!("{kept}/{name}")], "old");
        }
        assert_eq!(after["credentials.toml"], "kept");
        assert!(after.contains_key("moved.toml"));
        // An empty folder of the successor may remain: the next successor uses it.
        assert_eq!(after.len(), 9, "{:?}", after.keys());
        assert_eq!(finish(data).unwrap(), None);
    }

    #[test]
    fn without_its_mark_a_switch_does_nothing() {
        let (_home, data) = data();
        let database_copy = contents(&data.trusted());
        assert_eq!(finish(&data).unwrap(), None);
        assert_eq!(contents(&data.trusted()), database_copy);
    }

    #[test]
    fn a_switch_that_is_interrupted_anywhere_is_finished_by_the_next_start() {
        let mut step = 0;
        loop {
            let (_home, data) = data();
            mark_complete(&data, OLD).unwrap();
            assert!(has_begun(&data));
            STEPS_LEFT.set(Some(step));
            let first = finish(&data);
            // There is a database under the vault's name at any moment.
            let now = contents(&data.trusted())[DATABASE].clone();
            assert!(["old", "new"].contains(&now.as_str()), "{now}");
            STEPS_LEFT.set(None);
            let was_interrupted = first.is_err();
            if was_interrupted {
                finish(&data).unwrap();
            }
            assert_is_finished(&data);
            if !was_interrupted {
                break;
            }
            step += 1;
        }
        assert!(step >= 7, "{step} steps");
    }

    #[test]
    fn of_two_processes_that_finish_a_switch_one_does_and_the_other_gets_an_error() {
        for step in 0.. {
            let (_home, data) = data();
            mark_complete(&data, OLD).unwrap();
            STEPS_LEFT.set(Some(step));
            OTHER.set(Some(data.clone()));
            finish(&data).unwrap();
            STEPS_LEFT.set(None);
            assert_is_finished(&data);
            if OTHER.take().is_some() {
                assert!(step >= 7, "{step} steps");
                break;
            }
        }
    }
}
