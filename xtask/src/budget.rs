//! The step `budget`: fails if a step or a test binary takes much more processor time than its budget line allows.

use crate::measure::{processor_time, run_measured};
use crate::record::{self, INTERVAL, Kind, Line, ProcessorTime, Record};
use crate::step::Step;
use crate::tool::command;
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The file of the budget: a line for each step and each test binary.
const FILE: &str = "xtask/budget.toml";
/// A line may be exceeded by half.
const FACTOR: f64 = 1.5;
/// The seconds by which a line may always be exceeded: small times vary by more than half.
const TOLERANCE: f64 = 10.0;
/// The number of runs whose medians become lines.
const RUNS: usize = 3;
/// The number of calibrations on each processor before a run begins; their median counts.
const CALIBRATIONS: usize = 5;
/// The number of slowest things of each kind that are printed.
const MAX_LISTED: usize = 20;

const HEADER: &str =
    "# Processor time in seconds: medians of three whole runs. `cargo xtask budget` writes them.
# The step `budget` fails if a run takes more than half again and more than ten seconds longer. Times are scaled by
# calibrations: the one below, and those that are measured during the run.\n\n";

/// The contents of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    /// The seconds that [`work`] took on the machine that measured the lines.
    calibration: f64,
    steps: BTreeMap<String, f64>,
    /// The times by test binary.
    tests: BTreeMap<String, f64>,
}

/// The processor time of a run.
struct Usage {
    calibration: f64,
    steps: BTreeMap<String, ProcessorTime>,
    tests: BTreeMap<String, ProcessorTime>,
}

impl Usage {
    fn of(record: &Record) -> Result<Self> {
        let calibrations = record.calibrations().to_vec();
        ensure!(
            !calibrations.is_empty(),
            "the record has no calibration: it does not come from a run of `cargo xtask test`"
        );
        let steps = record.by(Kind::Step, |name| name);
        let tests = record.by(Kind::Test, |name| name.split(' ').next().unwrap_or(name));
        Ok(Usage { calibration: median(calibrations), steps, tests })
    }
}

impl Budget {
    fn read() -> Result<Self> {
        let text = fs::read_to_string(FILE).with_context(|| format!("reading {FILE}"))?;
        let budget: Budget = toml::from_str(&text).with_context(|| format!("reading {FILE}"))?;
        budget.validate().context(FILE)
    }

    /// Refuses a calibration with which every run would pass, or none.
    fn validate(self) -> Result<Self> {
        record::check_calibration(self.calibration)?;
        Ok(self)
    }

    /// Returns a message for each step and test binary that exceeds its line, or exceeds [`TOLERANCE`] without one.
    /// Also for each line that was not measured.
    fn violations(&self, usage: &Usage) -> Vec<String> {
        let mut violations = Vec::new();
        let kinds = [("step", &self.steps, &usage.steps), ("test binary", &self.tests, &usage.tests)];
        for (kind, lines, times) in kinds {
            for name in lines.keys().filter(|name| !times.contains_key(*name)) {
                violations.push(format!(
                    "{kind} {name} has a line and was not measured: remove the line if it no longer exists"
                ));
            }
            for (name, ProcessorTime { seconds, calibrations }) in times {
                let line = lines.get(name).copied();
                let expected = line.unwrap_or_default();
                let allowed = (expected + TOLERANCE).max(expected * FACTOR);
                let scaled = calibrations * self.calibration;
                if scaled > allowed {
                    let line = line.map_or("no line".into(), |line| format!("a line of {line:.1} s"));
                    violations.push(format!(
                        "{kind} {name} took {seconds:.1} s, {scaled:.1} s on the machine of the lines: at most {allowed:.1} s by {line}"
                    ));
                }
            }
        }
        violations
    }
}

