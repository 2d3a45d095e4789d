//! `ameles page bench`

use super::counters::Ending;
use super::launch;
use super::library;
use crate::commands::bench_progress::BenchProgress;
use crate::commands::figure_files::FigureFlags;
use crate::config::size::Size;
use crate::runtime::exit::Exit;
use crate::runtime::output::print_line;
use crate::runtime::progress;
use ameles_lab::paging::{
    self, Options, Pager, Paging, PagingError, Programs, Refusal, Report, RunEnd, Window,
};
use ameles_seal::pages::PageCipher;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use indicatif::ProgressBar;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// The binary of the programs.
const PROGRAMS: &str = "ameles-programs";

#[derive(Args)]
#[command(
    after_help = "Pages six programs (random_writes, sha_256, avl_tree, picosat, lbm, recommender) with every scheme, for the \
same number of faults, in interleaved rounds. A slowdown is relative to plain paging in the same round. The bench takes tens \
of minutes, longer with --sweep, and 64 MiB of untrusted memory. Machines are noisy: look at the quartiles, and run nothing \
else. The binary ameles-programs must be next to this program, and picosat on PATH.

Examples:
  ameles page bench
  ameles page bench --csv figures.csv --svg pictures
  ameles page bench --quick"
)]
pub(in crate::commands) struct Arguments {
    /// A single short round: it shows that everything works, with rough figures
    #[arg(long)]
    quick: bool,
    /// Also measure with 8 to 128 resident pages
    #[arg(long)]
    sweep: bool,
    /// aes-256-gcm, chacha20-hmac-sha256, aegis-256x2 or aegis-256x4
    #[arg(long, value_name = "CIPHER", default_value = "aes-256-gcm")]
    cipher: PageCipher,
    /// The maximum number of resident 4 KiB pages
    #[arg(long, value_name = "PAGES", default_value_t = 15, value_parser = clap::value_parser!(u64).range(2..))]
    resident: u64,
    /// Rounds; each figure is their median [default: 7, or 1 with --quick]
    #[arg(long, value_name = "ROUNDS", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Faults to measure in each run [default: 5000, or 1000 with --quick]
    #[arg(long, value_name = "FAULTS", value_parser = clap::value_parser!(u64).range(1..))]
    faults: Option<u64>,
    /// Faults before the measured ones [default: 5000, or 1000 with --quick]
    #[arg(long, value_name = "FAULTS")]
    warm: Option<u64>,
    #[command(flatten)]
    figures: FigureFlags,
    /// The library to preload [default: libameles_preload.so next to this program]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The programs [default: ameles-programs next to this program]
    #[arg(long, value_name = "FILE")]
    programs: Option<PathBuf>,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    library::check(arguments.library.as_deref())?;
    let programs = Programs::new(find(arguments.programs.as_deref())?)?;
    let options = arguments.options();
    let files = arguments.figures.create()?;

    let bar = progress::steps("", 0);
    let preloaded = Preloaded { library: arguments.library.clone() };
    let display = BenchProgress { bar: &bar, print: |table: &str| print_line!("{table}\n") };
    let report = paging::run(&options, &programs, &preloaded, &display);
    bar.finish_and_clear();
    let report = report.map_err(with_advice)?;

    files.draw(report.pictures())?;
    files.write_csv(|csv| report.write_csv(csv))?;
    Ok(Exit::Success)
}

/// Runs a single short round with another cipher, for a command that prints its slowdowns next to its own.
///
/// # Errors
/// The library or the programs are missing; a program cannot run.
pub(in crate::commands) fn quick_report(
    cipher: PageCipher,
    resident: u64,
    bar: &ProgressBar,
) -> Result<Report> {
    library::check(None)?;
    let programs = Programs::new(find(None)?)?;
    let options = Options {
        quick: true,
        sweep: false,
        cipher,
        resident,
        rounds: None,
        faults: None,
        warm_up_faults: None,
    };
    let display = BenchProgress { bar, print: |_: &str| () };
    Ok(paging::run(&options, &programs, &Preloaded { library: None }, &display)?)
}

impl Arguments {
    fn options(&self) -> Options {
        let Arguments { quick, sweep, cipher, resident, rounds, faults, warm, .. } = *self;
        Options { quick, sweep, cipher, resident, rounds, faults, warm_up_faults: warm }
    }
}

/// Adds the flags that help against an error.
fn with_advice(error: PagingError) -> anyhow::Error {
    match error {
        PagingError::FewFaults { .. } => {
            anyhow!("{error}: if the program ran correctly, lower --warm and --faults")
        }
        error => error.into(),
    }
}

/// Pages programs with the preloaded library.
struct Preloaded {
    library: Option<PathBuf>,
}

impl Pager for Preloaded {
    fn run_paged(&self, command: Command, paging: Paging, window: Option<Window>) -> Result<RunEnd, Refusal> {
        let Paging { scheme, k, cipher, resident, untrusted_bytes } = paging;
        let paging = launch::Paging {
            resident: Some(resident),
            untrusted: Size(untrusted_bytes),
            scheme,
            k,
            cipher,
            second_chance: None,
            worker: None,
            threads: None,
            library: self.library.clone(),
        };
        let mut extra_options = Vec::new();
        if let Some(Window { warm_up_faults, faults, metered }) = window {
            extra_options.extend([format!("warm={warm_up_faults}"), format!("faults={faults}")]);
            extra_options.extend(metered.then(|| "meter=1".to_owned()));
        }
        let report = paging.start(command, &extra_options)?.wait()?;
        let measurement = match &report.counters {
            Some((counters, Ending::Complete)) => Some(counters.times),
            _ => None,
        };
        Ok(RunEnd { status: report.status, measured: measurement })
    }

    fn run_unpaged(&self, command: Command) -> Result<(ExitStatus, Duration), Refusal> {
        Ok(launch::run_unpaged(command)?)
    }
}

/// Returns the named binary, or the one next to this program.
fn find(path: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = path {
        return path.canonicalize().with_context(|| format!("--programs: {}", path.display()));
    }
    let program = std::env::current_exe()?;
    let Some(binary) = program.parent().map(|at| at.join(PROGRAMS)).filter(|at| at.is_file()) else {
        bail!(
            "{PROGRAMS} is not next to {}: build it with `cargo build --release -p ameles-programs`, or name it with --programs",
            program.display()
        )
    };
    Ok(binary)
}
