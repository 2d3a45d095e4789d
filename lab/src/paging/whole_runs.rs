//! Whole runs of each program, unpaged and paged, to find what it computes itself between two faults.

use super::configuration::{Configuration, Setting};
use super::error::PagingError;
use super::pager::RunEnd;
use super::rounds::Bench;
use ameles_programs::{Program, Run};
use std::io::{Read, Seek};
use std::time::Duration;

/// Unpaged runs of which the quickest counts.
const UNPAGED_RUNS: u64 = 5;

/// Returns the number of steps of a progress bar that a program takes.
pub(super) fn steps(program: &Program) -> u64 {
    program.runs.len() as u64 * (UNPAGED_RUNS + 1)
}

/// Microseconds that a program computes between two faults: a whole unpaged run, over the faults of a whole run.
///
/// # Errors
/// A run that fails, or answers another thing than it should.
pub(super) fn own_micros(
    bench: &Bench<'_>,
    program: &Program,
    setting: &Setting,
) -> Result<f64, PagingError> {
    let (mut unpaged, mut faults) = (Duration::ZERO, 0);
    for run in program.runs {
        let mut quickest = Duration::MAX;
        for _ in 0..UNPAGED_RUNS {
            bench.steps.begin("whole runs");
            let unpaged_run = bench.pager.run_unpaged(bench.programs.command(run));
            let (status, duration) = unpaged_run.map_err(PagingError::Run)?;
            if status.code() != Some(run.exit_code) {
                return Err(PagingError::Failed { run: run.name, how: "unpaged", status });
            }
            quickest = quickest.min(duration);
            bench.steps.end();
        }
        unpaged += quickest;
        bench.steps.begin("whole runs");
        faults += paged(bench, run, setting)?;
        bench.steps.end();
    }
    Ok(unpaged.as_secs_f64() * 1e6 / faults.max(1) as f64)
}

/// The faults of a whole run, whose answer is checked.
fn paged(bench: &Bench<'_>, run: &Run, setting: &Setting) -> Result<u64, PagingError> {
    let mut output = tempfile::tempfile().map_err(PagingError::File)?;
    let mut command = bench.programs.command(run);
    command.stdout(output.try_clone().map_err(PagingError::Output)?);
    let ended = bench.pager.run_paged(command, setting.paging(Configuration::PLAIN), None);
    let RunEnd { status, measured } = ended.map_err(PagingError::Run)?;
    if status.code() != Some(run.exit_code) {
        return Err(PagingError::Failed { run: run.name, how: "paged", status });
    }
    let mut printed = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut printed)).map_err(PagingError::Output)?;
    run.check(&printed)?;
    measured.map(|measured| measured.faults).ok_or(PagingError::NoFigures(run.name))
}
