//! The record of a run: processor time by step, crate and test.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that names the file of the record.
pub const VARIABLE: &str = "XTASK_RECORD";
/// The file of the run that is under way, in the folder of runs.
pub const NEWEST: &str = "record.tsv";
/// The time from one calibration of a run to the next.
pub const INTERVAL: Duration = Duration::from_secs(15);
/// The seconds that a calibration may take: beyond them it is no measurement of this machine.
const CALIBRATION: RangeInclusive<f64> = 0.02..=20.0;

/// A thing that is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The work that tells how fast this machine is now.
    Calibration,
    /// The beginning of a step, which takes no time.
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
    /// Its name.
    pub name: String,
    /// The processor time that it took.
    pub processor: Duration,
}

/// Refuses seconds that no calibration takes: they would let every run pass, or none.
pub fn refuse_no_calibration(seconds: f64) -> Result<()> {
    let (min, max) = (CALIBRATION.start(), CALIBRATION.end());
    ensure!(
        CALIBRATION.contains(&seconds),
        "a calibration of {seconds} s is none: it takes from {min} to {max} s"
    );
    Ok(())
}

/// The file of this run's record.
pub fn path() -> Result<PathBuf> {
    let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
    let path = path.with_context(|| {
        format!("{VARIABLE} names no record: the budget is of a whole run, which is `cargo xtask test` without --only")
    })?;
    Ok(path.into())
}

/// Adds a line to a record.
pub fn add(path: &Path, line: &Line) -> Result<()> {
    let text = format!("{}\t{:.3}\t{}\n", line.kind.name(), line.processor.as_secs_f64(), line.name);
    let file = File::options().append(true).create(true).open(path);
    // In one piece: others write at the same time.
    let added = file.and_then(|mut file| file.write_all(text.as_bytes()));
    added.with_context(|| format!("writing {}", path.display()))
}

/// The processor time of a thing.
#[derive(Clone, Copy, Default)]
pub struct Taken {
    /// Seconds of processor time.
    pub seconds: f64,
    /// The same in calibrations: a machine that is slow for a while takes longer for both.
    pub calibrations: f64,
}

impl std::ops::AddAssign for Taken {
    fn add_assign(&mut self, other: Taken) {
        self.seconds += other.seconds;
        self.calibrations += other.calibrations;
    }
}

/// The processor time of each thing, by kind and name.
#[derive(Default)]
pub struct Record {
    taken: BTreeMap<(Kind, String), Taken>,
    calibrations: Vec<f64>,
}

impl Record {
    /// Reads a record. A crate is compiled several times: as a library, as a test.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut record = Record::default();
        let mut begun = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let mut fields = line.splitn(3, '\t');
            let (kind, seconds, name) = (fields.next(), fields.next(), fields.next());
            let kind = kind.and_then(|name| Kind::ALL.into_iter().find(|kind| kind.name() == name));
            let seconds = seconds.and_then(|seconds| seconds.parse::<f64>().ok());
            let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
            let (Some(kind), Some(seconds), Some(name)) = (kind, seconds, name) else {
                bail!("line {}: no line of a record: {line:?}", number + 1);
            };
            let measured = &mut record.calibrations;
            let since = match kind {
                Kind::Calibration => {
                    refuse_no_calibration(seconds).with_context(|| format!("line {}", number + 1))?;
                    measured.push(seconds);
                    continue;
                }
                Kind::Begin => {
                    begun.insert(name, measured.len());
                    continue;
                }
                Kind::Step => {
                    let Some(since) = begun.remove(name) else {
                        bail!("line {}: the step {name} ends and has not begun", number + 1);
                    };
                    ensure!(
                        !record.taken.contains_key(&(kind, name.to_owned())),
                        "line {}: the step {name} is in it twice: a record is of one run",
                        number + 1
                    );
                    since
                }
                // It took no less time than the processor worked for it.
                Kind::Crate | Kind::Test => {
                    measured.len().saturating_sub((seconds / INTERVAL.as_secs_f64()) as usize)
                }
            };
            // The last measurement before it belongs to it too.
            let during = &measured[since.saturating_sub(1)..];
            ensure!(!during.is_empty(), "line {}: no calibration stands before it", number + 1);
            let calibration = during.iter().sum::<f64>() / during.len() as f64;
            *record.taken.entry((kind, name.to_owned())).or_default() +=
                Taken { seconds, calibrations: seconds / calibration };
        }
        Ok(record)
    }

    /// The calibrations of the run, the first before it began.
    pub fn calibrations(&self) -> &[f64] {
        &self.calibrations
    }

    /// Names of a kind, and what each took.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = (&str, Taken)> {
        let of_kind = self.taken.iter().filter(move |((is, _), _)| *is == kind);
        of_kind.map(|((_, name), taken)| (name.as_str(), *taken))
    }

    /// The processor time of those of a kind, under names that are made shorter.
    pub fn by(&self, kind: Kind, shorter: impl Fn(&str) -> &str) -> BTreeMap<String, Taken> {
        let mut sums = BTreeMap::<String, Taken>::new();
        for (name, taken) in self.of(kind) {
            *sums.entry(shorter(name).to_owned()).or_default() += taken;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibrations_of(text: &str, kind: Kind, name: &str) -> f64 {
        let record = Record::parse(text).unwrap();
        record.by(kind, |name| name)[name].calibrations
    }

    #[test]
    fn what_was_slow_while_the_machine_was_slow_counts_as_usual() {
        let text = "calibration\t0.5\twork\nbegin\t0\tunit\ntest\t10\tquick a\ncalibration\t2\twork\n\
                    calibration\t2\twork\ncalibration\t2\twork\ntest\t40\tslow a\nstep\t50\tunit\n";
        assert!((calibrations_of(text, Kind::Test, "quick a") - 20.0).abs() < 1e-9);
        assert!((calibrations_of(text, Kind::Test, "slow a") - 20.0).abs() < 1e-9);
        assert!((calibrations_of(text, Kind::Step, "unit") - 50.0 / 1.625).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_record_of_one_run_is_refused() {
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
