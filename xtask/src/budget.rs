//! The step `budget`: no step and no test binary takes much more processor time than it did when its line was written.

use crate::measure::{processor, used_by};
use crate::record::{self, INTERVAL, Kind, Line, Record, Taken};
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

/// The file of the lines.
const FILE: &str = "xtask/budget.toml";
/// A line may be exceeded by half of it.
const FACTOR: f64 = 1.5;
/// Seconds within which all times count as equal: small ones vary by more than half.
const GRAIN: f64 = 10.0;
/// The runs whose medians become lines.
const RUNS: usize = 3;
/// Measurements on each processor before a run begins, of which the median counts.
const CALIBRATIONS: usize = 5;
/// The slowest of each kind that are shown.
const SHOWN: usize = 20;

const HEADER: &str =
    "# Processor time in seconds: medians of three whole runs, written by `cargo xtask budget`.
# The step `budget` fails if a run takes half as much time again and at least ten seconds more. Calibrations scale the times:
# the one below, and those during the run.\n\n";

/// The lines of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    /// The seconds of [`work`] on the machine whose seconds the lines are.
    calibration: f64,
    steps: BTreeMap<String, f64>,
    /// By test binary.
    tests: BTreeMap<String, f64>,
}

/// The processor time of a run.
struct Usage {
    calibration: f64,
    steps: BTreeMap<String, Taken>,
    tests: BTreeMap<String, Taken>,
}

impl Usage {
    fn of(record: &Record) -> Result<Self> {
        let calibrations = record.calibrations().to_vec();
        ensure!(
            !calibrations.is_empty(),
            "the record has no calibration: it is of no run of `cargo xtask test`"
        );
        let steps = record.by(Kind::Step, |name| name);
        let tests = record.by(Kind::Test, |name| name.split(' ').next().unwrap_or(name));
        Ok(Usage { calibration: middle(calibrations), steps, tests })
    }
}

impl Budget {
    fn read() -> Result<Self> {
        let text = fs::read_to_string(FILE).with_context(|| format!("reading {FILE}"))?;
        let budget: Budget = toml::from_str(&text).with_context(|| format!("reading {FILE}"))?;
        budget.checked().context(FILE)
    }

    /// Refuses a calibration that would let every run pass, or none.
    fn checked(self) -> Result<Self> {
        record::refuse_no_calibration(self.calibration)?;
        Ok(self)
    }

    /// The steps and binaries that take more than their line, or more than the grain and have none; and those that have a
    /// line and were not measured, which would pass however long they take.
    fn exceeded_by(&self, now: &Usage) -> Vec<String> {
        let mut faults = Vec::new();
        let kinds = [("step", &self.steps, &now.steps), ("test binary", &self.tests, &now.tests)];
        for (kind, lines, taken) in kinds {
            for name in lines.keys().filter(|name| !taken.contains_key(*name)) {
                faults.push(format!(
                    "{kind} {name} has a line and was not measured: take the line out if it is gone"
                ));
            }
            for (name, Taken { seconds, calibrations }) in taken {
                let line = lines.get(name).copied();
                let usual = line.unwrap_or_default();
                let allowed = (usual + GRAIN).max(usual * FACTOR);
                let scaled = calibrations * self.calibration;
                if scaled > allowed {
                    let line = line.map_or("no line".into(), |line| format!("a line of {line:.1} s"));
                    faults.push(format!(
                        "{kind} {name} took {seconds:.1} s, {scaled:.1} s on the machine of the lines: at most {allowed:.1} s by {line}"
                    ));
                }
            }
        }
        faults
    }
}

/// Measures how fast this machine is while both processors work, and adds the median of some measurements to a record. `program`
/// is a copy of this one that no step builds anew.
pub fn calibrate(program: &Path, path: &Path) -> Result<()> {
    let several = || (0..CALIBRATIONS).map(|_| calibration(program)).collect::<Result<Vec<_>>>();
    let times = thread::scope(|scope| {
        let running: Vec<_> = (0..2).map(|_| scope.spawn(several)).collect();
        running.into_iter().map(|run| run.join().expect("no panic")).collect::<Result<Vec<_>>>()
    })?;
    add_calibration(path, middle(times.concat()))
}

/// Measures how fast this machine is again and again, until the other end of a channel is gone.
pub fn keep_calibrating(program: &Path, path: &Path, until: &Receiver<()>) -> Result<()> {
    while until.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        add_calibration(path, calibration(program)?)?;
    }
    Ok(())
}

/// The seconds of processor time that [`work`] takes now.
fn calibration(program: &Path) -> Result<f64> {
    let used = used_by(command(program).arg("calibrate").stdout(Stdio::null()))?;
    ensure!(used.status.success(), "the calibration ended with {}", used.status);
    Ok(processor(&used).as_secs_f64())
}

fn add_calibration(path: &Path, seconds: f64) -> Result<()> {
    let processor = Duration::from_secs_f64(seconds);
    record::add(path, &Line { kind: Kind::Calibration, name: "work".into(), processor })
}

/// Works for half a second as compilers do: hashes, trees and memory.
pub fn work() -> u64 {
    let (mut state, mut sum) = (1_u64, 0_u64);
    let (mut seen, mut ordered) = (HashMap::new(), BTreeMap::new());
    for _ in 0..300_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let text = format!("{:x}", state % 100_000);
        *seen.entry(text).or_insert(0_u64) += 1;
        ordered.insert(state, sum);
        sum = sum.wrapping_add(ordered.range(state / 2..).next().map_or(0, |(key, _)| *key));
    }
    sum.wrapping_add(seen.len() as u64)
}

