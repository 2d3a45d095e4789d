//! `ameles lab processor`

mod conditions;
mod unused_flags;

use super::deferred_signals::DeferredSignals;
use super::folder;
use super::output;
use super::progress::{PartialReport, ProgressDisplay};
use crate::commands::usage_error::usage_error;
use crate::runtime::exit::Exit;
use ameles_lab::processor::{self, Options, Part, ProcessorError};
use ameles_simulator::pace::Pace;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use conditions::about;
use std::path::PathBuf;
use std::str::FromStr;
use unused_flags::Given;

#[derive(Args)]
#[command(
    after_help = "The schemes of \"IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM\" over a processor, a \
tree of 25 levels and DDR3, on short traces of real programs. Time is simulated: the same seed gives the same digits on every \
machine. Each run takes the memory of a tree: 1.3 GiB for 25 levels.

Schemes: baseline, ir-alloc, ir-stash, ir-dwb, ir-oram, llc-d, llc-d-stash-alloc, llc-d-dwb, llc-d-stash-alloc-dwb, rho, raw, ring, \
llc-d-raw, llc-d-ring, ir-alloc1, ir-alloc2, ir-alloc3, sound-baseline, sound-alloc, sound-llc-d-alloc, sound-raw, sound-ring, \
sound-llc-d, sound-llc-d-ring. Those that begin with sound- read every path, so that they are oblivious. Those with ring run by name \
only, or with at most 22 levels. Those that put dummies to use need a rate, and are left out where paths are free.

Settings: z=10-15:1,16-18:2  hits=read-the-path|stash-answers|save-the-path|answer-at-once  top  top-ways  stash  plb  plb-ways  \
labels  subtree  lines  rob  llc  block  bucket  eviction-rate  raw-headers  ring-reads  ring-slots  ring-metadata  dwb  dwb-last  \
llc-d  rho-levels  rho-z  rho-top  rho-paths  rho-sets  rho-ways

Examples:
  ameles lab processor --quick
  ameles lab processor --out figures
  ameles lab processor --program xz,lbm --scheme baseline,ir-alloc --csv figures.csv
  ameles lab processor --part scaling --pace free
  ameles lab processor --trace mine.trace --scheme ir-oram --set z=10-16:2 --pace end:1000"
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
    /// and a dummy after T idle cycles (idle:T), or T instructions (instructions:T) [default: end:1000,start:1000,idle:250,free]
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    pace: Vec<Rate>,
    /// Levels of the tree, those on the trusted side too [default: 25, or 20 with --quick]
    #[arg(long, value_name = "NUMBER")]
    levels: Option<u32>,
    /// Run a small tree and the first 5000 misses of each program: a minute, and figures that say little
    #[arg(long)]
    quick: bool,
    /// Run so many misses of each program, its warm-up apart: 1 or more [default: 30000, or 5000 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    misses: Option<u32>,
    /// Run whole traces, which have 100,000 misses or more
    #[arg(long, conflicts_with_all = ["quick", "misses"])]
    full: bool,
    /// The seed of all that is drawn
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Runs side by side [default: one for each processor, 4 at most]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// The parts of the report; flags that none of them uses are refused [default: figures, and utilisation unless programs,
    /// schemes or settings are chosen]
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    part: Vec<ReportPart>,
    /// Write the figures of all runs as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a folder: one page with all tables and pictures (report.html), and each of them as CSV or SVG. It is a new folder, an
    /// empty one, or one with an older report, which goes
    #[arg(long, value_name = "DIR", visible_alias = "report")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReportPart {
    /// Programs by schemes: Figures 2, 6, 10 to 12, 14 and 15, and the energy
    Figures,
    /// Slots of each level that hold a block: Figures 3, 4 and 13
    Utilisation,
    /// IR-Alloc's sizes, searched for this tree, one below and one above: Figure 16; only when it is named
    Scaling,
}

impl From<ReportPart> for Part {
    fn from(part: ReportPart) -> Self {
        match part {
            ReportPart::Figures => Part::Figures,
            ReportPart::Utilisation => Part::Utilisation,
            ReportPart::Scaling => Part::Scaling,
        }
    }
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
            Some(("instructions", count)) => count.parse().ok().map(Pace::Instructions),
            _ => None,
        };
        pace.map(Rate).ok_or_else(|| {
            "write free, start:T, end:T or idle:T with T in cycles, such as end:1000, or instructions:T"
                .to_owned()
        })
    }
}

