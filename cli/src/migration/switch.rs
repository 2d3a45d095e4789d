//! The successor's trusted disk takes the place of the old one.
//!
//! When the successor holds everything, a mark says so; from then on every start carries the switch out, from wherever
//! the last one was cut off. There is no moment without a database under the vault's name: the old one gets a second name
//! in `predecessor-…/`, and the new one takes its first by one rename. The files of their stashes have names of their own:
//! they get a second name where they belong before that, and lose their first after it.
//!
//! Every command that opens a vault carries it out, and one at a time does: it locks the mark, which goes last.

use super::record::{MigrationRecord, is_absent, sync_folder_of};
use crate::config::folders::{DATABASE, DataFolder, RESERVE};
use crate::runtime::replace::replace_durably;
use ameles_seal::versions::VaultId;
use ameles_vault::VaultError;
use anyhow::{Context, Result, bail};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read};
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
    replace_durably(&mark, old.to_string().as_bytes()).with_context(|| format!("writing {}", mark.display()))
}

/// Carries the switch out if it was begun. Returns where the old vault's trusted disk is now.
///
/// # Errors
/// [`VaultError::Locked`] while another process carries it out; the trusted folder cannot be written. Nothing is lost: the
/// next one goes on.
pub fn finish(data: &DataFolder) -> Result<Option<PathBuf>> {
    let successor = data.of_successor().trusted();
    let mark = successor.join(MARK);
    let Some((_locked, old)) = take_hold_of(&mark)? else { return Ok(None) };
    if old.len() < LETTERS || !old.bytes().all(|letter| letter.is_ascii_hexdigit()) {
        bail!("{} is not as `ameles` has written it", mark.display());
    }
    let trusted = data.trusted();
    let predecessor = trusted.join(format!("predecessor-{}", &old[..LETTERS]));
    step(&predecessor, crate::config::folders::make_private)?;
    let (old, new, before) = (trusted.join(DATABASE), successor.join(DATABASE), predecessor.join(DATABASE));
    if new.exists() {
        let is_new = |name: &Path| successor.join(name).exists();
        link_all(stashes(&trusted)?.filter(|name| !is_new(name)), &trusted, &predecessor)?;
        link_all(stashes(&successor)?, &successor, &trusted)?;
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
    if let Some(note) = MigrationRecord::load(data)? {
        step(&trusted, |_| Ok(()))?;
        note.leave_moved(data)?;
        step(&successor, |_| Ok(()))?;
        MigrationRecord::forget(data)?;
    }
    // Those of the old vault have their other name by now, and nothing else goes.
    for name in stashes(&trusted)?.filter(|name| predecessor.join(name).exists()) {
        step(&trusted.join(name), |stash| unless_gone(std::fs::remove_file(stash)))?;
    }
    for name in stashes(&successor)?.filter(|name| trusted.join(name).exists()) {
        step(&successor.join(name), |stash| unless_gone(std::fs::remove_file(stash)))?;
    }
    // Room that is set aside for when a disk is full: the folder of the vault that is served has its own.
    step(&successor.join(RESERVE), |reserve| unless_gone(std::fs::remove_file(reserve)))?;
    // The mark last: as long as it stands, all of this is done again. What comes into the folder afterwards is another's.
    step(&mark, |mark| unless_gone(std::fs::remove_file(mark)))?;
    sync_folder_of(&mark)?;
    step(&successor, |folder| unless_used(std::fs::remove_dir(folder)))?;
    Ok(Some(predecessor))
}

/// Locks the mark until what is returned is dropped, with what it says; `None` if there is none, or it has gone meanwhile.
fn take_hold_of(mark: &Path) -> Result<Option<(File, String)>> {
    let reading = || format!("reading {}", mark.display());
    let mut file = match File::options().read(true).write(true).open(mark) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error).with_context(reading),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let folder = mark.parent().unwrap_or(mark).display().to_string();
            return Err(anyhow::Error::new(VaultError::Locked).context(folder));
        }
        // Where files cannot be locked, neither can the database be.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => return Err(error).with_context(reading),
    }
    let mut old = String::new();
    file.read_to_string(&mut old).with_context(reading)?;
    // Whoever had it locked before has removed it.
    Ok(mark.try_exists().with_context(reading)?.then_some((file, old)))
}

/// The names of the files of stashes in a folder.
fn stashes(folder: &Path) -> Result<impl Iterator<Item = PathBuf>> {
    let looking = || format!("looking through {}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(looking)? {
        let name = PathBuf::from(entry.with_context(looking)?.file_name());
        if name.extension().is_some_and(|kind| kind == "stash") {
            found.push(name);
        }
    }
    found.sort();
    Ok(found.into_iter())
}

