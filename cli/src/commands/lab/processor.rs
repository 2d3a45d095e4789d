//! `ameles lab processor`

mod conditions;
mod machine_flags;
mod trace_flags;
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
use machine_flags::MachineFlags;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use trace_flags::TraceFlags;
use unused_flags::GivenFlag;

#[derive(Args)]
#[command(
    after_help = "Simulates the schemes of \"IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM\" with a processor, \
a tree of 25 levels and DDR3, on short traces of real programs. Time is simulated: the same seed gives the same figures on every \
machine. Each thread takes the memory of a tree: 1.3 GiB for 25 levels.

Schemes: baseline, ir-alloc, ir-stash, ir-dwb, ir-oram, ir-stash-alloc, llc-d, llc-d-stash-alloc, llc-d-dwb, llc-d-stash-alloc-dwb, rho, raw, ring, \
llc-d-raw, llc-d-ring, ir-alloc1, ir-alloc2, ir-alloc3, sound-baseline, sound-alloc, sound-llc-d-alloc, sound-raw, sound-ring, \
sound-llc-d, sound-llc-d-ring. Schemes that begin with sound- read every path, so they are oblivious. All of them are too many for a \
short run: --scheme all runs them, those with ring with at most 22 levels. Newer schemes run only if named: fork, fork-merge, \
sound-fork, path3, page, ring20, string. Schemes that use dummy accesses need a rate, and are skipped with --pace free.

Settings: z=10-15:1,16-18:2  hits=read-the-path|stash-answers|save-the-path|answer-at-once  top  top-ways  stash  plb  plb-ways  \
labels  positions  subtree  lines  rob  llc  block  bucket  eviction-rate  raw-headers  ring-reads  ring-slots  ring-metadata  dwb  dwb-last  \
llc-d  overlap  rho-levels  rho-z  rho-top  rho-paths  rho-sets  rho-ways  rho-on-eviction  fork-queue  fork-age  fork-one-by-one  \
fork-first  fork-last

Examples:
  ameles lab processor --quick
  ameles lab processor --out figures
  ameles lab processor --as authors,paper,machine --out figures
  ameles lab processor --program xz,lbm --scheme baseline,ir-alloc --csv figures.csv
  ameles lab processor --trace a.trace,b.trace --scheme baseline,ir-oram
  ameles lab processor --part scaling --pace free
  ameles lab processor --trace mine.trace --scheme ir-oram --set z=10-16:2 --pace end:1000"
)]
pub(in crate::commands) struct Arguments {
    #[command(flatten)]
    machine: MachineFlags,
    #[command(flatten)]
    traces: TraceFlags,
    /// The programs, such as xz,rand [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    program: Vec<String>,
    /// The schemes, such as baseline,ir-oram, or all [default: those of the paper's figures]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    scheme: Vec<String>,
    /// Change a setting of every scheme (may be given several times)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The start of paths [default: end:1000,free; free,fetches:1000 as authors]:
    ///   free: at any time
    ///   start:T, end:T: T cycles after the last one started or ended
    ///   idle:T, instructions:T: on demand, with a dummy after T idle cycles or T instructions
    ///   fetches:T: at each T-th instruction that is fetched, no-ops included
    #[arg(long, value_name = "RATES", value_delimiter = ',', verbatim_doc_comment)]
    pace: Vec<Rate>,
    /// Levels of the tree, including those on the trusted side [default: 25, 24 as authors, or 20 with --quick]
    #[arg(long, value_name = "NUMBER")]
    levels: Option<u32>,
    /// Run a small tree and the first 5000 misses of each program: takes a minute, with rough figures
    #[arg(long)]
    quick: bool,
    /// Misses of each program after the warm-up: 1 or more [default: 100000, or 5000 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    misses: Option<u32>,
    /// Run whole traces, of 100,000 misses or more
    #[arg(long, conflicts_with_all = ["quick", "misses"])]
    full: bool,
    #[command(flatten)]
    seeds: SeedFlags,
    /// Runs at the same time [default: one per processor, at most 4]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// The parts of the report; flags that no part uses are refused [default: figures; also utilisation, unless
    /// programs, schemes or settings are given]
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    part: Vec<ReportPart>,
    /// Write the figures of all runs as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a report into this folder: report.html with all tables and pictures, and each as CSV or SVG. The folder
    /// may be new, empty, or hold an older report, which is replaced
    #[arg(long, value_name = "DIR", visible_alias = "report")]
    out: Option<PathBuf>,
}

