//! A section of the report: text, tables and pictures. It is printed as Markdown, and a page shows it.

use crate::markdown::{add, markdown, render};

/// A section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The section's name in file names: small letters and hyphens.
    pub name: String,
    /// The section's title.
    pub title: String,
    /// The pieces, from the top.
    pub pieces: Vec<Piece>,
}

impl Section {
    /// Adds a word to the names of the section and of all its pieces, and to the title.
    pub fn add_suffix(&mut self, word: &str) {
        self.name = format!("{}-{word}", self.name);
        self.title = format!("{}, as {word}", self.title);
        for piece in &mut self.pieces {
            match piece {
                Piece::Table(Sheet { name, .. }) | Piece::Picture(Picture { name, .. }) => {
                    *name = format!("{name}-{word}")
                }
                Piece::Text(_) => {}
            }
        }
    }
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Sheet),
    /// A picture.
    Picture(Picture),
}

/// A table. The first cell of a row holds text, and the other cells hold numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    /// The sheet's name in file names: small letters and hyphens.
    pub name: String,
    /// The sentence above the table. It may be empty.
    pub caption: String,
    /// The headings of its columns.
    pub header: Vec<String>,
    /// The rows, each with a cell for each heading.
    pub rows: Vec<Vec<String>>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The picture's name in file names, without the ending.
    pub name: String,
    /// SVG.
    pub svg: String,
}

impl Section {
    /// A section without pieces.
    pub(crate) fn new(name: impl Into<String>, title: impl Into<String>) -> Self {
        Section { name: name.into(), title: title.into(), pieces: Vec::new() }
    }

    /// Adds a paragraph.
    pub(crate) fn add_text(&mut self, text: impl Into<String>) {
        self.pieces.push(Piece::Text(text.into()));
    }

    /// Adds a table, unless it is empty.
    pub(crate) fn add_table(&mut self, sheet: Sheet) {
        if !sheet.rows.is_empty() {
            self.pieces.push(Piece::Table(sheet));
        }
    }

    /// Adds a picture.
    pub(crate) fn add_picture(&mut self, picture: Picture) {
        self.pieces.push(Piece::Picture(picture));
    }

    /// The section as it is printed: pictures are left out.
    pub fn text(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Table(sheet) => Some(sheet.text()),
            Piece::Picture(_) => None,
        };
        let title = format!("## {}", self.title);
        let pieces: Vec<String> = [title].into_iter().chain(self.pieces.iter().filter_map(piece)).collect();
        pieces.join("\n\n")
    }
}

impl Sheet {
    /// A table without rows.
    pub(crate) fn new<Heading: Into<String>>(
        name: &str,
        caption: &str,
        header: impl IntoIterator<Item = Heading>,
    ) -> Self {
        Sheet {
            name: name.to_owned(),
            caption: caption.to_owned(),
            header: header.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// The table as Markdown.
    pub fn text(&self) -> String {
        let header: Vec<&str> = self.header.iter().map(String::as_str).collect();
        let mut table = markdown(&header);
        self.rows.iter().for_each(|row| add(&mut table, row.clone()));
        let caption = if self.caption.is_empty() { String::new() } else { format!("{}\n\n", self.caption) };
        caption + &render(&table)
    }
}