/// Gives files a second name in another folder.
fn link_all(names: impl Iterator<Item = PathBuf>, from: &Path, to: &Path) -> Result<()> {
    names.into_iter().try_for_each(|name| {
        step(&to.join(&name), |there| unless_there(std::fs::hard_link(from.join(&name), there)))
    })
}

/// Tells whether the switch has begun: the successor cannot be taken back any more.
pub fn has_begun(data: &DataFolder) -> bool {
    data.of_successor().trusted().join(MARK).exists()
}

/// A change of the trusted folder. The process may end before any of them.
fn step(at: &Path, work: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    #[cfg(test)]
    tests::spend()?;
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

/// A folder that another has put something into stays.
fn unless_used(outcome: std::io::Result<()>) -> std::io::Result<()> {
    match unless_gone(outcome) {
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
        /// Steps until the process ends, or another one comes in between.
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
        /// The folder that another process starts with then.
        static OTHER: RefCell<Option<DataFolder>> = const { RefCell::new(None) };
    }

    pub(super) fn spend() -> Result<()> {
        let left = LEFT.get();
        LEFT.set(left.and_then(|left| left.checked_sub(1)));
        if left != Some(0) {
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

    /// A vault whose successor holds everything.
    fn data() -> (tempfile::TempDir, DataFolder) {
        let home = tempfile::tempdir().unwrap();
        let data = DataFolder::new(home.path().to_path_buf());
        std::fs::create_dir_all(data.of_successor().trusted()).unwrap();
        std::fs::write(data.trusted().join(DATABASE), "old").unwrap();
        std::fs::write(data.trusted().join("status.json"), "old").unwrap();
        std::fs::write(data.trusted().join("credentials.toml"), "kept").unwrap();
        std::fs::write(data.trusted().join("vault-1.stash"), "old").unwrap();
        std::fs::write(data.of_successor().trusted().join(DATABASE), "new").unwrap();
        std::fs::write(data.of_successor().trusted().join("vault-2.stash"), "new").unwrap();
        let settings = Settings::resolve(Config::default()).unwrap();
        let at = || VaultLocation::of(&settings).unwrap();
        MigrationRecord { from: at(), to: at() }.leave(&data).unwrap();
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
        assert_eq!(after["vault-2.stash"], "new");
        for name in [DATABASE, "vault-1.stash", "status.json"] {
            assert_eq!(after[&format!("{kept}/{name}")], "old");
        }
        assert_eq!(after["credentials.toml"], "kept");
        assert!(after.contains_key("moved.toml"));
        // An empty folder of the successor's may be left: the next one takes it.
        assert_eq!(after.len(), 7, "{:?}", after.keys());
        assert_eq!(finish(data).unwrap(), None);
    }

    #[test]
    fn without_its_mark_a_switch_does_nothing() {
        let (_home, data) = data();
        let before = contents(&data.trusted());
        assert_eq!(finish(&data).unwrap(), None);
        assert_eq!(contents(&data.trusted()), before);
    }

    #[test]
    fn a_switch_that_is_cut_off_anywhere_is_finished_by_the_next_start() {
        let mut cut_off = 0;
        loop {
            let (_home, data) = data();
            begin(&data, OLD).unwrap();
            assert!(has_begun(&data));
            LEFT.set(Some(cut_off));
            let first = finish(&data);
            // There is a database under the vault's name at any moment.
            let now = contents(&data.trusted())[DATABASE].clone();
            assert!(["old", "new"].contains(&now.as_str()), "{now}");
            LEFT.set(None);
            let was_cut_off = first.is_err();
            if was_cut_off {
                finish(&data).unwrap();
            }
            assert_is_finished(&data);
            if !was_cut_off {
                break;
            }
            cut_off += 1;
        }
        assert!(cut_off >= 7, "{cut_off} steps");
    }

    #[test]
    fn of_two_that_finish_a_switch_one_does_and_the_other_is_told() {
        for step in 0.. {
            let (_home, data) = data();
            begin(&data, OLD).unwrap();
            LEFT.set(Some(step));
            OTHER.set(Some(data.clone()));
            finish(&data).unwrap();
            LEFT.set(None);
            assert_is_finished(&data);
            if OTHER.take().is_some() {
                assert!(step >= 7, "{step} steps");
                break;
            }
        }
    }
}
