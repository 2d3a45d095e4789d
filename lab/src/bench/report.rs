//! The findings of a bench, as a table for people and as JSON for programs.

use super::BenchError;
use super::sample::Sample;
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Table};
use serde::Serialize;
use std::fmt;

/// The factor by which a figure may exceed its reference.
pub(crate) const TOLERANCE: f64 = 1.05;

/// The goal of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A figure that is not below this.
    AtLeast(f64),
    /// A figure that is not above this.
    AtMost(f64),
}

impl Bound {
    /// Returns whether a figure reaches it.
    pub fn is_met(self, figure: f64) -> bool {
        match self {
            Bound::AtLeast(min) => figure >= min,
            Bound::AtMost(max) => figure <= max,
        }
    }
}

/// The memory on the trusted side, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrustedMemory {
    /// Stash with the top of the tree.
    pub stash_and_top: u64,
    /// The position map; 0 without one.
    pub position_map: u64,
    /// The table of the slots' blocks, if a scheme keeps it on the trusted side.
    pub metadata: u64,
    /// The newest version of each bucket.
    pub versions: u64,
}

impl TrustedMemory {
    /// The sum of all.
    pub fn total(&self) -> u64 {
        self.stash_and_top + self.position_map + self.metadata + self.versions
    }
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The measured quantity.
    pub figure: String,
    /// The unit of the figure.
    pub unit: &'static str,
    /// The measurements.
    pub sample: Sample,
    /// The goal of the median, if it has one.
    pub bound: Option<Bound>,
    /// True if the median reaches it.
    pub met: Option<bool>,
    /// The memory on the trusted side; nothing for a baseline without one.
    pub trusted: Option<TrustedMemory>,
}

/// Figures in columns: a line for each measured thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grid {
    /// The headings of the columns; the first column names the measured things.
    pub columns: Vec<String>,
    /// The names, and a figure for each other column.
    pub lines: Vec<(String, Vec<f64>)>,
}

impl Grid {
    pub(crate) fn new(columns: &[impl ToString]) -> Self {
        Grid { columns: columns.iter().map(ToString::to_string).collect(), lines: Vec::new() }
    }

