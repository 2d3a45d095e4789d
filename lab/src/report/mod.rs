//! A report as a folder: a page, the figures of all runs, and each table and picture as a file.

mod csv;
mod folder;
mod html;
mod metadata;
mod names;
mod section;

pub(crate) use csv::field;
pub use folder::{Folder, WriteError};
pub use metadata::ReportMetadata;
pub use section::{Picture, Piece, Section, Sheet};

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const HOSTILE: &str = "../<script>alert(\"1\")</script>&,\n";

    fn written(sections: &[Section]) -> (tempfile::TempDir, String) {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::open(&temporary.path().join("a/b")).unwrap();
        let about = ReportMetadata {
            command: HOSTILE.to_owned(),
            version: "1".to_owned(),
            ..ReportMetadata::default()
        };
        folder.write(&about, b"workload\n", sections).unwrap();
        let page = fs::read_to_string(temporary.path().join("a/b/report.html")).unwrap();
        (temporary, page)
    }

    fn hostile() -> [Section; 2] {
        let mut section = Section::new(HOSTILE, HOSTILE);
        section.add_text(HOSTILE);
        let mut sheet = Sheet::new(HOSTILE, HOSTILE, [HOSTILE, "number"]);
        sheet.rows.push(vec![HOSTILE.to_owned(), "1".to_owned()]);
        section.add_table(sheet.clone());
        section.add_table(sheet);
        let mut drawing = crate::svg::Drawing::new([1, 1], "a picture", "");
        drawing.title(0, &crate::svg::escape(HOSTILE));
        section.add_picture(Picture { name: "picture".to_owned(), svg: drawing.finish() });
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
}