/// The flags that choose the seeds.
#[derive(Args)]
struct SeedFlags {
    /// The first seed of all random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    seed: u64,
    /// Seeds to run with, one after the other: the figures are medians [default: 3, or 1 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: Option<u16>,
}

impl SeedFlags {
    /// The seeds to run with, as many as `default` if their number is not given.
    fn range(&self, default: &Range<u64>) -> Range<u64> {
        let count = self.seeds.map_or(default.end - default.start, u64::from);
        self.seed..self.seed.saturating_add(count)
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum ReportPart {
    /// Programs and schemes: Figures 2, 6, 10 to 12, 14 and 15, and the energy
    Figures,
    /// Slots of each level that hold a block: Figures 3, 4 and 13
    Utilisation,
    /// IR-Alloc's bucket sizes, searched for this tree, one level less and one more: Figure 16; only if named
    Scaling,
    /// Oblivious machines that fit 64 KiB, 1 MiB and 8 MiB on chip, improved step by step; only if named
    Budgets,
    /// The speed of each scheme in windows of misses, from a packed tree on, and in a settled tree; only if named
    OverTime,
    /// PLB hits and PosMap paths by page frames and ways of the PLB; only if named
    Plb,
}

impl From<ReportPart> for Part {
    fn from(part: ReportPart) -> Self {
        match part {
            ReportPart::Figures => Part::Figures,
            ReportPart::Utilisation => Part::Utilisation,
            ReportPart::Scaling => Part::Scaling,
            ReportPart::Budgets => Part::Budgets,
            ReportPart::OverTime => Part::OverTime,
            ReportPart::Plb => Part::Plb,
        }
    }
}

/// The greatest seed: there is room for those after it.
const MAX_SEED: u64 = u64::MAX - 1000;

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
            Some(("fetches", count)) => count.parse().ok().map(Pace::Fetches),
            _ => None,
        };
        pace.map(Rate).ok_or_else(|| {
            "write free, start:T, end:T or idle:T with T in cycles, such as end:1000, or instructions:T or fetches:T"
                .to_owned()
        })
    }
}

impl Arguments {
    /// The options of each machine.
    fn options(&self) -> Result<Vec<Options>> {
        let lists = [&self.program, &self.scheme, &self.set];
        let is_narrowed = !self.traces.trace.is_empty()
            || !self.part.is_empty()
            || lists.into_iter().any(|list| !list.is_empty());
        self.machine.all(self.quick, is_narrowed)?.into_iter().map(|options| self.complete(options)).collect()
    }

