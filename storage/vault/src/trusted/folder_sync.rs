//! Durable file names. A new file that was synced survives a power loss only if its folder was synced as well, and so
//! on upwards.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Makes the names of a file and of all folders above it durable, with a function that syncs one folder.
///
/// It does so for all names, however they were created: their creator may have been cut off before it synced them.
///
/// # Errors
/// The errors of the folder that holds the file, and disk failures of folders above it. A folder further up is skipped
/// if this user may not open it, or if its file system syncs no folders. Ameles did not create it.
pub(crate) fn make_durable(file: &Path, sync: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let folder = folder_of(file).canonicalize()?;
    sync(&folder)?;
    for above in folder.ancestors().skip(1) {
        match sync(above) {
            Err(error) if !is_anothers(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Syncs the entries of one folder.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

/// Syncs the entries of one folder. Not possible on this system, as folders cannot be opened.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_path_buf()
}

fn is_anothers(error: &io::Error) -> bool {
    let kinds = [
        ErrorKind::PermissionDenied,
        ErrorKind::InvalidInput,
        ErrorKind::Unsupported,
        ErrorKind::ReadOnlyFilesystem,
    ];
    kinds.contains(&error.kind())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;

    /// A folder that can lose power: then every name in it that was not synced is lost.
    pub(crate) struct FragileFolder {
        root: tempfile::TempDir,
        durable: RefCell<BTreeSet<PathBuf>>,
        /// The number of syncs until one fails, once.
        left: Cell<Option<u64>>,
        pub(crate) syncs: Cell<u64>,
    }

    impl FragileFolder {
        pub(crate) fn new() -> Self {
            FragileFolder {
                root: tempfile::tempdir().unwrap(),
                durable: RefCell::default(),
                left: Cell::new(None),
                syncs: Cell::new(0),
            }
        }

        /// A path in the folder.
        pub(crate) fn path(&self, below: &str) -> PathBuf {
            self.root.path().canonicalize().unwrap().join(below)
        }

        /// Makes one sync fail, after this many more.
        pub(crate) fn fail_after(&self, syncs: u64) {
            self.left.set(Some(syncs));
        }

        /// Syncs one folder.
        pub(crate) fn sync(&self, folder: &Path) -> io::Result<()> {
            if !folder.starts_with(self.path("")) {
                return Ok(());
            }
            self.syncs.set(self.syncs.get() + 1);
            match self.left.get() {
                Some(0) => {
                    self.left.set(None);
                    return Err(io::Error::other("the power has failed"));
                }
                left => self.left.set(left.map(|left| left - 1)),
            }
            for entry in std::fs::read_dir(folder)? {
                self.durable.borrow_mut().insert(entry?.path());
            }
            Ok(())
        }

        /// Drops every name that was not synced, with everything below it.
        pub(crate) fn lose_power(&self) {
            let mut open = vec![self.path("")];
            while let Some(folder) = open.pop() {
                for entry in std::fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    match (self.durable.borrow().contains(&path), path.is_dir()) {
                        (true, true) => open.push(path),
                        (true, false) => {}
                        (false, true) => std::fs::remove_dir_all(path).unwrap(),
                        (false, false) => std::fs::remove_file(path).unwrap(),
                    }
                }
            }
        }
    }

    #[test]
    fn a_fragile_folder_loses_a_name_that_was_not_synced_and_keeps_one_that_was() {
        let folder = FragileFolder::new();
        for name in ["kept", "lost"] {
            std::fs::create_dir(folder.path(name)).unwrap();
            std::fs::write(folder.path(name).join("file"), "text").unwrap();
            folder.sync(&folder.path(name)).unwrap();
            if name == "kept" {
                folder.sync(&folder.path("")).unwrap();
            }
        }
        folder.lose_power();
        assert!(folder.path("kept/file").exists() && !folder.path("lost").exists());
    }

    #[test]
    fn a_folder_above_that_is_another_users_is_left_out_and_a_failing_disk_is_not() {
        let folder = FragileFolder::new();
        let file = folder.path("file");
        let above = folder.path("").parent().unwrap().to_path_buf();
        let failing = |kind: ErrorKind| {
            make_durable(&file, |at| if at == above { Err(kind.into()) } else { folder.sync(at) })
        };
        failing(ErrorKind::PermissionDenied).unwrap();
        failing(ErrorKind::InvalidInput).unwrap();
        assert!(failing(ErrorKind::Other).is_err());
        assert!(make_durable(&file, |_| Err(ErrorKind::PermissionDenied.into())).is_err());
        make_durable(Path::new("bare-name"), sync_folder).unwrap();
    }
}