/// Measures how fast this machine is while both processors work, and adds the median to a record.
///
/// `program` is a copy of this program, which no step rebuilds.
pub fn calibrate(program: &Path, path: &Path) -> Result<()> {
    let measure = || (0..CALIBRATIONS).map(|_| calibration(program)).collect::<Result<Vec<_>>>();
    let times = thread::scope(|scope| {
        let running: Vec<_> = (0..2).map(|_| scope.spawn(measure)).collect();
        running.into_iter().map(|run| run.join().expect("no panic")).collect::<Result<Vec<_>>>()
    })?;
    add_calibration(path, median(times.concat()))
}

/// Repeats calibrations until the sender of `stop` is dropped.
pub fn calibrate_until(program: &Path, path: &Path, stop: &Receiver<()>) -> Result<()> {
    while stop.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        add_calibration(path, calibration(program)?)?;
    }
    Ok(())
}

/// Returns the seconds of processor time that [`work`] takes now.
fn calibration(program: &Path) -> Result<f64> {
    let usage = run_measured(command(program).arg("calibrate").stdout(Stdio::null()))?;
    ensure!(usage.status.success(), "the calibration failed with {}", usage.status);
    Ok(processor_time(&usage).as_secs_f64())
}

fn add_calibration(path: &Path, seconds: f64) -> Result<()> {
    let processor_time = Duration::from_secs_f64(seconds);
    record::add(path, &Line { kind: Kind::Calibration, name: "work".into(), processor_time })
}

/// Works for half a second like a compiler: with hashes, trees and memory.
pub fn work() -> u64 {
    let (mut state, mut sum) = (1_u64, 0_u64);
    let (mut counts, mut ordered) = (HashMap::new(), BTreeMap::new());
    for _ in 0..300_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let text = format!("{:x}", state % 100_000);
        *counts.entry(text).or_insert(0_u64) += 1;
        ordered.insert(state, sum);
        sum = sum.wrapping_add(ordered.range(state / 2..).next().map_or(0, |(key, _)| *key));
    }
    sum.wrapping_add(counts.len() as u64)
}

/// Prints the slowest tests, steps and crates. Fails if the run exceeds the budget.
pub fn check(path: &Path) -> Result<()> {
    let record = Record::read(path)?;
    let usage = Usage::of(&record)?;
    for (what, kind) in [("tests", Kind::Test), ("steps", Kind::Step), ("crates", Kind::Crate)] {
        println!("The slowest {what}, in seconds of processor time:");
        let mut slowest: Vec<(&str, f64)> =
            record.of(kind).map(|(name, time)| (name, time.seconds)).collect();
        slowest.sort_by(|a, b| b.1.total_cmp(&a.1));
        slowest.iter().take(MAX_LISTED).for_each(|(name, seconds)| println!("{seconds:>9.1}  {name}"));
    }
    let violations = Budget::read()?.violations(&usage);
    ensure!(
        violations.is_empty(),
        "{}\nMake it faster; if the time is justified, write new lines with `cargo xtask budget` after three whole runs",
        violations.join("\n")
    );
    Ok(())
}

/// Writes the medians of several runs into the file.
pub fn write(records: &[PathBuf]) -> Result<()> {
    let files = records.iter().map(fs::canonicalize).collect::<std::io::Result<BTreeSet<_>>>();
    let files = files.context("a record cannot be read")?.len();
    if files < RUNS {
        bail!("expected the records of {RUNS} runs, got {files}: a line is the median of {RUNS} runs");
    }
    let run = |path: &PathBuf| -> Result<Usage> {
        let run = Usage::of(&Record::read(path)?)?;
        let is_missing = |step: &&Step| **step != Step::Budget && !run.steps.contains_key(step.name());
        if let Some(step) = Step::ALL.iter().find(is_missing) {
            bail!("the step `{}` is missing: only whole runs count", step.name());
        }
        Ok(run)
    };
    let runs: Vec<Usage> = records
        .iter()
        .map(|path| run(path).with_context(|| path.display().to_string()))
        .collect::<Result<_>>()?;
    let calibration = median(runs.iter().map(|run| run.calibration).collect());
    let medians = |select: fn(&Usage) -> &BTreeMap<String, ProcessorTime>| {
        let names = runs.iter().flat_map(|run| select(run).keys());
        let line = |name: &String| {
            let times = runs.iter().filter_map(|run| select(run).get(name));
            rounded_median(times.map(|time| time.calibrations * calibration).collect())
        };
        names.map(|name| (name.clone(), line(name))).filter(|(_, line)| *line >= 1.0).collect()
    };
    let budget = Budget { calibration, steps: medians(|run| &run.steps), tests: medians(|run| &run.tests) };
    fs::write(FILE, HEADER.to_owned() + &toml::to_string(&budget)?)
        .with_context(|| format!("writing {FILE}"))?;
    println!("    {FILE} has the medians of {} runs", runs.len());
    Ok(())
}

