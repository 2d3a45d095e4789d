//! `lethe page run`

use super::counted::Counted;
use super::library;
use crate::commands::Cli;
use crate::exit::Exit;
use crate::size::Size;
use anyhow::{Context, Result};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory};
use lethe_pager::scheme::Scheme;
use lethe_seal::pages::PageCipher;
use rustix::fs::MemfdFlags;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

#[derive(Args)]
#[command(
    after_help = "The program's malloc and its anonymous private mappings come from the region; its stack, its code \
and what it maps from files do not. fork is refused; programs that it starts by other means are not paged. The figures \
go to standard error when the program has ended; the exit code is the program's own.

Examples:
  lethe page run -- sqlite3 my.db 'select count(*) from t'
  lethe page run --resident 15 --scheme plain --compare -- picosat hard.cnf
  lethe page run --scheme eager --k 7 --untrusted 256MiB -- redis-server --save ''"
)]
pub(super) struct Arguments {
    /// The most pages of 4 KiB that are resident
    #[arg(long, value_name = "PAGES", default_value_t = 64, value_parser = clap::value_parser!(u64).range(2..))]
    resident: u64,
    /// The most untrusted memory that the pages may take
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    untrusted: Size,
    /// plain, detworam, eager, parallel, eager-parallel, path or opam
    #[arg(long, value_name = "SCHEME", default_value = "eager")]
    scheme: Scheme,
    /// Pages that each write of DetWoORAM and its kin refreshes: more need less memory and more work
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1024))]
    k: u64,
    /// aes-256-gcm, chacha20-hmac-sha256 or aegis-256x2
    #[arg(long, value_name = "CIPHER", default_value = "aes-256-gcm")]
    cipher: PageCipher,
    /// Keep so many of the resident pages out of sight: one that is touched again stays (costs a trap each)
    #[arg(long, value_name = "PAGES", value_parser = clap::value_parser!(u64).range(1..))]
    second_chance: Option<u64>,
    /// Threads that seal side by side (parallel schemes) [default: the machine's processors]
    #[arg(long, value_name = "THREADS", value_parser = clap::value_parser!(u64).range(1..=256))]
    threads: Option<u64>,
    /// Run the program unpaged first, and say how much slower it is paged. It runs twice, with all that it does
    #[arg(long)]
    compare: bool,
    /// The library that is preloaded [default: liblethe_preload.so beside this program]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The program, and its own arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    if let Some(library) = arguments.library.as_deref().filter(|library| !library.is_file()) {
        misused(&format!("--library: {} is no file", library.display()));
    }
    if arguments.second_chance.is_some_and(|unmapped| unmapped >= arguments.resident) {
        misused("--second-chance must be less than --resident");
    }
    let library = library::find(arguments.library.as_deref())?;
    let unpaged = arguments.compare.then(|| time(&mut arguments.command())).transpose()?;
    let counted = File::from(rustix::fs::memfd_create("lethe-counted", MemfdFlags::empty())?);
    let mut command = arguments.command();
    command.env("LD_PRELOAD", &library).env("LETHE_PAGE", arguments.options(counted.as_raw_fd()));
    let (status, paged) = time(&mut command)?;
    match Counted::read(&counted)? {
        Some(counted) => arguments.report(&counted, paged, unpaged.map(|(_, took)| took)),
        None => eprintln!("lethe page: the program left no figures: it ended before it began, or was killed"),
    }
    std::process::exit(code(status))
}

/// Ends as a mistyped flag does.
fn misused(why: &str) -> ! {
    Cli::command().error(ErrorKind::ValueValidation, why).exit()
}

/// The program's own code; of a signal what a shell would say.
fn code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(Exit::Failure as i32)
}

fn time(command: &mut Command) -> Result<(ExitStatus, Duration)> {
    let begin = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("{} cannot be started", command.get_program().to_string_lossy()))?;
    Ok((status, begin.elapsed()))
}

impl Arguments {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]);
        command
    }

    /// As the preloaded library reads it.
    fn options(&self, counted: i32) -> String {
        let Arguments { resident, untrusted, scheme, k, cipher, .. } = self;
        let mut options = format!(
            "resident={resident},untrusted={},scheme={scheme},k={k},cipher={cipher},report={counted}",
            untrusted.0
        );
        if let Some(unmapped) = self.second_chance {
            options += &format!(",second-chance={unmapped}");
        }
        if let Some(threads) = self.threads {
            options += &format!(",threads={threads}");
        }
        options
    }

    fn report(&self, counted: &Counted, paged: Duration, unpaged: Option<Duration>) {
        let ratio = if self.scheme.has_ratio() { format!(", K = {}", self.k) } else { String::new() };
        eprintln!();
        eprintln!(
            "lethe page: {}{ratio}, {}, {} pages resident, heap of at most {} MiB, {:.1} MiB trusted",
            self.scheme,
            self.cipher,
            self.resident,
            counted.heap_bytes >> 20,
            counted.trusted_bytes as f64 / (1 << 20) as f64
        );
        eprintln!(
            "  {} faults, {} evictions, {:.1} µs a fault (moving {:.1}, writing {:.1}, reading {:.1})",
            counted.faults,
            counted.evictions,
            counted.fault_micros(),
            micros(counted.frames, counted.faults),
            micros(counted.write, counted.faults),
            micros(counted.read, counted.faults)
        );
        if counted.soft_faults > 0 {
            eprintln!("  {} touches found their page in its second chance", counted.soft_faults);
        }
        if !counted.idle.is_zero() {
            eprintln!("  {:.3} s of work between the faults", counted.idle.as_secs_f64());
        }
        let seconds = paged.as_secs_f64();
        match unpaged {
            Some(unpaged) => eprintln!(
                "  {seconds:.3} s, against {:.3} s unpaged: {:.2} times",
                unpaged.as_secs_f64(),
                seconds / unpaged.as_secs_f64()
            ),
            None => eprintln!(
                "  {seconds:.3} s, {:.0} % of it in faults; --compare measures the program unpaged too",
                100.0 * counted.total.as_secs_f64() / seconds
            ),
        }
    }
}

fn micros(all: Duration, faults: u64) -> f64 {
    all.as_secs_f64() * 1e6 / faults.max(1) as f64
}
