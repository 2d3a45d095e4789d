//! The folder of a report. Its files are written atomically and replace those of an older report.

use super::csv::csv;
use super::html;
use super::metadata::ReportMetadata;
use super::names::{Names, is_report_file};
use super::section::{Piece, Section};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// The page, which names all other files of its report.
const PAGE: &str = "report.html";

/// A folder into which a report can be written.
#[derive(Debug)]
pub struct Folder(PathBuf);

/// The reason why a report cannot be written into a folder.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder has files that do not belong to a report.
    #[error(
        "the folder is not empty, and contains no report of Ameles: name a new folder, or one whose report may be replaced"
    )]
    NotEmpty,
    /// The file system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Folder {
    /// Checks that a report can be written there: into a folder that does not exist yet, an empty one, or one with an
    /// older report. Nothing is created yet.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn open(path: &Path) -> Result<Self, WriteError> {
        let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
        // It has no name, so that it is deleted when the process ends.
        tempfile::tempfile_in(there)?;
        if path.exists() && fs::read_dir(path)?.next().is_some() && files_of(path)?.is_none() {
            return Err(WriteError::NotEmpty);
        }
        Ok(Folder(path.to_owned()))
    }

    /// Writes a report: `report.html`, `figures.csv`, and each table and picture under its name. The files of an
    /// older report are deleted; on failure, nothing is left of this one.
    ///
    /// # Errors
    /// The errors of the file system.
    pub(crate) fn write(
        &self,
        about: &ReportMetadata,
        figures: &[u8],
        sections: &[Section],
    ) -> io::Result<()> {
        self.write_files(&files(about, figures, sections))
    }

    /// Creates the folder and writes files into it; on failure, both are removed.
    fn write_files(&self, files: &[(String, Vec<u8>)]) -> io::Result<()> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing: Vec<&Path> = self.0.ancestors().take_while(is_missing).collect();
        let written = self.replace(files);
        if written.is_err() {
            // Those that are not empty stay.
            missing.into_iter().for_each(|folder| drop(fs::remove_dir(folder)));
        }
        written
    }

    /// Writes all files under temporary names, then renames them, the page first.
    fn replace(&self, files: &[(String, Vec<u8>)]) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let old = files_of(&self.0)?.unwrap_or_default();
        let whole: Vec<TempPath> =
            files.iter().map(|(_, bytes)| self.temporary_file(bytes)).collect::<io::Result<_>>()?;
        for (file, (name, _)) in whole.into_iter().zip(files) {
            file.persist(self.0.join(name))?;
        }
        for stale in old.iter().filter(|old| files.iter().all(|(name, _)| name != *old)) {
            // It may have been removed since.
            let _ = fs::remove_file(self.0.join(stale));
        }
        Ok(())
    }

    /// A file with these bytes, which is deleted unless it gets a name.
    fn temporary_file(&self, bytes: &[u8]) -> io::Result<TempPath> {
        // As any new file: what the process's mask leaves.
        let mask = Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new().permissions(mask).tempfile_in(&self.0)?;
        file.write_all(bytes)?;
        Ok(file.into_temp_path())
    }
}

