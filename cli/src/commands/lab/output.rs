//! A file of figures: the one that was there stays as it was until the new one is whole.

use super::path_errors::is_path_error;
use crate::commands::usage_error::usage_error;
use anyhow::{Context, Result};
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file that can be written.
pub(super) enum Output {
    /// A file that is made, or replaced, at the end.
    File(PathBuf),
    /// A pipe or a device, which is written as it is.
    Stream(File),
}

/// Sees whether the file that a flag names can be written. Nothing is made yet.
///
/// # Errors
/// A path at which no file can be, as for a mistyped flag; those of the file system.
pub(super) fn open(flag: &str, path: &Path) -> Result<Output> {
    let why = || format!("{flag} {} cannot be written", path.display());
    match Output::open(path) {
        Err(error) if is_path_error(&error) => {
            let advice = "name a file in a folder that is there and can be written to";
            Err(usage_error(format!("{}: {error}: {advice}", why())).into())
        }
        output => output.with_context(why),
    }
}

impl Output {
    /// Sees whether the file can be written. Nothing is made yet.
    ///
    /// # Errors
    /// Those of the file system.
    fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return File::options().write(true).open(path).map(Output::Stream);
        }
        // It has no name, so that it goes with the process.
        tempfile::tempfile_in(folder_of(path))?;
        Ok(Output::File(path.to_owned()))
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn write(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let whole = |file: &mut dyn Write| {
            let mut file = BufWriter::new(file);
            write(&mut file)?;
            file.flush()
        };
        match self {
            Output::Stream(mut file) => whole(&mut file),
            Output::File(path) => {
                // As any new file: what the process's mask leaves.
                let mask = Permissions::from_mode(0o666);
                let mut new = tempfile::Builder::new().permissions(mask).tempfile_in(folder_of(&path))?;
                whole(&mut new)?;
                new.persist(path)?;
                Ok(())
            }
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_when_the_new_one_is_whole_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.csv");
        fs::write(&path, "old").unwrap();
        let _open = Output::open(&path).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing stays if the process is killed");
        let failed = Output::open(&path).unwrap().write(|file| {
            file.write_all(b"half")?;
            Err(io::Error::other("the run failed"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        Output::open(&path).unwrap().write(|file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
        assert!(Output::open(&folder.path().join("none/figures.csv")).is_err());
    }
}
