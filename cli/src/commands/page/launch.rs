//! Launching a program with a paged heap: the flags, the start, and the counters at its end.

use super::counters::{BOARD_BYTES, Counters, Ending, FinalCounters};
use super::default_scheme::default_scheme;
use super::{executable, library, wait};
use crate::commands::usage_error::usage_error;
use crate::config::size::Size;
use crate::runtime::exit::Exit;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::PageCipher;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use rustix::fs::MemfdFlags;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::num::NonZero;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// The default number of resident pages at the start.
const FIRST_RESIDENT: u64 = 64;

/// The flags of every command that pages a program.
#[derive(Args, Clone, Debug)]
pub(super) struct Paging {
    /// The maximum number of resident 4 KiB pages [default: 64, doubled whenever the program uses more than four times
    /// as many]
    #[arg(long, value_name = "PAGES", value_parser = clap::value_parser!(u64).range(2..))]
    pub(super) resident: Option<u64>,
    /// The maximum untrusted memory for the pages
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(super) untrusted: Size,
    /// plain, detworam, eager, parallel, eager-parallel, path or opam; the default is eager-parallel if a second
    /// processor is free, else detworam
    #[arg(long, value_name = "SCHEME", default_value_t = default_scheme())]
    pub(super) scheme: Scheme,
    /// The number of pages that a write refreshes, in detworam, eager and their parallel forms: a larger K needs less
    /// memory and more work
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(super) k: u64,
    /// aes-256-gcm, chacha20-hmac-sha256, aegis-256x2 or aegis-256x4
    #[arg(long, value_name = "CIPHER", default_value = "aes-256-gcm")]
    pub(super) cipher: PageCipher,
    /// Unmap this many of the resident pages: a page that is accessed again stays resident (at the cost of a trap)
    #[arg(long, value_name = "PAGES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) second_chance: Option<u64>,
    /// The helper that seals and moves pages for an eager or parallel scheme [default: process, with two processors or
    /// more]
    #[arg(long, value_enum, value_name = "WHO")]
    pub(super) worker: Option<Worker>,
    /// Threads that seal in parallel (parallel schemes, with --worker threads) [default: one per processor]
    #[arg(long, value_name = "THREADS", value_parser = clap::value_parser!(u64).range(1..=256))]
    pub(super) threads: Option<u64>,
    /// The library to preload [default: libameles_preload.so next to this program]
    #[arg(long, value_name = "FILE")]
    pub(super) library: Option<PathBuf>,
}

/// The program to page.
#[derive(Args, Debug)]
pub(super) struct Program {
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    words: Vec<OsString>,
}

impl Program {
    pub(super) fn name(&self) -> &OsStr {
        &self.words[0]
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(self.name());
        command.args(&self.words[1..]);
        command
    }
}

/// The helper that does a part of the work of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Worker {
    /// A separate process: moved pages do not interrupt it
    Process,
    /// Threads in the program's process
    Threads,
}

impl Paging {
    /// Checks the flags and the program.
    ///
    /// # Errors
    /// [`usage_error`] for invalid flags; the library is not found; the program would run unpaged.
    pub(super) fn check(&self, program: &OsStr) -> Result<()> {
        if let Some(library) = self.library.as_deref().filter(|library| !library.is_file()) {
            bail!(usage_error(format!("--library: {} is not a file", library.display())));
        }
        let keeps_mapped = self.second_chance.is_none_or(|unmapped| unmapped < self.first_resident());
        ensure!(keeps_mapped, usage_error("--second-chance must be less than --resident"));
        let has_threads = self.threads.is_none() || self.worker != Some(Worker::Process);
        ensure!(has_threads, usage_error("--threads needs --worker threads"));
        executable::check(program, &library::check(self.library.as_deref())?)
    }

