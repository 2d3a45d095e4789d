//! A file of figures. An existing file is replaced only when the new one is complete.

use super::path_errors::is_path_error;
use crate::commands::usage_error::usage_error;
use crate::runtime::atomic_file::parent_folder;
use anyhow::{Context, Result};
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A writable file.
pub(super) enum Output {
    /// A file that is created or replaced at the end.
    File(PathBuf),
    /// A pipe or a device, which is written directly.
    Stream(File),
}

/// Checks that the file that a flag names can be written. Creates nothing.
///
/// # Errors
/// A usage error for an impossible path; errors of the file system.
pub(super) fn open(flag: &str, path: &Path) -> Result<Output> {
    let why = || format!("{flag} {} cannot be written", path.display());
    match Output::open(path) {
        Err(error) if is_path_error(&error) => {
            let advice = "name a file in an existing, writable folder";
            Err(usage_error(format!("{}: {error}: {advice}", why())).into())
        }
        output => output.with_context(why),
    }
}

impl Output {
    /// Checks that the file can be written. Creates nothing.
    ///
    /// # Errors
    /// The errors of the file system.
    fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return File::options().write(true).open(path).map(Output::Stream);
        }
        // The temporary file has no name, so it disappears with the process.
        tempfile::tempfile_in(parent_folder(path))?;
        Ok(Output::File(path.to_owned()))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// The errors of the file system.
    pub(super) fn write(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let write_buffered = |file: &mut dyn Write| {
            let mut file = BufWriter::new(file);
            write(&mut file)?;
            file.flush()
        };
        match self {
            Output::Stream(mut file) => write_buffered(&mut file),
            Output::File(path) => {
                // The permissions of any new file, limited by the process's umask.
                let permissions = Permissions::from_mode(0o666);
                let mut new =
                    tempfile::Builder::new().permissions(permissions).tempfile_in(parent_folder(&path))?;
                write_buffered(&mut new)?;
                new.persist(path)?;
                Ok(())
            }
        }
    }
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
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no file remains if the process is killed");
        let failed = Output::open(&path).unwrap().write(|file| {
            file.write_all(b"half")?;
            Err(io::Error::other("the run failed"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        Output::open(&path).unwrap().write(|file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no other file remains");
        assert!(Output::open(&folder.path().join("none/figures.csv")).is_err());
    }
}