/// The files of a report, the page first.
fn files(about: &ReportMetadata, figures: &[u8], sections: &[Section]) -> Vec<(String, Vec<u8>)> {
    let [mut anchors, mut tables, mut pictures] = [Names::default(), Names::default(), Names::default()];
    tables.unique("figures");
    let mut files = vec![("figures.csv".to_owned(), figures.to_vec())];
    let anchors: Vec<String> = sections.iter().map(|section| anchors.unique(&section.name)).collect();
    for piece in sections.iter().flat_map(|section| &section.pieces) {
        match piece {
            Piece::Text(_) => {}
            Piece::Table(sheet) => {
                files.push((format!("{}.csv", tables.unique(&sheet.name)), csv(sheet).into_bytes()));
            }
            Piece::Picture(picture) => {
                files.push((
                    format!("{}.svg", pictures.unique(&picture.name)),
                    picture.svg.clone().into_bytes(),
                ));
            }
        }
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let page = html::page(about, sections, &anchors, &names);
    files.insert(0, (PAGE.to_owned(), page.into_bytes()));
    files
}

/// The files that the report of a folder names, if there is one.
fn files_of(folder: &Path) -> io::Result<Option<Vec<String>>> {
    let page = match fs::read(folder.join(PAGE)) {
        Ok(page) => page,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let page = String::from_utf8_lossy(&page);
    let names = html::files_of(&page);
    Ok(names.map(|names| names.filter(|name| is_report_file(name)).map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Sheet;

    /// A report with a table of that name.
    fn write(folder: &Path, table: &str) -> Result<(), WriteError> {
        let mut section = Section::new("section", "A section");
        let mut sheet = Sheet::new(table, "", ["number"]);
        sheet.rows.push(vec!["1".to_owned()]);
        section.add_table(sheet);
        Ok(Folder::open(folder)?.write(&ReportMetadata::default(), b"a,b\n", &[section])?)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_made_with_its_report_and_not_before() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("a/b");
        Folder::open(&folder).unwrap();
        assert!(names(temporary.path()).is_empty());
        write(&folder, "one").unwrap();
        assert_eq!(names(&folder), ["figures.csv", "one.csv", "report.html"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(temporary.path().join("plain"), "").unwrap();
        assert_eq!(mode(&folder.join("one.csv")), mode(&temporary.path().join("plain")));
    }

    #[test]
    fn the_files_of_an_older_report_go_and_those_of_others_stay() {
        let temporary = tempfile::tempdir().unwrap();
        write(temporary.path(), "one").unwrap();
        fs::write(temporary.path().join("notes.csv"), "mine").unwrap();
        write(temporary.path(), "two").unwrap();
        assert_eq!(names(temporary.path()), ["figures.csv", "notes.csv", "report.html", "two.csv"]);
        assert_eq!(fs::read_to_string(temporary.path().join("notes.csv")).unwrap(), "mine");
    }

    #[test]
    fn a_page_that_names_files_elsewhere_or_of_others_removes_none_of_them() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("report");
        write(&folder, "one").unwrap();
        for (path, name) in [("kept.csv", "../kept.csv"), ("report/kept.txt", "kept.txt")] {
            fs::write(temporary.path().join(path), "kept").unwrap();
            let page = fs::read_to_string(folder.join(PAGE)).unwrap();
            assert!(page.contains("one.csv\""));
            fs::write(folder.join(PAGE), page.replace("one.csv\"", &format!("one.csv {name}\""))).unwrap();
            write(&folder, "one").unwrap();
            assert!(temporary.path().join(path).exists(), "{path}");
        }
    }

    #[test]
    fn a_folder_with_other_files_and_no_report_is_refused_and_stays_as_it_is() {
        let temporary = tempfile::tempdir().unwrap();
        fs::write(temporary.path().join("figures.csv"), "mine").unwrap();
        for page in [None, Some("<html>mine</html>")] {
            page.into_iter().for_each(|page| fs::write(temporary.path().join(PAGE), page).unwrap());
            let before = names(temporary.path());
            assert!(matches!(write(temporary.path(), "one"), Err(WriteError::NotEmpty)));
            assert_eq!(names(temporary.path()), before);
        }
    }

    #[test]
    fn a_report_that_cannot_be_written_leaves_nothing_of_itself() {
        let temporary = tempfile::tempdir().unwrap();
        let file = |name: &str| [(name.to_owned(), b"new".to_vec())];
        let new = Folder::open(&temporary.path().join("new/folder")).unwrap();
        assert!(new.write_files(&file("none/such.csv")).is_err());
        assert!(names(temporary.path()).is_empty());
        let old = temporary.path().join("old");
        write(&old, "one").unwrap();
        fs::create_dir(old.join("two.csv")).unwrap();
        let before = names(&old);
        assert!(Folder::open(&old).unwrap().write_files(&file("two.csv")).is_err());
        assert_eq!(names(&old), before);
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_reported_before_anything_is_run() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Folder::open(&file.path().join("report")).is_err());
        assert!(Folder::open(file.path()).is_err());
    }
}
