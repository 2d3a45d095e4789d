//! The files that a command made on this machine, taken back if it fails: a failed `ameles init` leaves no half of a
//! vault.

use std::path::{Path, PathBuf};

/// Paths that were not there before, the outer ones first. Every other path has another owner and stays.
#[derive(Debug, Default)]
pub struct CreatedFiles {
    folders: Vec<PathBuf>,
    filled: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl CreatedFiles {
    /// A list with nothing in it yet.
    pub fn new() -> Self {
        CreatedFiles::default()
    }

    /// Says that `folder` and those above it that are missing are about to be made.
    pub fn will_make_folder(&mut self, folder: &Path) {
        let missing: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_path_buf)
            .collect();
        self.folders.extend(missing.into_iter().rev());
    }

    /// Says that `folder` is about to be made, if it is not there, and that everything that will be in it is ours.
    pub fn will_fill_folder(&mut self, folder: &Path) {
        if !folder.exists() {
            self.will_make_folder(folder);
            self.filled.push(folder.to_path_buf());
        }
    }

    /// Says that `file` is about to be made, if it is not there.
    pub fn will_make_file(&mut self, file: &Path) {
        if !file.exists() {
            self.files.push(file.to_path_buf());
        }
    }

    /// Removes what was made. A folder that holds anything else stays.
    pub fn take_back(self) {
        // A file that was never made, or is gone, needs no removing; nor could a failure be mended here.
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
        for folder in &self.filled {
            let _ = std::fs::remove_dir_all(folder);
        }
        for folder in self.folders.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_made_is_taken_back() {
        let there = tempfile::tempdir().unwrap();
        let (outer, inner) = (there.path().join("a"), there.path().join("a/b"));
        let (new, old) = (inner.join("new"), there.path().join("old"));
        std::fs::write(&old, "kept").unwrap();
        let mut made = CreatedFiles::new();
        made.will_make_folder(&inner);
        made.will_make_file(&new);
        made.will_make_file(&old);
        made.will_fill_folder(&outer.join("filled"));
        made.will_fill_folder(there.path());
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir_all(outer.join("filled/deep")).unwrap();
        std::fs::write(&new, "x").unwrap();
        made.take_back();
        assert!(!outer.exists());
        assert_eq!(std::fs::read(&old).unwrap(), b"kept");
    }

    #[test]
    fn a_folder_with_something_of_another_stays() {
        let there = tempfile::tempdir().unwrap();
        let folder = there.path().join("a");
        let mut made = CreatedFiles::new();
        made.will_make_folder(&folder);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("theirs"), "kept").unwrap();
        made.take_back();
        assert!(folder.join("theirs").exists());
    }
}
