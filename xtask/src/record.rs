//! The record of a run: processor time by step, crate and test.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that names the file of the record.
pub const VARIABLE: &str = "XTASK_RECORD";
/// The file of the run that is under way, in the folder of runs.
pub const NEWEST: &str = "record.tsv";

/// A thing that is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The work that tells how fast this machine is.
    Calibration,
    /// A step.
    Step,
    /// A crate, with its tests and programs.
    Crate,
    /// A test: its binary and its name.
    Test,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Calibration, Kind::Step, Kind::Crate, Kind::Test];

    fn name(self) -> &'static str {
        match self {
            Kind::Calibration => "calibration",
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

/// Seconds of processor time by kind and name.
#[derive(Default)]
pub struct Record(BTreeMap<(Kind, String), f64>);

impl Record {
    /// Reads a record. A crate is compiled several times: as a library, as a test.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let mut record = Record::default();
        for (number, line) in text.lines().enumerate() {
            let mut fields = line.splitn(3, '\t');
            let (kind, seconds, name) = (fields.next(), fields.next(), fields.next());
            let kind = kind.and_then(|name| Kind::ALL.into_iter().find(|kind| kind.name() == name));
            let seconds = seconds.and_then(|seconds| seconds.parse::<f64>().ok());
            let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
            let (Some(kind), Some(seconds), Some(name)) = (kind, seconds, name) else {
                bail!("{}:{}: no line of a record: {line:?}", path.display(), number + 1);
            };
            if kind == Kind::Calibration && record.of(kind).next().is_some() {
                bail!("{}:{}: a second calibration: a record is of one run", path.display(), number + 1);
            }
            *record.0.entry((kind, name.to_owned())).or_default() += seconds;
        }
        Ok(record)
    }

    /// Names and seconds of a kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = (&str, f64)> {
        let of_kind = self.0.iter().filter(move |((is, _), _)| *is == kind);
        of_kind.map(|((_, name), seconds)| (name.as_str(), *seconds))
    }

    /// Seconds of a kind under names that are made shorter.
    pub fn by(&self, kind: Kind, shorter: impl Fn(&str) -> &str) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for (name, seconds) in self.of(kind) {
            *sums.entry(shorter(name).to_owned()).or_default() += seconds;
        }
        sums
    }
}
