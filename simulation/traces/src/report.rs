//! Traces compared with Table II of IR-ORAM, as a table.

use crate::digests::Comparison;
use crate::measure::Figures;
use crate::programs::{Class, Program, Published, Tables};
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

/// A trace that was recorded.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The program that was measured.
    pub program: &'a Program,
    /// The figures of the program.
    pub figures: Figures,
    /// Bytes of its file.
    pub bytes: u64,
    /// The comparison with the stored digest.
    pub comparison: Comparison,
}

const HEADER: [&str; 10] = [
    "program",
    "instructions",
    "records",
    "KB",
    "loads",
    "stores",
    "written back",
    "class",
    "replaces: loads, stores",
    "SHA-256",
];

/// The table: misses of the last-level cache are counted in a thousand instructions.
pub fn table(tables: &Tables, rows: &[Row<'_>]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(HEADER);
    for row in rows {
        let words = cells(tables, row).into_iter().enumerate();
        table.add_row(words.map(|(nth, word)| {
            let is_number = (1..=6).contains(&nth);
            let alignment = if is_number { CellAlignment::Right } else { CellAlignment::Left };
            Cell::new(word).set_alignment(alignment)
        }));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn cells(tables: &Tables, Row { program, figures, bytes, comparison }: &Row<'_>) -> [String; 10] {
    let [loads, stores, written_back] =
        [figures.loads, figures.stores, figures.written_back].map(|events| figures.per_kilo(events));
    let class = Class::of(loads, stores);
    let is_expected_class = if class == program.class { "" } else { " (not as the table says)" };
    let stands_for = |published: &&Published| program.stands_for.contains(&published.name);
    let stands_for: Vec<String> = tables
        .published
        .iter()
        .filter(stands_for)
        .map(|published| format!("{}: {:?}, {:?}", published.name, published.loads, published.stores))
        .collect();
    [
        program.name.clone(),
        format!("{:.1} M", figures.instructions as f64 / 1e6),
        figures.records.to_string(),
        bytes.div_ceil(1000).to_string(),
        format!("{loads:.2}"),
        format!("{stores:.2}"),
        format!("{written_back:.2}"),
        format!("{class:?}{is_expected_class}").to_lowercase(),
        stands_for.join("; "),
        format!("{} ({})", figures.digest.get(..16).unwrap_or_default(), comparison.word()),
    ]
}
