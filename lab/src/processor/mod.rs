//! The processor lab: IR-ORAM and the schemes that it was compared with, on traces of real programs.
//!
//! Raoufi, Zhang, Yang, "IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM". Every scheme of
//! its figures runs every program. A table for each figure has our numbers and those that the paper prints. Time is
//! simulated: the same seed gives the same digits on every machine.

mod advice;
mod budgets;
mod bytes;
mod cores;
mod csv;
mod error;
mod figures;
mod logs;
mod newer_schemes;
mod options;
mod plb;
mod preset;
mod program_runs;
mod programs;
mod published;
mod row;
mod scaling;
mod schemes;
mod settings;
mod side_by_side;
mod synthetic_traces;
mod table_two;
mod trace_options;
mod user_traces;
mod utilisation;

pub use error::ProcessorError;
pub use options::{Options, Part};
pub use preset::{FrameOrder, Preset, Start};
pub use row::Row;
pub use schemes::{names, pace_name};
pub use trace_options::TraceOptions;

pub use ameles_processor::trace::Format;

use crate::bench::Progress;
use crate::report::{Folder, ReportMetadata, Section};
use std::io::{self, Write};

/// The rows of all runs, and the sections of the report.
pub struct Report {
    rows: Vec<Row>,
    /// The runs of programs alone, next to those of several cores.
    alone: Vec<Row>,
    sections: Vec<Section>,
}

/// Runs the selected parts for each set of options, and compares the sets if there are several. Each section is
/// reported as soon as it is complete.
///
/// # Errors
/// [`ProcessorError`].
pub fn run(all: &[Options], progress: &dyn Progress) -> Result<Report, ProcessorError> {
    let mut report = Report { rows: Vec::new(), alone: Vec::new(), sections: Vec::new() };
    let all: Vec<Options> = all.iter().map(|options| options.clone().without_duplicates()).collect();
    all.iter().try_for_each(Options::check)?;
    for options in &all {
        run_preset(options, &mut report, progress)?;
    }
    if let Some(section) = figures::comparison(&all, &report.rows) {
        progress.on_figure(&section.text());
        report.sections.push(section);
    }
    Ok(report)
}

/// Runs the selected parts for a set of options.
fn run_preset(options: &Options, report: &mut Report, progress: &dyn Progress) -> Result<(), ProcessorError> {
    let parts = options.parts();
    // A mistyped name, or a tree without room, is an error before the first run.
    let (mut configurations, mut programs, mut utilisation_programs) = (Vec::new(), Vec::new(), Vec::new());
    if parts.contains(&Part::Figures) || parts.contains(&Part::OverTime) {
        configurations = schemes::configurations(options)?;
    }
    if parts.iter().any(|part| matches!(part, Part::Figures | Part::OverTime | Part::Budgets)) {
        // Page frames are drawn, too.
        programs = options
            .by_seed()
            .map(|options| programs::all(&options, *options::LEVELS.end()))
            .collect::<Result<Vec<_>, _>>()?;
    }
    if parts.contains(&Part::Utilisation) {
        utilisation_programs = utilisation::programs(options)?;
    }
    for part in parts {
        let mut found = |mut section: Section| {
            // Figures without a name of their own are of the machine.
            if options.preset != Preset::Machine {
                section.add_suffix(&options.preset.to_string());
            }
            progress.on_figure(&section.text());
            report.sections.push(section);
        };
        match part {
            Part::Figures => {
                found(programs::section(options, &programs[0]));
                let rows = program_runs::run_all(options, &programs, &configurations, progress)?;
                figures::sections(options, &rows).into_iter().for_each(&mut found);
                if options.traces.core_count() > 1 {
                    let alone = cores::run_alone(options, progress)?;
                    found(cores::section(options, &programs[0], &rows, &alone));
                    report.alone.extend(alone);
                }
                report.rows.extend(rows);
            }
            Part::Utilisation => found(utilisation::section(options, &utilisation_programs, progress)?),
            Part::Budgets => {
                let (section, rows) = budgets::section(options, &programs, progress)?;
                found(section);
                report.rows.extend(rows);
            }
            Part::Scaling => found(scaling::section(options, progress)?),
            Part::OverTime => {
                let run = |start| {
                    let options = Options { start: Some(start), ..options.clone() };
                    program_runs::run_all(&options, &programs, &configurations, progress)
                };
                let (rows, settled) = (run(options.start_of(part))?, run(Start::Settled)?);
                figures::over_time(options, &rows, &settled).into_iter().for_each(&mut found);
            }
            Part::Plb => found(plb::section(options, progress)?),
        }
    }
    Ok(())
}

impl Report {
    /// The rows, one for each run.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Writes all figures as comma-separated values.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_csv(&self, into: &mut impl Write) -> io::Result<()> {
        csv::write(self.rows.iter().chain(&self.alone), into)
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
mod tests;
