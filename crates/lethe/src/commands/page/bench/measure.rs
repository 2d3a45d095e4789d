//! A program, paged in one way, for so many faults.

use super::configurations::{Configuration, Setting};
use super::programs::Programs;
use crate::commands::page::counted::How;
use anyhow::{Result, bail, ensure};
use lethe_programs::{Program, Run};
use std::ops::Add;
use std::time::Duration;

/// The cost of the measured faults together, those of all runs of a program added up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub(super) faults: u64,
    /// The time from the first of them to the last, with the program's own work meanwhile.
    pub(super) elapsed: Duration,
    /// The time in the fault path.
    pub(super) in_faults: Duration,
    /// The part of it that moves pages in and out of the program's sight, and the switch to the thread that is woken.
    pub(super) moving: Duration,
    /// Work between the faults.
    pub(super) off_line: Duration,
    /// The time in ciphers, in a fault or between them; only if it was metered.
    pub(super) crypto: Duration,
    /// The time in copies of sealed pages, in a fault or between them; only if it was metered.
    pub(super) copying: Duration,
    /// The time in both in the second process, all the while; only if it was metered.
    pub(super) beside: Duration,
    /// The threads that shared the work of a fault.
    pub(super) threads: u64,
}

impl Measured {
    /// Microseconds a fault of a time.
    pub(super) fn micros(&self, of: Duration) -> f64 {
        of.as_secs_f64() * 1e6 / self.faults as f64
    }
}

impl Add for Measured {
    type Output = Measured;

    fn add(self, other: Measured) -> Measured {
        Measured {
            faults: self.faults + other.faults,
            elapsed: self.elapsed + other.elapsed,
            in_faults: self.in_faults + other.in_faults,
            moving: self.moving + other.moving,
            off_line: self.off_line + other.off_line,
            crypto: self.crypto + other.crypto,
            copying: self.copying + other.copying,
            beside: self.beside + other.beside,
            threads: self.threads.max(other.threads),
        }
    }
}

/// Runs all runs of a program for so many faults each.
///
/// # Errors
/// A run that cannot be started, fails, or has not so many faults.
pub(super) fn program(
    programs: &Programs,
    program: &Program,
    configuration: Configuration,
    setting: &Setting,
    metered: bool,
) -> Result<Measured> {
    let each = program.runs.iter().map(|run| one(programs, run, configuration, setting, metered));
    each.reduce(|sum, next| Ok(sum? + next?)).unwrap_or_else(|| Ok(Measured::default()))
}

fn one(
    programs: &Programs,
    run: &Run,
    configuration: Configuration,
    setting: &Setting,
    metered: bool,
) -> Result<Measured> {
    let Setting { warm, faults, resident, cipher, .. } = setting;
    let mut more = vec![format!("warm={warm}"), format!("faults={faults}")];
    more.extend(metered.then(|| "meter=1".to_owned()));
    let ended = setting.paging(configuration).start(programs.command(run), &more)?.wait()?;
    let paged = || format!("{} paged with {configuration}, {cipher}, {resident} pages resident", run.name);
    let Some((counted, How::Whole)) = ended.counted else {
        bail!("{} left no figures: {}", paged(), ended.status);
    };
    ensure!(
        counted.faults == *faults,
        "{} ended ({}) after {} of {faults} faults, not counting the first {warm}: if it did what it should, ask for \
         fewer with --warm and --faults",
        paged(),
        ended.status,
        counted.faults
    );
    ensure!(ended.status.success(), "{} failed: {}", paged(), ended.status);
    Ok(Measured {
        faults: counted.faults,
        elapsed: counted.elapsed,
        in_faults: counted.total,
        moving: counted.frames,
        off_line: counted.idle,
        crypto: counted.crypto,
        copying: counted.copying,
        beside: counted.beside,
        threads: counted.threads,
    })
}
