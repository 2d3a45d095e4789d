//! The speed of programs that run side by side, on cores that share the last-level cache and the ORAM.

use super::error::ProcessorError;
use super::options::{LEVELS, Options};
use super::programs::Program;
use super::row::Row;
use super::schemes::{self, pace_name};
use super::trace_options::TraceOptions;
use super::{program_runs, programs};
use crate::bench::Progress;
use crate::report::{Section, Sheet};

/// Runs each program of the cores alone, on one core with all of the memory, with the first seed.
///
/// # Errors
/// [`ProcessorError`].
pub(super) fn run_alone(options: &Options, progress: &dyn Progress) -> Result<Vec<Row>, ProcessorError> {
    let traces = TraceOptions { cores: Some(1), ..options.traces.clone() };
    let alone = Options { traces, seeds: options.seed()..options.seed() + 1, ..options.clone() };
    let programs = programs::all(&alone, *LEVELS.end())?;
    program_runs::run_all(&alone, &[programs], &schemes::configurations(&alone)?, progress)
}

/// Makes the report's section about the cores: the cycles of each, and the speed of all, with the first seed.
pub(super) fn section(options: &Options, programs: &[Program], rows: &[Row], alone: &[Row]) -> Section {
    let count = options.traces.core_count();
    let mut section =
        Section::new("cores", format!("{count} cores that share the last-level cache and the ORAM"));
    for pace in options.paces.iter().map(|pace| pace_name(*pace)) {
        let header =
            ["program", "scheme", "cycles", "weighted speedup", "speed over Baseline's"].map(str::to_owned);
        let of_cores = (1..=count).map(|core| format!("core {core}: cycles"));
        let header = header.into_iter().chain(of_cores).collect();
        let caption = format!("Paths {pace}");
        let mut sheet = Sheet { name: format!("cores-{pace}"), caption, header, rows: Vec::new() };
        for row in rows.iter().filter(|row| row.pace == pace && row.seed == options.seed()) {
            let Some(program) = programs.iter().find(|program| program.name == row.program) else { continue };
            let with = |rows: &[Row], name: &str, scheme: &str| -> Option<Row> {
                rows.iter()
                    .find(|row| {
                        (row.program.as_str(), row.scheme.as_str(), &row.pace) == (name, scheme, &pace)
                    })
                    .cloned()
            };
            // The sum over cores of the cycles that the program takes alone, by this scheme, over those that it took.
            let weighted = |row: &Row, scheme: &str| -> Option<f64> {
                let parts = program.cores.iter().zip(row.outcome.processor.ends);
                parts.map(|(name, end)| Some(with(alone, name, scheme)?.cycles() / end.0 as f64)).sum()
            };
            let base = with(rows, &row.program, "baseline");
            let over = base.and_then(|base| Some(weighted(row, "baseline")? / weighted(&base, "baseline")?));
            let written = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
            let mut cells = vec![
                row.program.clone(),
                row.scheme.clone(),
                row.outcome.cycles.0.to_string(),
                written(weighted(row, &row.scheme)),
                written(over),
            ];
            cells.extend(row.outcome.processor.ends.iter().take(count).map(|end| end.0.to_string()));
            sheet.rows.push(cells);
        }
        section.add_table(sheet);
    }
    section.add_text(format!(
        "Cycles are those until the last core has ended; a core that ends earlier rests. A weighted speedup is the sum of each \
         core's speed over that of its program alone on this machine: {count} if sharing cost nothing. The last figure weighs each \
         core by its program alone on Baseline, and compares the sum with Baseline's."
    ));
    section
}
