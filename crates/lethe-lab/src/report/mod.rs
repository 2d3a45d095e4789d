//! A report as a folder: a page, the figures of all runs, and each table and picture as a file.

mod about;
mod html;
mod section;

pub use about::About;
pub use section::{Picture, Piece, Section, Sheet};

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder into which a report can be written.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder, unless it is there, and sees whether it can be written.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        tempfile::tempfile_in(path)?;
        Ok(Folder(path.to_owned()))
    }

    /// Writes a report: `report.html`, `figures.csv`, and each table and picture under its name.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn write(&self, about: &About, figures: &[u8], sections: &[Section]) -> io::Result<()> {
        let [mut anchors, mut tables, mut pictures] = [Names::default(), Names::default(), Names::default()];
        tables.free("figures");
        self.file("figures.csv", figures)?;
        let names: Vec<String> = sections.iter().map(|section| anchors.free(&section.name)).collect();
        self.file("report.html", html::page(about, sections, &names).as_bytes())?;
        for piece in sections.iter().flat_map(|section| &section.pieces) {
            match piece {
                Piece::Text(_) => {}
                Piece::Table(sheet) => {
                    let name = tables.free(&sheet.name);
                    self.file(&format!("{name}.csv"), csv(sheet).as_bytes())?;
                }
                Piece::Picture(picture) => {
                    let name = pictures.free(&picture.name);
                    self.file(&format!("{name}.svg"), picture.svg.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        fs::write(self.0.join(name), bytes)
    }
}

/// The names that were given away.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// A name of letters, digits and hyphens that was not given away yet. It leads out of no folder, whatever a workload is
    /// called.
    fn free(&mut self, wanted: &str) -> String {
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let name: String = wanted.chars().take(100).map(plain).collect();
        let name = if name.is_empty() { "part".to_owned() } else { name };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut names = [name.clone()].into_iter().chain(numbered);
        let name = names.find(|name| !self.0.contains(name)).unwrap_or(name);
        self.0.insert(name.clone());
        name
    }
}

/// A field of comma-separated values (RFC 4180), in quotation marks where it needs them.
pub(crate) fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A table as comma-separated values.
fn csv(sheet: &Sheet) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| field(cell)).collect();
        cells.join(",") + "\n"
    };
    line(&sheet.header) + &sheet.rows.iter().map(|row| line(row)).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "../<script>alert(\"1\")</script>&,\n";

    fn written(sections: &[Section]) -> (tempfile::TempDir, String) {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::open(&temporary.path().join("a/b")).unwrap();
        let about = About { command: HOSTILE.to_owned(), version: "1".to_owned(), ..About::default() };
        folder.write(&about, b"workload\n", sections).unwrap();
        let page = fs::read_to_string(temporary.path().join("a/b/report.html")).unwrap();
        (temporary, page)
    }

    fn hostile() -> [Section; 2] {
        let mut section = Section::new(HOSTILE, HOSTILE);
        section.say(HOSTILE);
        let mut sheet = Sheet::new(HOSTILE, HOSTILE, [HOSTILE, "number"]);
        sheet.rows.push(vec![HOSTILE.to_owned(), "1".to_owned()]);
        section.show(sheet.clone());
        section.show(sheet);
        let mut drawing = crate::svg::Drawing::new([1, 1], "a picture", "");
        drawing.title(0, &crate::svg::escaped(HOSTILE));
        section.draw(Picture { name: "picture".to_owned(), svg: drawing.finished() });
        [section.clone(), section]
    }

    #[test]
    fn a_page_is_well_formed_and_loads_nothing() {
        let (_temporary, page) = written(&hostile());
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(&page, options).unwrap();
        let elements = || document.descendants().filter(|node| node.is_element());
        for node in elements() {
            let name = node.tag_name().name();
            assert!(!["script", "link", "img", "iframe", "object"].contains(&name), "{name}");
            assert!(
                node.attributes()
                    .all(|attribute| attribute.name() != "src" && !attribute.name().starts_with("on"))
            );
            let to = node.attribute("href").unwrap_or("#");
            assert!(
                to.starts_with('#') && (to == "#" || page.contains(&format!("id=\"{}\"", &to[1..]))),
                "{to}"
            );
        }
        let count = |name| {
            elements().filter(|node| node.has_tag_name(("http://www.w3.org/1999/xhtml", name))).count()
        };
        // Each table has headings of columns and of rows.
        let is_heading = |node: &roxmltree::Node<'_, '_>| node.attribute("scope") == Some("col");
        assert_eq!((count("table"), elements().filter(is_heading).count()), (4, 8));
        assert_eq!(elements().filter(|node| node.attribute("scope") == Some("row")).count(), 4);
    }

    #[test]
    fn hostile_text_stays_text_and_stays_in_the_folder() {
        let (temporary, page) = written(&hostile());
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"));
        let folder = fs::read_dir(temporary.path().join("a/b")).unwrap();
        let mut names: Vec<String> =
            folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let table = "----script-alert--1----script----";
        let tables = ["", "-2", "-3", "-4"].map(|number| format!("{table}{number}.csv"));
        let mut expected: Vec<String> =
            ["figures.csv", "picture-2.svg", "picture.svg", "report.html"].map(str::to_owned).into();
        expected.extend(tables);
        expected.sort();
        assert_eq!(names, expected);
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 1);
        let text = fs::read_to_string(temporary.path().join(format!("a/b/{table}.csv"))).unwrap();
        let cell = "\"../<script>alert(\"\"1\"\")</script>&,\n\"";
        assert_eq!(text, format!("{cell},number\n{cell},1\n"));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told_before_anything_is_run() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Folder::open(&file.path().join("report")).is_err());
    }
}
