//! The workloads of a thesis, "Oblivious RAM in practice" (2019), in virtual time. Every scheme does the same reads
//! and writes of objects over the thesis's link. Its figures are compared with those that the thesis prints.
//!
//! The thesis ran its workloads once, on objects that it had drawn. Here they are redrawn, so totals differ. Bytes
//! and requests for each access of a block can be compared.

mod csv;
mod differential_privacy;
mod dollars;
mod draw;
mod driver;
mod elasticity;
mod error;
mod estimates;
mod figures;
mod git;
mod growth;
mod growth_form;
mod job;
mod object_layer;
mod options;
mod partitions;
mod plain;
mod published;
mod real_time;
mod recorded_accesses;
mod reliability;
mod ring_variants;
mod row;
mod run_result;
mod schemes;
mod seeds;
mod sweeps;
mod table;
mod trial;
mod vault_folder;
mod verdicts;
mod workload_runs;
mod workloads;
mod write_history;

pub use draw::StoreTiming;
pub use error::ThesisError;
pub use job::{Job, ObjectPart, Step};
pub use options::{CountFilling, Options, Part};
pub use published::{Published, PublishedRow};
pub use row::Row;
pub use run_result::{FillingTraffic, RunResult};

use crate::bench::Progress;
use crate::report::{Folder, ReportMetadata, Section};
use std::io::{self, Write};

/// The figures of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The rows of the workloads, workload by workload.
    pub rows: Vec<Row>,
    /// The sections, in the order in which they were completed.
    pub sections: Vec<Section>,
}

/// Runs the selected parts. Each section is reported as soon as it is complete.
///
/// # Errors
/// [`ThesisError`].
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Report, ThesisError> {
    options.check()?;
    let mut report = Report { rows: Vec::new(), sections: Vec::new() };
    for part in options.parts() {
        let mut found = |section: Section| {
            progress.on_figure(&section.text());
            report.sections.push(section);
        };
        match part {
            Part::Workloads => report.rows = workload_runs::run_workloads(options, progress, &mut found)?,
            Part::Sweeps => found(seeds::section(options, progress, sweeps::section)?),
            Part::Study => found(seeds::section(options, progress, differential_privacy::section)?),
            Part::Estimates => found(estimates::section(options, progress)?),
            Part::Git => found(seeds::section(options, progress, git::section)?),
            Part::Growth => found(seeds::section(options, progress, growth::section)?),
            Part::Verdicts => {
                // The verdicts follow from the rows, which another part may have produced already.
                if report.rows.is_empty() {
                    report.rows = workload_runs::run_workloads(options, progress, &mut |_| ())?;
                }
                found(verdicts::section(&report.rows));
            }
            Part::Real => real_time::sections(options, progress, &mut found)?,
            Part::Elasticity => found(elasticity::section(options.link, options.seed)?),
            Part::Reliability => found(reliability::section(options.link, options.seed)?),
        }
    }
    Ok(report)
}

impl Report {
    /// Writes all figures as comma-separated values, with those that the thesis prints.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_csv(&self, into: &mut impl Write) -> io::Result<()> {
        csv::write(into, &self.rows, &Published::tables())
    }

    /// Writes the report into a folder: `report.html`, `figures.csv`, and each table and picture under its name.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn write_into(&self, folder: &Folder, about: &ReportMetadata) -> io::Result<()> {
        let mut figures = Vec::new();
        self.write_csv(&mut figures)?;
        folder.write(about, &figures, &self.sections)
    }
}

#[cfg(test)]
mod prediction_tests;
#[cfg(test)]
mod tests;
