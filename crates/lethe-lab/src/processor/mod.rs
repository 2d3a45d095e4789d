//! The processor lab: IR-ORAM and what it was compared with, on traces of real programs.
//!
//! Raoufi, Zhang, Yang, "IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM". Every scheme of its figures runs
//! every program; a table a figure has ours beside the numbers that the paper prints. Time is simulated: the same seed gives the
//! same digits on every machine.

mod csv;
mod error;
mod figures;
mod options;
mod programs;
mod published;
mod row;
mod runs;
mod schemes;
mod settings;

pub use error::ProcessorError;
pub use options::Options;
pub use row::Row;
pub use schemes::names;

use crate::bench::Progress;
use std::io::{self, Write};

/// The rows of all runs.
pub struct Report {
    rows: Vec<Row>,
}

/// Runs every scheme over every program, and shows the tables.
///
/// # Errors
/// [`ProcessorError`].
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Report, ProcessorError> {
    let programs = programs::all(options)?;
    progress.found(&programs::table(&programs));
    let configurations = schemes::configurations(options)?;
    let rows = runs::all(options, &programs, &configurations, progress)?;
    for table in figures::tables(options, &rows) {
        progress.found(&table);
    }
    Ok(Report { rows })
}

impl Report {
    /// The rows, one for each run.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Writes all figures as comma-separated values.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, into: &mut impl Write) -> io::Result<()> {
        csv::write(&self.rows, into)
    }
}

#[cfg(test)]
mod tests;