    /// Completes the options of a machine with the flags that are for all.
    fn complete(&self, machine: Options) -> Result<Options> {
        let mut options = Options {
            parts: self.part.iter().map(|part| Part::from(*part)).collect(),
            levels: self.levels.unwrap_or(machine.levels),
            traces: self.traces.options(),
            programs: self.program.clone(),
            schemes: self.scheme.clone(),
            seeds: self.seeds.range(&machine.seeds),
            misses: if self.full {
                usize::MAX
            } else {
                self.misses.map_or(machine.misses, |misses| misses as usize)
            },
            threads: self.threads.map_or(machine.threads, usize::from),
            ..machine
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

    /// Returns the given flags that not every part uses.
    fn given(&self, options: &Options) -> Vec<GivenFlag> {
        use Part::{Budgets, Figures, OverTime, Plb, Scaling, Utilisation};
        const CURVES: &[Part] = &[Figures, OverTime];
        const PROGRAMS: &[Part] = &[Figures, OverTime, Plb];
        const RUNS: &[Part] = &[Figures, OverTime, Plb, Budgets];
        const WITH_SCALING: &[Part] = &[Figures, OverTime, Plb, Scaling];
        const ALL_BUT_UTILISATION: &[Part] = &[Figures, OverTime, Plb, Budgets, Scaling];
        let flag = |flag: &str, is_given: bool, used_by| {
            is_given.then(|| GivenFlag { flag: flag.to_owned(), used_by })
        };
        let flags = [
            flag("--trace", !self.traces.trace.is_empty(), RUNS),
            flag("--trace-format", self.traces.trace_format.is_some(), RUNS),
            flag("--cores", self.traces.cores.is_some(), PROGRAMS),
            flag("--program", !self.program.is_empty(), RUNS),
            flag("--scheme", !self.scheme.is_empty(), PROGRAMS),
            flag("--frames", self.machine.frames.is_some(), &[Figures, OverTime, Budgets, Utilisation]),
            flag("--start", self.machine.start.is_some(), &[Figures, OverTime, Plb, Budgets, Utilisation]),
            flag("--dram", self.machine.dram.is_some(), ALL_BUT_UTILISATION),
            flag("--channels", self.machine.channels.is_some(), ALL_BUT_UTILISATION),
            flag("--csv", self.csv.is_some(), &[Figures, Budgets]),
            flag("--pace", !self.pace.is_empty(), WITH_SCALING),
            flag("more than one rate of --pace", !self.pace.is_empty() && options.paces.len() > 1, CURVES),
        ];
        // The search finds the bucket sizes itself, for a machine without a small tree.
        let is_of_programs = |set: &str| ["z=", "rho-", "block="].iter().any(|key| set.starts_with(key));
        let settings = self.set.iter().map(|set| GivenFlag {
            flag: format!("--set {set}"),
            used_by: match set {
                set if set.starts_with("plb-ways=") => &[Figures, OverTime, Scaling],
                set if is_of_programs(set) => PROGRAMS,
                _ => WITH_SCALING,
            },
        });
        flags.into_iter().flatten().chain(settings).collect()
    }
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let options = arguments.options()?;
    if arguments.csv.is_some() && arguments.csv == arguments.out {
        return Err(
            usage_error("--csv and --out are the same path: name a file and a different folder").into()
        );
    }
    let csv = arguments.csv.as_ref().map(|path| output::open("--csv", path)).transpose()?;
    let folder = arguments.out.as_ref().map(|path| folder::open("--out", path)).transpose()?;
    let memory_flags = match (&arguments.machine.channels, &arguments.machine.dram) {
        (Some(_), None) => "--channels: ",
        (None, Some(_)) => "--dram: ",
        _ => "--channels, --dram: ",
    };
    let report = processor::run(&options, &ProgressDisplay::start(&PartialReport::default()))
        .map_err(|error| with_flag(error, memory_flags))?;
    // A signal must not leave incomplete files.
    let signals = DeferredSignals::start()?;
    let result = || -> Result<()> {
        if let Some(folder) = folder {
            report.write_into(&folder, &about(&options, &arguments.set)).context("--out")?;
        }
        if let Some(csv) = csv {
            csv.write(|mut file| report.write_csv(&mut file)).context("--csv")?;
        }
        Ok(())
    };
    let result = result();
    signals.deliver();
    result.map(|()| Exit::Success)
}

/// Returns the error, as a usage error with the flag if a flag causes it. Errors of the memory are of `memory_flags`.
fn with_flag(error: ProcessorError, memory_flags: &str) -> anyhow::Error {
    if !error.is_of_options() {
        return error.into();
    }
    let flag = match &error {
        ProcessorError::File(_) => "--trace ",
        ProcessorError::Unknown { .. } => "--",
        ProcessorError::Levels(_) | ProcessorError::SearchLevels(_) => "--levels: ",
        ProcessorError::Cores { .. } => "--cores: ",
        ProcessorError::Memory(_) => memory_flags,
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