impl Arguments {
    fn options(&self) -> Result<Options> {
        let standard = if self.quick { Options::quick() } else { Options::standard() };
        let mut options = Options {
            parts: self.part.iter().map(|part| Part::from(*part)).collect(),
            levels: self.levels.unwrap_or(standard.levels),
            trace: self.trace.clone(),
            programs: self.program.clone(),
            schemes: self.scheme.clone(),
            seed: self.seed,
            misses: if self.full {
                usize::MAX
            } else {
                self.misses.map_or(standard.misses, |misses| misses as usize)
            },
            threads: self.threads.map_or(standard.threads, usize::from),
            ..standard
        };
        if !self.pace.is_empty() {
            options.paces = self.pace.iter().map(|rate| rate.0).collect();
        }
        for given in &self.set {
            options.set(given).map_err(|why| usage_error(format!("--set {why}")))?;
        }
        let options = options.without_duplicates();
        match unused_flags::refusal(&options.parts(), &self.given(&options)) {
            Some(why) => Err(usage_error(why).into()),
            None => Ok(options),
        }
    }

    /// The flags of this command line that not every part uses.
    fn given(&self, options: &Options) -> Vec<Given> {
        const FIGURES: &[Part] = &[Part::Figures];
        const BUT_FILLING: &[Part] = &[Part::Figures, Part::Scaling];
        let flag =
            |flag: &str, is_given: bool, used_by| is_given.then(|| Given { flag: flag.to_owned(), used_by });
        let flags = [
            flag("--trace", self.trace.is_some(), FIGURES),
            flag("--program", !self.program.is_empty(), FIGURES),
            flag("--scheme", !self.scheme.is_empty(), FIGURES),
            flag("--csv", self.csv.is_some(), FIGURES),
            flag("--pace", !self.pace.is_empty(), BUT_FILLING),
            flag("more than one rate of --pace", !self.pace.is_empty() && options.paces.len() > 1, FIGURES),
        ];
        // The search finds the sizes, for a machine without a small tree.
        let is_of_figures =
            |set: &&String| set.starts_with("z=") || set.starts_with("rho-") || set.starts_with("block=");
        let settings = self.set.iter().map(|set| Given {
            flag: format!("--set {set}"),
            used_by: if is_of_figures(&set) { FIGURES } else { BUT_FILLING },
        });
        flags.into_iter().flatten().chain(settings).collect()
    }
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let options = arguments.options()?;
    if arguments.csv.is_some() && arguments.csv == arguments.out {
        return Err(usage_error(
            "--csv and --out are one path: give the file and the folder names of their own",
        )
        .into());
    }
    let csv = arguments.csv.as_ref().map(|path| output::open("--csv", path)).transpose()?;
    let folder = arguments.out.as_ref().map(|path| folder::open("--out", path)).transpose()?;
    let report =
        processor::run(&options, &ProgressDisplay::begin(&PartialReport::default())).map_err(named)?;
    // Files are there as a whole, or not at all.
    let held = DeferredSignals::begin()?;
    let written = || -> Result<()> {
        if let Some(folder) = folder {
            report.write_into(&folder, &about(&options, &arguments.set)).context("--out")?;
        }
        if let Some(csv) = csv {
            csv.write(|mut file| report.write_csv(&mut file)).context("--csv")?;
        }
        Ok(())
    };
    let written = written();
    held.end();
    written.map(|()| Exit::Success)
}

/// An error, which names the flag if one is to blame: that is no failure of a run.
fn named(error: ProcessorError) -> anyhow::Error {
    if !error.is_of_options() {
        return error.into();
    }
    let flag = match &error {
        ProcessorError::File(_) => "--trace ",
        ProcessorError::Unknown { .. } => "--",
        ProcessorError::Levels(_) => "--levels: ",
        _ => "",
    };
    usage_error(format!("{flag}{error}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[derive(clap::Parser)]
    struct Lab {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn help_names_every_scheme() {
        let help = Lab::command().render_long_help().to_string().replace('\n', " ");
        for name in processor::names().split(", ") {
            assert!(help.contains(&format!("{name},")) || help.contains(&format!("{name}.")), "{name}");
        }
    }
}
