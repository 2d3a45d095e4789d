//! The report as one page: nothing is loaded from elsewhere, and no script runs.

use super::metadata::ReportMetadata;
use super::section::{Picture, Piece, Section, Sheet};
use crate::svg::escape;

const STYLE: &str = include_str!("style.css");

/// The beginning of the element that names the other files of a report.
const FILES: &str = "<meta name=\"ameles-report-files\" content=\"";

/// The page of sections with these names; the files are in the same folder. It is well-formed XML, too.
pub(super) fn page(about: &ReportMetadata, sections: &[Section], names: &[String], files: &[&str]) -> String {
    let contents: String = sections
        .iter()
        .zip(names)
        .map(|(section, name)| format!("<li><a href=\"#{name}\">{}</a></li>\n", escape(&section.title)))
        .collect();
    let title = escape(&about.title);
    let facts = about.facts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let facts: String = [("Version", about.version.as_str())]
        .into_iter()
        .chain(facts)
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value)))
        .collect();
    let sections: String =
        sections.iter().zip(names).map(|(section, name)| self::section(section, name)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         {FILES}{}\"/>\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         <p>{}</p>\n<pre>{}</pre>\n<dl>\n{facts}</dl>\n</header>\n\
         <nav aria-label=\"Contents\">\n<ol>\n{contents}</ol>\n</nav>\n<main>\n{sections}</main>\n</body>\n</html>\n",
        escape(&files.join(" ")),
        escape(&about.introduction),
        escape(&about.command)
    )
}

/// The files that a page names; none if the page is not the page of a report.
pub(super) fn files_of(page: &str) -> Option<impl Iterator<Item = &str>> {
    let (_, names) = page.split_once(FILES)?;
    let (names, _) = names.split_once('"')?;
    Some(names.split(' '))
}

fn section(section: &Section, name: &str) -> String {
    let pieces: String = section.pieces.iter().map(piece).collect();
    format!(
        "<section id=\"{name}\" aria-labelledby=\"{name}-title\">\n<h2 id=\"{name}-title\">{}</h2>\n{pieces}</section>\n",
        escape(&section.title)
    )
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => format!("<p>{}</p>\n", escape(text)),
        Piece::Table(sheet) => table(sheet),
        Piece::Picture(picture) => figure(picture),
    }
}

/// A table in a box that scrolls by keyboard, too.
fn table(sheet: &Sheet) -> String {
    let caption = match sheet.caption.as_str() {
        "" => String::new(),
        caption => format!("<caption>{}</caption>\n", escape(caption)),
    };
    let label = if sheet.caption.is_empty() { &sheet.name } else { &sheet.caption };
    let header: String =
        sheet.header.iter().map(|heading| format!("<th scope=\"col\">{}</th>", escape(heading))).collect();
    let rows: String = sheet.rows.iter().map(|cells| row(cells)).collect();
    format!(
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n<table>\n{caption}<thead>\n<tr>{header}</tr>\n\
         </thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n",
        escape(label)
    )
}

fn row(cells: &[String]) -> String {
    let cell = |(nth, text): (usize, &String)| match nth {
        0 => format!("<th scope=\"row\">{}</th>", escape(text)),
        _ if is_words(text) => format!("<td class=\"words\">{}</td>", escape(text)),
        _ => format!("<td>{}</td>", escape(text)),
    };
    format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
}

/// True for a cell that is read as words, and may be broken in lines.
fn is_words(text: &str) -> bool {
    text.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).count() > 1
}

/// Writes a picture: SVG that this program drew, in which all text is escaped already. Its styles apply to it only.
fn figure(picture: &Picture) -> String {
    let svg = &picture.svg;
    format!(
        "<figure class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{svg}</figure>\n",
        escape(&picture.name)
    )
}
