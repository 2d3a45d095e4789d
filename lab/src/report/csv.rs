//! Tables as comma-separated values (RFC 4180).

use super::section::Sheet;

/// A field, in quotation marks if it needs them.
pub(crate) fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A table.
pub(super) fn csv(sheet: &Sheet) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| field(cell)).collect();
        cells.join(",") + "\n"
    };
    line(&sheet.header) + &sheet.rows.iter().map(|row| line(row)).collect::<String>()
}