/// Returns the median, rounded to a tenth of a second.
fn rounded_median(seconds: Vec<f64>) -> f64 {
    (median(seconds) * 10.0).round() / 10.0
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(unit: f64, vault: f64) -> Budget {
        let line = |name: &str, seconds| BTreeMap::from([(name.to_owned(), seconds)]);
        Budget { calibration: 0.5, steps: line("unit", unit), tests: line("ameles-vault::all", vault) }
    }

    fn usage(calibration: f64, unit: f64, vault: f64) -> Usage {
        let times = |name: &str, seconds| {
            BTreeMap::from([(
                name.to_owned(),
                ProcessorTime { seconds, calibrations: seconds / calibration },
            )])
        };
        Usage { calibration, steps: times("unit", unit), tests: times("ameles-vault::all", vault) }
    }

    #[test]
    fn a_step_and_a_test_binary_that_take_half_as_much_again_are_named() {
        let lines = budget(100.0, 40.0);
        assert!(lines.violations(&usage(0.5, 149.0, 59.0)).is_empty());
        let violations = lines.violations(&usage(0.5, 151.0, 61.0));
        assert_eq!(violations.len(), 2, "{violations:?}");
        assert!(violations[0].contains("step unit took 151.0 s"), "{violations:?}");
        assert!(violations[0].contains(": at most 150.0 s"), "{violations:?}");
    }

    #[test]
    fn a_slower_machine_may_take_longer() {
        let lines = budget(100.0, 40.0);
        assert!(lines.violations(&usage(1.0, 299.0, 119.0)).is_empty());
        assert_eq!(lines.violations(&usage(0.25, 99.0, 39.0)).len(), 2);
    }

    #[test]
    fn what_is_new_needs_a_line_once_it_takes_long() {
        let lines = Budget { calibration: 1.0, steps: BTreeMap::new(), tests: BTreeMap::new() };
        assert!(lines.violations(&usage(1.0, 9.9, 0.1)).is_empty());
        assert_eq!(lines.violations(&usage(1.0, 10.1, 0.1)).len(), 1);
    }

    #[test]
    fn what_has_a_line_and_was_not_measured_is_named() {
        let none = Usage { calibration: 1.0, steps: BTreeMap::new(), tests: BTreeMap::new() };
        let violations = budget(100.0, 40.0).violations(&none);
        assert_eq!(violations.len(), 2, "{violations:?}");
        assert!(
            violations[1].starts_with("test binary ameles-vault::all has a line and was not measured"),
            "{violations:?}"
        );
    }

    #[test]
    fn a_calibration_that_is_no_measurement_is_refused() {
        for calibration in [0.0, -1.0, 0.001, 1000.0, f64::NAN, f64::INFINITY] {
            let lines = Budget { calibration, ..budget(1.0, 1.0) };
            assert!(lines.validate().is_err(), "{calibration}");
        }
        assert!(budget(1.0, 1.0).validate().is_ok());
    }

    #[test]
    fn a_line_is_the_middle_one_of_three_runs() {
        assert!((rounded_median(vec![9.04, 1.0, 5.06]) - 5.1).abs() < 1e-9);
    }
}
