//! Each program from its beginning to its end, unpaged and paged, for what it computes itself between two faults.

use super::configurations::{Configuration, Setting};
use super::programs::Programs;
use crate::commands::page::counted::How;
use crate::commands::page::paged::run_unpaged;
use anyhow::{Context, Result, bail, ensure};
use indicatif::ProgressBar;
use lethe_programs::{Program, Run};
use std::io::{Read, Seek};
use std::time::Duration;

/// Unpaged runs of which the quickest counts.
const UNPAGED_RUNS: u64 = 5;

/// Steps of a progress bar that a program takes.
pub(super) fn steps(program: &Program) -> u64 {
    program.runs.len() as u64 * (UNPAGED_RUNS + 1)
}

/// Microseconds that a program computes between two faults: a whole unpaged run, over the faults of a whole run.
///
/// # Errors
/// A run that fails, or answers another thing than it should.
pub(super) fn own_micros(
    programs: &Programs,
    program: &Program,
    setting: &Setting,
    bar: &ProgressBar,
) -> Result<f64> {
    let (mut unpaged, mut faults) = (Duration::ZERO, 0);
    for run in program.runs {
        let mut quickest = Duration::MAX;
        for _ in 0..UNPAGED_RUNS {
            let (status, took) = run_unpaged(programs.command(run))?;
            ensure!(status.code() == Some(run.exit_code), "{} failed unpaged: {status}", run.name);
            quickest = quickest.min(took);
            bar.inc(1);
        }
        unpaged += quickest;
        faults += paged(programs, run, setting)?;
        bar.inc(1);
    }
    Ok(unpaged.as_secs_f64() * 1e6 / faults.max(1) as f64)
}

/// The faults of a whole run, whose answer is looked at.
fn paged(programs: &Programs, run: &Run, setting: &Setting) -> Result<u64> {
    let mut output = tempfile::tempfile().context("a temporary file for what a program prints")?;
    let mut command = programs.command(run);
    command.stdout(output.try_clone()?);
    let ended = setting.paging(Configuration::PLAIN).start(command, &[])?.wait()?;
    ensure!(ended.status.code() == Some(run.exit_code), "{} failed paged: {}", run.name, ended.status);
    output.rewind()?;
    let mut printed = Vec::new();
    output.read_to_end(&mut printed)?;
    run.check(&printed)?;
    match ended.counted {
        Some((counted, How::Whole)) => Ok(counted.faults),
        _ => bail!("{} left no figures", run.name),
    }
}