/// Prints what was slowest, and fails if the run exceeds the budget.
pub fn check(path: &Path) -> Result<()> {
    let record = Record::read(path)?;
    let now = Usage::of(&record)?;
    for (what, kind) in [("tests", Kind::Test), ("steps", Kind::Step), ("crates", Kind::Crate)] {
        println!("The slowest {what}, in seconds of processor time:");
        let mut slowest: Vec<(&str, f64)> =
            record.of(kind).map(|(name, taken)| (name, taken.seconds)).collect();
        slowest.sort_by(|a, b| b.1.total_cmp(&a.1));
        slowest.iter().take(SHOWN).for_each(|(name, seconds)| println!("{seconds:>9.1}  {name}"));
    }
    let faults = Budget::read()?.exceeded_by(&now);
    ensure!(
        faults.is_empty(),
        "{}\nMake it faster; or, where it is worth its time, `cargo xtask budget` after three whole runs writes new lines",
        faults.join("\n")
    );
    Ok(())
}

/// Writes the medians of runs into the file.
pub fn write(records: &[PathBuf]) -> Result<()> {
    let files = records.iter().map(fs::canonicalize).collect::<std::io::Result<BTreeSet<_>>>();
    let files = files.context("a record cannot be read")?.len();
    if files < RUNS {
        bail!("records of {files} runs are named, and a line is the median of {RUNS}");
    }
    let run = |path: &PathBuf| -> Result<Usage> {
        let run = Usage::of(&Record::read(path)?)?;
        let lacks = |step: &&Step| **step != Step::Budget && !run.steps.contains_key(step.name());
        if let Some(step) = Step::ALL.iter().find(lacks) {
            bail!("the step `{}` is not in it: a line is of whole runs", step.name());
        }
        Ok(run)
    };
    let runs: Vec<Usage> = records
        .iter()
        .map(|path| run(path).with_context(|| path.display().to_string()))
        .collect::<Result<_>>()?;
    let calibration = middle(runs.iter().map(|run| run.calibration).collect());
    let of_all = |named: fn(&Usage) -> &BTreeMap<String, Taken>| {
        let names = runs.iter().flat_map(|run| named(run).keys());
        let line = |name: &String| {
            let of_each = runs.iter().filter_map(|run| named(run).get(name));
            median(of_each.map(|taken| taken.calibrations * calibration).collect())
        };
        names.map(|name| (name.clone(), line(name))).filter(|(_, line)| *line >= 1.0).collect()
    };
    let budget = Budget { calibration, steps: of_all(|run| &run.steps), tests: of_all(|run| &run.tests) };
    fs::write(FILE, HEADER.to_owned() + &toml::to_string(&budget)?)
        .with_context(|| format!("writing {FILE}"))?;
    println!("    {FILE} has the medians of {} runs", runs.len());
    Ok(())
}

/// The median, to a tenth of a second.
fn median(seconds: Vec<f64>) -> f64 {
    (middle(seconds) * 10.0).round() / 10.0
}

fn middle(mut seconds: Vec<f64>) -> f64 {
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
        let taken = |name: &str, seconds| {
            BTreeMap::from([(name.to_owned(), Taken { seconds, calibrations: seconds / calibration })])
        };
        Usage { calibration, steps: taken("unit", unit), tests: taken("ameles-vault::all", vault) }
    }

    #[test]
    fn a_step_and_a_test_binary_that_take_half_as_much_again_are_named() {
        let lines = budget(100.0, 40.0);
        assert!(lines.exceeded_by(&usage(0.5, 149.0, 59.0)).is_empty());
        let faults = lines.exceeded_by(&usage(0.5, 151.0, 61.0));
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("step unit took 151.0 s"), "{faults:?}");
        assert!(faults[0].contains(": at most 150.0 s"), "{faults:?}");
    }

    #[test]
    fn a_slower_machine_may_take_longer() {
        let lines = budget(100.0, 40.0);
        assert!(lines.exceeded_by(&usage(1.0, 299.0, 119.0)).is_empty());
        assert_eq!(lines.exceeded_by(&usage(0.25, 99.0, 39.0)).len(), 2);
    }

    #[test]
    fn what_is_new_needs_a_line_once_it_takes_long() {
        let lines = Budget { calibration: 1.0, steps: BTreeMap::new(), tests: BTreeMap::new() };
        assert!(lines.exceeded_by(&usage(1.0, 9.9, 0.1)).is_empty());
        assert_eq!(lines.exceeded_by(&usage(1.0, 10.1, 0.1)).len(), 1);
    }

    #[test]
    fn what_has_a_line_and_was_not_measured_is_named() {
        let none = Usage { calibration: 1.0, steps: BTreeMap::new(), tests: BTreeMap::new() };
        let faults = budget(100.0, 40.0).exceeded_by(&none);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults[1].starts_with("test binary ameles-vault::all has a line and was not measured"),
            "{faults:?}"
        );
    }

    #[test]
    fn a_calibration_that_is_no_measurement_is_refused() {
        for calibration in [0.0, -1.0, 0.001, 1000.0, f64::NAN, f64::INFINITY] {
            let lines = Budget { calibration, ..budget(1.0, 1.0) };
            assert!(lines.checked().is_err(), "{calibration}");
        }
        assert!(budget(1.0, 1.0).checked().is_ok());
    }

    #[test]
    fn a_line_is_the_middle_one_of_three_runs() {
        assert!((median(vec![9.04, 1.0, 5.06]) - 5.1).abs() < 1e-9);
    }
}
