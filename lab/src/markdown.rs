//! Tables in Markdown.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

/// A table without rows.
pub(crate) fn markdown(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    table
}

/// Adds a row: text in its first cell, numbers in the others.
pub(crate) fn add(table: &mut Table, row: Vec<String>) {
    let cell = |(nth, text): (usize, String)| {
        let alignment = if nth == 0 { CellAlignment::Left } else { CellAlignment::Right };
        Cell::new(text).set_alignment(alignment)
    };
    table.add_row(row.into_iter().enumerate().map(cell));
}

/// The table as text.
pub(crate) fn render(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// A scheme and its K, the cells with which a row of paging begins.
#[cfg(target_os = "linux")]
pub(crate) fn scheme_cells(scheme: &str, k: Option<u64>) -> Vec<String> {
    vec![scheme.to_owned(), k.map_or_else(String::new, |k| k.to_string())]
}

/// A ratio, to two digits behind the point.
#[cfg(target_os = "linux")]
pub(crate) fn ratio(ratio: f64) -> String {
    format!("{ratio:.2}")
}
