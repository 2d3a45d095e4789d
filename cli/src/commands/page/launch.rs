//! A program whose heap is paged: its flags, its start, and the counts that it leaves when it has ended.

use super::counters::{BOARD_BYTES, Counters, Ending, LeftCounters};
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

/// The pages that may be resident at first, if nothing is said of it.
const FIRST_RESIDENT: u64 = 64;

/// The settings that a program is paged with: the flags of every command that pages one.
#[derive(Args, Clone, Debug)]
pub(super) struct Paging {
    /// The most pages of 4 KiB that are resident [default: 64, and twice as many whenever the program uses more than four
    /// times as many]
    #[arg(long, value_name = "PAGES", value_parser = clap::value_parser!(u64).range(2..))]
    pub(super) resident: Option<u64>,
    /// The most untrusted memory that the pages may take
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(super) untrusted: Size,
    /// plain, detworam, eager, parallel, eager-parallel, path or opam; without it eager-parallel where a second processor
    /// is free, else detworam
    #[arg(long, value_name = "SCHEME", default_value_t = default_scheme())]
    pub(super) scheme: Scheme,
    /// Pages that each write of DetWoORAM and its kin refreshes: more need less memory and more work
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(super) k: u64,
    /// aes-256-gcm, chacha20-hmac-sha256, aegis-256x2 or aegis-256x4
    #[arg(long, value_name = "CIPHER", default_value = "aes-256-gcm")]
    pub(super) cipher: PageCipher,
    /// Keep so many of the resident pages out of sight: one that is touched again stays (costs a trap each)
    #[arg(long, value_name = "PAGES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) second_chance: Option<u64>,
    /// Who seals and moves pages for an eager or parallel scheme [default: a process, if there are two processors]
    #[arg(long, value_enum, value_name = "WHO")]
    pub(super) worker: Option<Worker>,
    /// Threads that seal side by side (parallel schemes, with --worker threads) [default: the machine's processors]
    #[arg(long, value_name = "THREADS", value_parser = clap::value_parser!(u64).range(1..=256))]
    pub(super) threads: Option<u64>,
    /// The library that is preloaded [default: libameles_preload.so beside this program]
    #[arg(long, value_name = "FILE")]
    pub(super) library: Option<PathBuf>,
}

/// The program that is paged.
#[derive(Args, Debug)]
pub(super) struct Program {
    /// The program, and its own arguments
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

/// The helper that shares the work of a scheme that can share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Worker {
    /// A process of its own: no page that is moved interrupts it
    Process,
    /// Threads of the program's process
    Threads,
}

impl Paging {
    /// Checks that the flags can be meant.
    ///
    /// # Errors
    /// [`usage_error`] if they cannot; the library is not found; the program would not be paged.
    pub(super) fn check(&self, program: &OsStr) -> Result<()> {
        if let Some(library) = self.library.as_deref().filter(|library| !library.is_file()) {
            bail!(usage_error(format!("--library: {} is no file", library.display())));
        }
        let keeps_some = self.second_chance.is_none_or(|unmapped| unmapped < self.first_resident());
        ensure!(keeps_some, usage_error("--second-chance must be less than --resident"));
        let has_threads = self.threads.is_none() || self.worker != Some(Worker::Process);
        ensure!(has_threads, usage_error("--threads needs --worker threads"));
        executable::check(program, &library::check(self.library.as_deref())?)
    }

    /// Starts the program paged. To the preloaded library go, beside these, `more` options, such as `name=value`.
    ///
    /// # Errors
    /// The library is not found; the program cannot be started.
    pub(super) fn start(&self, mut command: Command, more: &[String]) -> Result<RunningProgram> {
        let library = library::find(self.library.as_deref())?;
        let counted = File::from(rustix::fs::memfd_create("ameles-counted", MemfdFlags::empty())?);
        counted.set_len(BOARD_BYTES as u64)?;
        let report = format!("report={}", counted.as_raw_fd());
        let options = [&[self.options(), report], more].concat().join(",");
        command.env("LD_PRELOAD", library::before_others(&library)).env("AMELES_PAGE", options);
        let begin = Instant::now();
        Ok(RunningProgram { process: spawn(&mut command)?, begin, counted, library })
    }

    /// The pages that may be resident at first.
    fn first_resident(&self) -> u64 {
        self.resident.unwrap_or(FIRST_RESIDENT)
    }

    /// The pages that may be resident, in words: how many there might be at the end, if that is known.
    pub(super) fn resident_in_words(&self, at_the_end: Option<u64>) -> String {
        let first = self.first_resident();
        match at_the_end.unwrap_or(first) {
            last if last > first => format!("{first} to {last} pages resident"),
            last => format!("{last} pages resident"),
        }
    }

    /// The scheme, and K where it counts.
    pub(super) fn scheme_with_ratio(&self) -> String {
        if self.scheme.has_ratio() {
            format!("{}, K = {}", self.scheme, self.k)
        } else {
            self.scheme.to_string()
        }
    }

    /// The options as the preloaded library reads them.
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

/// A program that runs paged.
pub(super) struct RunningProgram {
    process: Child,
    library: PathBuf,
    begin: Instant,
    counted: File,
}

/// The way it ended.
pub(super) struct ExitReport {
    pub(super) status: ExitStatus,
    /// The time from its start to its end.
    pub(super) took: Duration,
    /// The counts; nothing of a program that was not begun, for which the reason was said.
    pub(super) counted: Option<(Counters, Ending)>,
}

impl RunningProgram {
    pub(super) fn process(&self) -> &Child {
        &self.process
    }

    /// Waits for its end.
    pub(super) fn wait(mut self) -> Result<ExitReport> {
        let status = wait::wait(&mut self.process)?;
        let took = self.begin.elapsed();
        let counted = match LeftCounters::read(&self.counted)? {
            LeftCounters::Figures(counted, how) => Some((*counted, how)),
            LeftCounters::Refused => None,
            LeftCounters::Nothing => bail!(
                "the program ran unpaged: it never loaded {}; give it no privileges of its own and no other loader",
                self.library.display()
            ),
        };
        Ok(ExitReport { status, took, counted })
    }
}

/// Runs a program as it is, not paged: how it ended, and how long it took.
pub(super) fn run_unpaged(mut command: Command) -> Result<(ExitStatus, Duration)> {
    let begin = Instant::now();
    let status = spawn(&mut command)?.wait()?;
    Ok((status, begin.elapsed()))
}

fn spawn(command: &mut Command) -> Result<Child> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.spawn().with_context(|| format!("{program} cannot be started"))
}

/// The program's own code; of a signal what a shell would say.
pub(super) fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(Exit::Failure as i32)
}
