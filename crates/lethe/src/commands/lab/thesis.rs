//! `lethe lab thesis`

use crate::config::interval::Interval;
use crate::config::size::Size;
use crate::runtime::exit::Exit;
use crate::runtime::output::say;
use crate::runtime::progress;
use anyhow::{Context, Result};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use lethe_lab::bench::Progress;
use lethe_lab::thesis::{self, CountFilling, Options, Part, ThesisError};
use lethe_lab::virtual_time::ServerTime;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

#[derive(Args)]
#[command(
    after_help = "The workloads A to E of \"Oblivious RAM in practice\" (2019): home user, traveling user, email, code \
distribution, E-Government. Each scheme moves the same objects over a link of 23.6 ms and 510.4 Mbit/s, in an ORAM of \
5 GiB. Time is virtual: the same seed gives the same digits on every machine. What the thesis prints stands in brackets.

Schemes: none, blocks, blocks-together, curious-thesis, oblivistore-thesis, ring-thesis, ring-33-48-63, ring, curious, \
oblivistore, path-paper, path, trivial, practical-os, square-root; hierarchical only when it is named.

Examples:
  lethe lab thesis --quick
  lethe lab thesis --workload C --scheme ring --block 1MiB
  lethe lab thesis --csv figures.csv"
)]
pub(super) struct Arguments {
    /// The workloads, such as A,C, or files of COSBench that end with .xml [default: A to E]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workload: Vec<String>,
    /// The schemes, such as ring,path [default: all but hierarchical]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    scheme: Vec<String>,
    /// Sizes of blocks, such as 64KiB,1MiB [default: the thesis's three for each workload]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    block: Vec<Size>,
    /// Run the largest blocks only, and the first 30 reads and writes
    #[arg(long)]
    quick: bool,
    /// The seed of all that is drawn: objects, order, the schemes' own randomness
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The time that the store takes for a GET and for a PUT, or for both; 0s for the bare link [default: 5ms,80ms]
    #[arg(long, value_name = "TIMES", value_delimiter = ',')]
    server_time: Vec<Interval>,
    /// The part of the filling of an ORAM, before its first access, that is counted
    #[arg(long, value_enum, default_value_t = Filling::Requests)]
    filling: Filling,
    /// The parts of the report [default: all, or the workloads where a workload, a scheme or a block size is named]
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    part: Vec<ReportPart>,
    /// Write the figures of the workloads as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Filling {
    /// No part of it
    Nothing,
    /// Its requests and not its bytes, as the thesis does
    Requests,
    /// Its requests and its bytes
    All,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReportPart {
    /// The workloads A to E, or those that are named
    Workloads,
    /// Git over Swift: pushing, cloning and pulling, in a public and in a private cloud
    Git,
}

/// A progress bar, and tables on standard output.
struct Shown(ProgressBar);

impl Progress for Shown {
    fn at(&self, what: &str, done: u64, all: u64) {
        progress::at(&self.0, what, done, all);
    }

    fn found(&self, table: &str) {
        self.0.suspend(|| say!("{table}\n"));
    }
}

impl Arguments {
    fn options(&self) -> Result<Options> {
        let standard = Options::standard();
        let server = match *self.server_time {
            [] => standard.server,
            [both] => ServerTime { get: both.0, put: both.0 },
            [get, put] => ServerTime { get: get.0, put: put.0 },
            _ => return Err(misused("--server-time takes one time or two: write such as 5ms,80ms")),
        };
        let part = |part: &ReportPart| match part {
            ReportPart::Workloads => Part::Workloads,
            ReportPart::Git => Part::Git,
        };
        Ok(Options {
            parts: self.part.iter().map(part).collect(),
            workloads: self.workload.clone(),
            schemes: self.scheme.clone(),
            block_bytes: self.block.iter().map(|size| size.0).collect(),
            quick: self.quick,
            seed: self.seed,
            server,
            filling: match self.filling {
                Filling::Nothing => CountFilling::Nothing,
                Filling::Requests => CountFilling::Requests,
                Filling::All => CountFilling::All,
            },
            ..standard
        })
    }
}

fn misused(error: &str) -> anyhow::Error {
    clap::Error::raw(ErrorKind::InvalidValue, format!("{error}\n")).into()
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let options = arguments.options()?;
    let csv = arguments
        .csv
        .as_ref()
        .map(|path| File::create(path).with_context(|| format!("{} cannot be written", path.display())));
    let csv = csv.transpose()?;
    let bar = progress::steps("", 0);
    let report = thesis::run(&options, &Shown(bar.clone()));
    bar.finish_and_clear();
    let report = match report {
        // A name that is mistyped is no failure of a run.
        Err(ThesisError::Unknown { what, name, known }) => {
            return Err(misused(&format!("--{what} {name} is unknown: choose {known}")));
        }
        report => report?,
    };
    if let Some(csv) = csv {
        report.write_csv(&mut BufWriter::new(csv)).context("--csv")?;
    }
    Ok(Exit::Success)
}
