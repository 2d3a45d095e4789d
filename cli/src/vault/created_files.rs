//! The files that a command created on this machine, to be removed if it fails: a failed `ameles init` leaves no
//! partial vault.

use std::path::{Path, PathBuf};

/// Paths that did not exist before, outer ones first. All other paths stay.
#[derive(Debug, Default)]
pub struct CreatedFiles {
    folders: Vec<PathBuf>,
    filled: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl CreatedFiles {
    /// Creates an empty list.
    pub fn new() -> Self {
        CreatedFiles::default()
    }

    /// Adds `folder` and its missing parents, which will be created.
    pub fn add_folder(&mut self, folder: &Path) {
        let missing: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_path_buf)
            .collect();
        self.folders.extend(missing.into_iter().rev());
    }

    /// Adds `folder` with its future contents, if it does not exist.
    pub fn add_filled_folder(&mut self, folder: &Path) {
        if !folder.exists() {
            self.add_folder(folder);
            self.filled.push(folder.to_path_buf());
        }
    }

    /// Adds `file`, if it does not exist.
    pub fn add_file(&mut self, file: &Path) {
        if !file.exists() {
            self.files.push(file.to_path_buf());
        }
    }

    /// Removes all added paths. A folder with other contents stays.
    pub fn remove_all(self) {
        // Errors are ignored: a path may not have been created, and the command fails anyway.
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
    fn only_created_files_are_removed() {
        let existing = tempfile::tempdir().unwrap();
        let (outer, inner) = (existing.path().join("a"), existing.path().join("a/b"));
        let (new, old) = (inner.join("new"), existing.path().join("old"));
        std::fs::write(&old, "kept").unwrap();
        let mut created = CreatedFiles::new();
        created.add_folder(&inner);
        created.add_file(&new);
        created.add_file(&old);
        created.add_filled_folder(&outer.join("filled"));
        created.add_filled_folder(existing.path());
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir_all(outer.join("filled/deep")).unwrap();
        std::fs::write(&new, "x").unwrap();
        created.remove_all();
        assert!(!outer.exists());
        assert_eq!(std::fs::read(&old).unwrap(), b"kept");
    }

    #[test]
    fn a_folder_with_other_contents_stays() {
        let existing = tempfile::tempdir().unwrap();
        let folder = existing.path().join("a");
        let mut created = CreatedFiles::new();
        created.add_folder(&folder);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("other"), "kept").unwrap();
        created.remove_all();
        assert!(folder.join("other").exists());
    }
}
