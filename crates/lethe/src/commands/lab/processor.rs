//! `lethe lab processor`

use super::output::Output;
use crate::runtime::exit::Exit;
use crate::runtime::output::{complain, say};
use crate::runtime::progress::{self, Lines};
use anyhow::{Context, Result};
use clap::Args;
use clap::error::ErrorKind;
use indicatif::ProgressBar;
use lethe_controller::pace::Pace;
use lethe_lab::bench::Progress;
use lethe_lab::processor::{self, Options, ProcessorError};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Args)]
#[command(
    after_help = "The schemes of \"IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM\" over a processor, a \
tree of 25 levels and DDR3, on short traces of real programs. Time is simulated: the same seed gives the same digits on every \
machine. Each run takes the memory of a tree: 1.3 GiB for 25 levels.

Schemes: baseline, ir-alloc, ir-stash, ir-dwb, ir-oram, llc-d, llc-d-stash-alloc, ir-alloc1, ir-alloc2, ir-alloc3, \
sound-baseline, sound-alloc, sound-llc-d-alloc. Those that begin with sound- read every path, so that they are oblivious.

Settings: z=10-15:1,16-18:2  hits=read-the-path|stash-answers|save-the-path|answer-at-once  top  top-ways  stash  plb  plb-ways  \
labels  subtree  lines  rob  llc  dwb  llc-d

Examples:
  lethe lab processor --quick
  lethe lab processor --program xz,lbm --scheme baseline,ir-alloc --csv figures.csv
  lethe lab processor --trace mine.trace --scheme ir-oram --set z=10-16:2 --pace end:1000"
)]
pub(super) struct Arguments {
    /// A trace of your own, packed or in USIMM's text, in place of the programs
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    trace: Option<PathBuf>,
    /// The programs, such as xz,rand [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    program: Vec<String>,
    /// The schemes, such as baseline,ir-oram [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    scheme: Vec<String>,
    /// A change of every scheme's configuration; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The times at which paths begin: free, or one T cycles after the last began (start:T) or ended (end:T), or when it is needed
    /// and a dummy after T idle cycles (idle:T) [default: end:1000,start:1000,idle:250,free]
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    pace: Vec<Rate>,
    /// Levels of the tree, those on the trusted side too [default: 25, or 18 with --quick]
    #[arg(long, value_name = "NUMBER")]
    levels: Option<u32>,
    /// Run a small tree and the first 5000 misses of each program: seconds, and figures that say little
    #[arg(long)]
    quick: bool,
    /// Run so many misses of each program, its warm-up apart [default: 30000, or 5000 with --quick]
    #[arg(long, value_name = "NUMBER")]
    misses: Option<usize>,
    /// Run whole traces, which have 100,000 misses or more
    #[arg(long, conflicts_with_all = ["quick", "misses"])]
    full: bool,
    /// The seed of all that is drawn
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Runs side by side [default: one for each processor, 4 at most]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<usize>,
    /// Write the figures of all runs as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// A rate of paths.
#[derive(Clone, Copy)]
struct Rate(Pace);

impl FromStr for Rate {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let pace = match given.split_once(':') {
            None if given == "free" => Some(Pace::Free),
            Some(("start", cycles)) => cycles.parse().ok().map(Pace::FromStart),
            Some(("end", cycles)) => cycles.parse().ok().map(Pace::FromEnd),
            Some(("idle", cycles)) => cycles.parse().ok().map(Pace::Idle),
            _ => None,
        };
        pace.map(Rate).ok_or_else(|| {
            "write free, start:T, end:T or idle:T, with T in cycles, such as end:1000".to_owned()
        })
    }
}

/// A progress bar or lines of progress, and tables on standard output.
struct Shown {
    bar: ProgressBar,
    lines: Lines,
}

impl Progress for Shown {
    fn at(&self, what: &str, done: u64, all: u64) {
        progress::at(&self.bar, what, done, all);
        if self.bar.is_hidden()
            && let Some(line) = self.lines.due(what, done, all)
        {
            complain!("lethe lab: {line}");
        }
    }

    fn found(&self, table: &str) {
        self.bar.suspend(|| say!("{table}\n"));
    }
}

impl Arguments {
    fn options(&self) -> Result<Options> {
        let standard = if self.quick { Options::quick() } else { Options::standard() };
        let mut options = Options {
            levels: self.levels.unwrap_or(standard.levels),
            trace: self.trace.clone(),
            programs: self.program.clone(),
            schemes: self.scheme.clone(),
            seed: self.seed,
            misses: if self.full { usize::MAX } else { self.misses.unwrap_or(standard.misses) },
            threads: self.threads.unwrap_or(standard.threads),
            ..standard
        };
        if !self.pace.is_empty() {
            options.paces = self.pace.iter().map(|rate| rate.0).collect();
        }
        for given in &self.set {
            options.set(given).map_err(|why| misused(&format!("--set {why}")))?;
        }
        Ok(options)
    }
}

fn misused(error: &str) -> anyhow::Error {
    clap::Error::raw(ErrorKind::InvalidValue, format!("{error}\n")).into()
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let options = arguments.options()?;
    let csv = arguments.csv.as_ref().map(|path| {
        Output::open(path).with_context(|| format!("--csv {} cannot be written", path.display()))
    });
    let csv = csv.transpose()?;
    let bar = progress::steps("", 0);
    let report = processor::run(&options, &Shown { bar: bar.clone(), lines: Lines::begin() });
    bar.finish_and_clear();
    let report = match report {
        // A name that is mistyped, or an impossible machine, is no failure of a run.
        Err(
            error @ (ProcessorError::Unknown { .. }
            | ProcessorError::Levels(_)
            | ProcessorError::Configuration { .. }),
        ) => return Err(misused(&error.to_string())),
        report => report?,
    };
    if let Some(csv) = csv {
        csv.write(|mut file| report.write_csv(&mut file)).context("--csv")?;
    }
    Ok(Exit::Success)
}