    pub(crate) fn row(&mut self, name: String, figures: &[f64]) {
        self.lines.push((name, figures.to_vec()));
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header(&self.columns);
        for (name, figures) in &self.lines {
            let figures =
                figures.iter().map(|figure| Cell::new(number(*figure)).set_alignment(CellAlignment::Right));
            table.add_row(std::iter::once(Cell::new(name)).chain(figures));
        }
        for line in table.lines() {
            writeln!(f, "  {}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The findings of a bench.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The name of the bench.
    pub bench: String,
    /// The setup that was run and its parameters: names and values.
    pub setup: Vec<(String, String)>,
    /// The figures, baselines among them.
    pub rows: Vec<Row>,
    /// Figures in columns.
    pub grid: Option<Grid>,
    /// Further facts that are needed to read them.
    pub notes: Vec<String>,
}

impl Report {
    pub(crate) fn new(bench: impl Into<String>) -> Self {
        let mut report = Report {
            bench: bench.into(),
            setup: Vec::new(),
            rows: Vec::new(),
            grid: None,
            notes: Vec::new(),
        };
        if cfg!(debug_assertions) {
            report.notes.push("built without optimisation: build with --release to measure".into());
        }
        report
    }

    pub(crate) fn set(&mut self, name: &str, value: impl fmt::Display) {
        self.setup.push((name.to_owned(), value.to_string()));
    }

    pub(crate) fn row(
        &mut self,
        figure: impl Into<String>,
        unit: &'static str,
        sample: Sample,
        bound: Option<Bound>,
        trusted: Option<TrustedMemory>,
    ) {
        let met = bound.map(|bound| bound.is_met(sample.median));
        self.rows.push(Row { figure: figure.into(), unit, sample, bound, met, trusted });
    }

    /// Compares figures with the reference: each may be a twentieth above it.
    ///
    /// # Errors
    /// [`BenchError::Options`] if a figure is missing.
    pub(crate) fn hold(&mut self, reference: &[(&str, f64)]) -> Result<(), BenchError> {
        for (figure, expected) in reference {
            let row = self.rows.iter_mut().find(|row| row.figure.trim() == *figure);
            let row =
                row.ok_or_else(|| BenchError::Options(format!("there is no figure `{figure}` to hold")))?;
            let max = match row.bound {
                Some(Bound::AtMost(max)) => max.min(TOLERANCE * expected),
                _ => TOLERANCE * expected,
            };
            row.bound = Some(Bound::AtMost(max));
            row.met = Some(row.sample.median <= max);
        }
        Ok(())
    }

    /// Returns true if every figure reaches its goal.
    pub fn is_met(&self) -> bool {
        self.rows.iter().all(|row| row.met != Some(false))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.bench)?;
        for (name, value) in &self.setup {
            writeln!(f, "  {name}: {value}")?;
        }
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header(["", "median", "", "min … max", "goal", "", "trusted: stash, top / all"]);
        for row in &self.rows {
            let spread = match row.sample.repetitions {
                1 => String::new(),
                _ => format!("{} … {}", number(row.sample.min), number(row.sample.max)),
            };
            let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
            let bound = match row.bound {
                None => String::new(),
                Some(Bound::AtLeast(min)) => format!("≥ {}", number(min)),
                Some(Bound::AtMost(max)) => format!("≤ {}", number(max)),
            };
            let met = row.met.map_or("", |met| if met { "met" } else { "MISSED" });
            let trusted = row.trusted.map_or_else(String::new, |trusted| {
                format!("{} / {}", bytes(trusted.stash_and_top), bytes(trusted.total()))
            });
            table.add_row([
                Cell::new(&row.figure),
                right(number(row.sample.median)),
                Cell::new(row.unit),
                Cell::new(spread),
                right(bound),
                Cell::new(met),
                Cell::new(trusted),
            ]);
        }
        for line in table.lines() {
            writeln!(f, "  {}", line.trim_end())?;
        }
        if let Some(grid) = &self.grid {
            write!(f, "{grid}")?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        Ok(())
    }
}

/// A number with its significant digits.
fn number(value: f64) -> String {
    if value.abs() >= 1000.0 {
        let digits = format!("{value:.0}");
        let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
        let groups: Vec<&str> = digits
            .as_bytes()
            .rchunks(3)
            .rev()
            .map(|group| std::str::from_utf8(group).expect("digits are text"))
            .collect();
        format!("{sign}{}", groups.join(","))
    } else if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else if value.abs() >= 1.0 || value == 0.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// A number of bytes as people write it.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_show_what_tells_something() {
        assert_eq!(
            [1234567.8, -1000.0, 123.4, 36.92, 1.5, 0.03125, 0.0].map(number),
            ["1,234,568", "-1,000", "123", "36.9", "1.50", "0.031", "0.00"]
        );
        assert_eq!([100, 4096, 33 << 19, 1 << 30].map(bytes), ["100 B", "4 KiB", "16.5 MiB", "1 GiB"]);
    }

    #[test]
    fn a_figure_that_is_a_tenth_above_the_books_is_missed_though_the_design_asks_for_less() {
        let report = |bytes: f64, requests: f64| {
            let mut report = Report::new("files");
            report.row("bytes", "bytes", Sample::once(bytes), Some(Bound::AtMost(16.0)), None);
            report.row("  requests", "requests", Sample::once(requests), Some(Bound::AtMost(8.0)), None);
            report.hold(&[("bytes", 15.7), ("requests", 4.81)]).unwrap();
            report
        };
        assert!(report(15.9, 4.9).is_met());
        assert!(!report(15.7, 5.3).is_met(), "requests");
        assert!(!report(16.1, 4.81).is_met(), "the design's bound stays where it is the tighter one");
        assert!(Report::new("files").hold(&[("bytes", 15.7)]).is_err(), "a figure that went is not held");
    }

    #[test]
    fn a_missed_bound_is_said_in_the_table_and_in_the_json() {
        let mut report = Report::new("memory");
        report.set("scheme", "Path ORAM");
        let trusted =
            TrustedMemory { stash_and_top: 1 << 20, position_map: 1 << 20, ..TrustedMemory::default() };
        report.row("with ORAM", "accesses/s", Sample::once(90.0), Some(Bound::AtLeast(100.0)), Some(trusted));
        report.row("plain array", "accesses/s", Sample::of([1.0, 2.0]), None, None);
        assert!(!report.is_met());
        let table = report.to_string();
        assert!(table.contains("MISSED") && table.contains("1 MiB / 2 MiB"), "{table}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["rows"][0]["met"], false);
        assert_eq!(json["rows"][1]["sample"]["repetitions"], 2);
    }
}