    /// Starts the program paged. The preloaded library gets the options of these flags and `extra_options`, as
    /// `name=value`.
    ///
    /// # Errors
    /// The library is not found; the program cannot be started.
    pub(super) fn start(&self, mut command: Command, extra_options: &[String]) -> Result<RunningProgram> {
        let library = library::find(self.library.as_deref())?;
        let board = File::from(rustix::fs::memfd_create("ameles-counted", MemfdFlags::empty())?);
        board.set_len(BOARD_BYTES as u64)?;
        let report = format!("report={}", board.as_raw_fd());
        let options = [&[self.options(), report], extra_options].concat().join(",");
        command.env("LD_PRELOAD", library::ld_preload(&library)).env("AMELES_PAGE", options);
        let start_time = Instant::now();
        Ok(RunningProgram { process: spawn(&mut command)?, start_time, board, library })
    }

    /// Returns the number of resident pages at the start.
    fn first_resident(&self) -> u64 {
        self.resident.unwrap_or(FIRST_RESIDENT)
    }

    /// Describes the number of resident pages, with the number at the end if it is known.
    pub(super) fn resident_in_words(&self, at_the_end: Option<u64>) -> String {
        let first = self.first_resident();
        match at_the_end.unwrap_or(first) {
            last if last > first => format!("{first} to {last} pages resident"),
            last => format!("{last} pages resident"),
        }
    }

    /// Returns the name of the scheme, with K if the scheme uses it.
    pub(super) fn scheme_with_ratio(&self) -> String {
        if self.scheme.has_ratio() {
            format!("{}, K = {}", self.scheme, self.k)
        } else {
            self.scheme.to_string()
        }
    }

    /// Returns the options in the format of the preloaded library.
    fn options(&self) -> String {
        let Paging { untrusted, scheme, k, cipher, .. } = self;
        let (resident, untrusted) = (self.first_resident(), untrusted.0);
        let mut options =
            format!("resident={resident},untrusted={untrusted},scheme={scheme},k={k},cipher={cipher}");
        if self.resident.is_none() {
            options += ",follow=1";
        }
        if let Some(unmapped) = self.second_chance {
            options += &format!(",second-chance={unmapped}");
        }
        if let Some(threads) = self.threads {
            options += &format!(",threads={threads}");
        }
        if self.has_second_process() {
            options += ",second-process=1";
        }
        options
    }

    fn has_second_process(&self) -> bool {
        let processors = available_parallelism().map_or(1, NonZero::get);
        match self.worker {
            Some(worker) => worker == Worker::Process,
            None => self.threads.is_none() && processors > 1,
        }
    }
}

/// A running, paged program.
pub(super) struct RunningProgram {
    process: Child,
    library: PathBuf,
    start_time: Instant,
    board: File,
}

/// The result of a paged program.
pub(super) struct ExitReport {
    pub(super) status: ExitStatus,
    /// The time from the start to the end.
    pub(super) elapsed: Duration,
    /// The counters; `None` if the program did not start, for which the library printed the reason.
    pub(super) counters: Option<(Counters, Ending)>,
}

impl RunningProgram {
    pub(super) fn process(&self) -> &Child {
        &self.process
    }

    /// Waits until the program ends.
    pub(super) fn wait(mut self) -> Result<ExitReport> {
        let status = wait::wait(&mut self.process)?;
        let elapsed = self.start_time.elapsed();
        let counters = match FinalCounters::read(&self.board)? {
            FinalCounters::Figures(counters, ending) => Some((*counters, ending)),
            FinalCounters::Refused => None,
            FinalCounters::Nothing => bail!(
                "the program ran unpaged: it never loaded {}; it must have no privileges and no loader of its own",
                self.library.display()
            ),
        };
        Ok(ExitReport { status, elapsed, counters })
    }
}

/// Runs a program unpaged. Returns its status and the elapsed time.
pub(super) fn run_unpaged(mut command: Command) -> Result<(ExitStatus, Duration)> {
    let start_time = Instant::now();
    let status = spawn(&mut command)?.wait()?;
    Ok((status, start_time.elapsed()))
}

fn spawn(command: &mut Command) -> Result<Child> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.spawn().with_context(|| format!("{program} cannot be started"))
}

/// Returns the program's exit code, or 128 plus the signal that ended it.
pub(super) fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(Exit::Failure as i32)
}
