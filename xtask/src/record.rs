//! The record of a run: the processor time of each step, crate and test.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that names the file of the record.
pub const VARIABLE: &str = "XTASK_RECORD";
/// The name of the record of the current run.
pub const FILE_NAME: &str = "record.tsv";
/// The interval between two calibrations of a run.
pub const INTERVAL: Duration = Duration::from_secs(15);
/// The seconds that a calibration may take. Other values are not a measurement of a machine.
const CALIBRATION: RangeInclusive<f64> = 0.02..=20.0;

/// A thing that is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A calibration, which measures how fast this machine is now.
    Calibration,
    /// The start of a step, which takes no time.
    Begin,
    /// A step.
    Step,
    /// A crate, with its tests and programs.
    Crate,
    /// A test: its binary and its name.
    Test,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Calibration, Kind::Begin, Kind::Step, Kind::Crate, Kind::Test];

    fn name(self) -> &'static str {
        match self {
            Kind::Calibration => "calibration",
            Kind::Begin => "begin",
            Kind::Step => "step",
            Kind::Crate => "crate",
            Kind::Test => "test",
        }
    }
}

/// A line of the record.
pub struct Line {
    /// The kind of thing that was measured.
    pub kind: Kind,
    /// The name of the thing.
    pub name: String,
    /// The processor time of the thing.
    pub processor_time: Duration,
}

/// Refuses a calibration out of [`CALIBRATION`]: every run would pass with it, or none.
pub fn check_calibration(seconds: f64) -> Result<()> {
    let (min, max) = (CALIBRATION.start(), CALIBRATION.end());
    ensure!(
        CALIBRATION.contains(&seconds),
        "a calibration of {seconds} s is out of range: it must take from {min} to {max} s"
    );
    Ok(())
}

/// Returns the path of this run's record.
pub fn path() -> Result<PathBuf> {
    let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
    let path = path.with_context(|| {
        format!("{VARIABLE} is not set: the budget needs a whole run, `cargo xtask test` without --only")
    })?;
    Ok(path.into())
}

/// Adds a line to a record.
pub fn add(path: &Path, line: &Line) -> Result<()> {
    let text = format!("{}\t{:.3}\t{}\n", line.kind.name(), line.processor_time.as_secs_f64(), line.name);
    let file = File::options().append(true).create(true).open(path);
    // One write: other processes append at the same time.
    let added = file.and_then(|mut file| file.write_all(text.as_bytes()));
    added.with_context(|| format!("writing {}", path.display()))
}

/// The processor time of a thing.
#[derive(Clone, Copy, Default)]
pub struct ProcessorTime {
    /// The number of seconds of processor time.
    pub seconds: f64,
    /// The processor time divided by that of a calibration, which also takes longer while the machine is slow.
    pub calibrations: f64,
}

impl std::ops::AddAssign for ProcessorTime {
    fn add_assign(&mut self, other: ProcessorTime) {
        self.seconds += other.seconds;
        self.calibrations += other.calibrations;
    }
}

/// The processor time of each thing, by kind and name.
#[derive(Default)]
pub struct Record {
    times: BTreeMap<(Kind, String), ProcessorTime>,
    calibrations: Vec<f64>,
}

impl Record {
    /// Reads a record. A crate counts several times: as a library and as a test.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut record = Record::default();
        let mut step_starts = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let mut fields = line.splitn(3, '\t');
            let (kind, seconds, name) = (fields.next(), fields.next(), fields.next());
            let kind = kind.and_then(|name| Kind::ALL.into_iter().find(|kind| kind.name() == name));
            let seconds = seconds.and_then(|seconds| seconds.parse::<f64>().ok());
            let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
            let (Some(kind), Some(seconds), Some(name)) = (kind, seconds, name) else {
                bail!("line {}: not a line of a record: {line:?}", number + 1);
            };
            let measured = &mut record.calibrations;
            let first = match kind {
                Kind::Calibration => {
                    check_calibration(seconds).with_context(|| format!("line {}", number + 1))?;
                    measured.push(seconds);
                    continue;
                }
                Kind::Begin => {
                    step_starts.insert(name, measured.len());
                    continue;
                }
                Kind::Step => {
                    let Some(first) = step_starts.remove(name) else {
                        bail!("line {}: the step {name} ends but did not begin", number + 1);
                    };
                    ensure!(
                        !record.times.contains_key(&(kind, name.to_owned())),
                        "line {}: the step {name} occurs twice: a record must come from one run",
                        number + 1
                    );
                    first
                }
                // The elapsed time is at least the processor time.
                Kind::Crate | Kind::Test => {
                    measured.len().saturating_sub((seconds / INTERVAL.as_secs_f64()) as usize)
                }
            };
            // The last calibration before the start counts too.
            let during = &measured[first.saturating_sub(1)..];
            ensure!(!during.is_empty(), "line {}: no calibration comes before this line", number + 1);
            let calibration = during.iter().sum::<f64>() / during.len() as f64;
            *record.times.entry((kind, name.to_owned())).or_default() +=
                ProcessorTime { seconds, calibrations: seconds / calibration };
        }
        Ok(record)
    }

    /// Returns the calibrations of the run. The first one comes before the run.
    pub fn calibrations(&self) -> &[f64] {
        &self.calibrations
    }

    /// Returns the names of a kind with their processor times.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = (&str, ProcessorTime)> {
        let rows = self.times.iter().filter(move |((row_kind, _), _)| *row_kind == kind);
        rows.map(|((_, name), time)| (name.as_str(), *time))
    }

    /// Returns the sums of processor time of a kind, grouped by a key of the name.
    pub fn by(&self, kind: Kind, key: impl Fn(&str) -> &str) -> BTreeMap<String, ProcessorTime> {
        let mut sums = BTreeMap::<String, ProcessorTime>::new();
        for (name, time) in self.of(kind) {
            *sums.entry(key(name).to_owned()).or_default() += time;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibrations_taken(text: &str, kind: Kind, name: &str) -> f64 {
        let record = Record::parse(text).unwrap();
        record.by(kind, |name| name)[name].calibrations
    }

    #[test]
    fn a_test_that_is_slow_on_a_slow_machine_counts_as_usual() {
        let text = "calibration\t0.5\twork\nbegin\t0\tunit\ntest\t10\tquick a\ncalibration\t2\twork\n\
                    calibration\t2\twork\ncalibration\t2\twork\ntest\t40\tslow a\nstep\t50\tunit\n";
        assert!((calibrations_taken(text, Kind::Test, "quick a") - 20.0).abs() < 1e-9);
        assert!((calibrations_taken(text, Kind::Test, "slow a") - 20.0).abs() < 1e-9);
        assert!((calibrations_taken(text, Kind::Step, "unit") - 50.0 / 1.625).abs() < 1e-9);
    }

    #[test]
    fn a_file_that_is_not_the_record_of_one_run_is_refused() {
        let (work, unit) = ("calibration\t1\twork\n", "begin\t0\tunit\nstep\t50\tunit\n");
        assert!(Record::parse(&format!("{work}{unit}")).is_ok());
        for text in [
            unit.to_owned(),
            format!("{work}step\t50\tunit\n"),
            format!("{work}{unit}{work}{unit}"),
            format!("{work}{unit}test\tNaN\ta\n"),
            "calibration\t0\twork\n".to_owned(),
            "calibration\tinf\twork\n".to_owned(),
            "calibration\t1000\twork\n".to_owned(),
        ] {
            assert!(Record::parse(&text).is_err(), "{text}");
        }
    }
}
