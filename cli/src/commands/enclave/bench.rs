//! `ameles enclave bench`

use super::launch::{LaunchFlags, LaunchableProgram, PageTable, Pages, resident, runtime};
use crate::commands::figure_files::FigureFlags;
use crate::commands::page;
use crate::config::size::Size;
use crate::enclave::{MachineSettings, MeasuredPrograms, Next, Runtime, Streams};
use crate::runtime::exit::Exit;
use crate::runtime::output::{complain, say};
use crate::runtime::progress;
use ameles_enclave_boundary::exit::{Ending, ExitRecord, Failure};
use ameles_enclave_boundary::launch::{Instrumentation, Window};
use ameles_lab::bench::Progress;
use ameles_lab::enclave::{self, Clock, FaultCost, Machine, Options, Refusal, RunOutcome, Task};
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::PageCipher;
use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::ProgressBar;
use std::cell::RefCell;
use std::path::PathBuf;
use std::thread::available_parallelism;

/// The number that all secrets are drawn from, so that the digits are the same in every run.
const SEED: u64 = 1;

#[derive(Args)]
#[command(
    after_help = "The paper's six programs run in the enclave under every scheme, each for the same number of faults. The \
figures are instructions, the same digits on every machine; runs by the wall clock, one at a time, come after them. The \
slowdowns of `ameles page bench` stand beside them if what that needs is there. All of it takes about an hour on two \
processors, and longer with --sweep; --quick takes minutes.

Examples:
  ameles enclave bench
  ameles enclave bench --csv figures.csv --svg pictures
  ameles enclave bench --quick --rounds 0"
)]
pub(super) struct Arguments {
    // Wide: each field is a flag.
    /// A short window in a quarter of the memory: it shows that everything runs, and its figures are rough
    #[arg(long)]
    quick: bool,
    /// Count with 8 to 128 resident pages, and with 1 to 256 MiB of untrusted memory, too
    #[arg(long)]
    sweep: bool,
    /// chacha20-hmac-sha256, aes-256-gcm, aegis-256x2 or aegis-256x4
    #[arg(long, value_name = "CIPHER", default_value = "chacha20-hmac-sha256")]
    cipher: PageCipher,
    /// The most pages of 4 KiB that are resident
    #[arg(long, value_name = "PAGES", default_value_t = 15, value_parser = resident)]
    resident: u32,
    /// The untrusted memory for sealed pages [default: 64MiB, or 16MiB with --quick]
    #[arg(long, value_name = "SIZE")]
    untrusted: Option<Size>,
    /// Measure this scheme beside plain, and no other (may be given several times)
    #[arg(long, value_name = "SCHEME")]
    only: Vec<Scheme>,
    /// Faults that are counted in each run [default: 500, or 40 with --quick]
    #[arg(long, value_name = "FAULTS", value_parser = clap::value_parser!(u64).range(1..))]
    faults: Option<u64>,
    /// Faults before them [default: 1500, or 40 with --quick]
    #[arg(long, value_name = "FAULTS")]
    warm: Option<u64>,
    /// Rounds by the wall clock: 0 for none
    #[arg(long, value_name = "ROUNDS", default_value_t = 1)]
    rounds: u64,
    /// Machines that count at the same time [default: one for each processor]
    #[arg(long, value_name = "MACHINES")]
    machines: Option<usize>,
    #[command(flatten)]
    figures: FigureFlags,
    /// Leave out the slowdowns of `ameles page bench`
    #[arg(long)]
    no_page_bench: bool,
    /// The runtime [default: ameles-enclave beside this program, or built from the checkout]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// The programs, built for RISC-V [default: built from the checkout]
    #[arg(long, value_name = "FILE")]
    programs: Option<PathBuf>,
    /// The solver picosat, built for RISC-V [default: the checkout's, by `cargo xtask setup`]
    #[arg(long, value_name = "FILE")]
    picosat: Option<PathBuf>,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let programs = MeasuredPrograms::find(arguments.programs.as_deref(), arguments.picosat.as_deref())?;
    for why in programs.why_not() {
        complain!("ameles enclave: warning: without {}: {why}", programs.left_out().join(", "));
    }
    let emulated = EmulatedMachines { programs, runtime: runtime(arguments.runtime.as_deref())? };
    let options = arguments.options(&emulated.programs)?;
    let files = arguments.figures.create()?;

    let bar = progress::steps("", 0);
    let page_bench = if arguments.no_page_bench {
        None
    } else {
        page::bench::quickly(arguments.cipher, arguments.resident.into(), &bar)
            .inspect_err(|error| {
                complain!("ameles enclave: without the slowdowns of the page bench: {error:#}")
            })
            .ok()
    };
    let shown = ProgressDisplay { bar: bar.clone(), reported: RefCell::default() };
    let report = enclave::run(&options, &emulated, page_bench.as_ref(), &shown);
    bar.finish_and_clear();
    let report = report?;
    files.draw(report.pictures())?;
    files.write_csv(|csv| report.write_csv(csv))?;
    report.sweep_result()?;
    Ok(Exit::Success)
}

impl Arguments {
    fn options(&self, programs: &MeasuredPrograms) -> Result<Options> {
        let Arguments { quick, sweep, cipher, resident, faults, warm, rounds, .. } = *self;
        let machines = match self.machines {
            Some(machines) => machines,
            None => available_parallelism()?.get(),
        };
        let (untrusted_bytes, schemes) = (self.untrusted.map(|size| size.0), self.only.clone());
        Ok(Options {
            quick,
            sweep,
            cipher,
            resident,
            untrusted_bytes,
            schemes,
            left_out: programs.left_out(),
            faults,
            warm,
            rounds,
            machines,
        })
    }
}

/// A progress bar, and tables on standard output. Without a terminal a line tells of each scheme when its first run is done.
struct ProgressDisplay {
    bar: ProgressBar,
    reported: RefCell<String>,
}

impl Progress for ProgressDisplay {
    fn on_step(&self, what: &str, done: u64, all: u64) {
        progress::at(&self.bar, what, done, all);
        let scheme = what.split_once(": ").map_or(what, |(_, scheme)| scheme);
        if self.bar.is_hidden() && *self.reported.borrow() != scheme {
            scheme.clone_into(&mut self.reported.borrow_mut());
            complain!("ameles enclave: {done} of {all} runs, at {scheme}");
        }
    }

    fn on_figure(&self, table: &str) {
        self.bar.suspend(|| say!("{table}\n"));
    }
}

/// Machines of the emulator.
struct EmulatedMachines {
    programs: MeasuredPrograms,
    runtime: Runtime,
}

impl Machine for EmulatedMachines {
    fn run(&self, task: &Task, clock: Clock) -> Result<RunOutcome, Refusal> {
        self.window(task, clock).map_err(Into::into)
    }
}

impl EmulatedMachines {
    fn window(&self, task: &Task, clock: Clock) -> Result<RunOutcome> {
        let Task { run, configuration, setting, window } = task;
        let counts = clock == Clock::Instructions;
        let started = self.programs.start(run, setting.small)?;
        let launching = LaunchFlags {
            resident: setting.resident,
            harts: Some(configuration.harts),
            untrusted: Size(setting.untrusted_bytes),
            scheme: configuration.scheme,
            k: configuration.k,
            cipher: setting.cipher,
            pages: Pages::Backing,
            page_table: PageTable::Sv39,
            allow_clock: false,
            environment: Vec::new(),
            seed: Some(SEED),
            filled: true,
            runtime: None,
        };
        let instrumentation = Instrumentation {
            meters: counts,
            sequential_shares: counts,
            window: Some(Window { warm: window.warm, faults: window.faults }),
            ..Instrumentation::default()
        };
        let launchable =
            LaunchableProgram::of(self.runtime.clone(), started.image.clone(), started.arguments);
        let machine =
            launchable.start(&launching, instrumentation, &MachineSettings { counts, host: None })?;
        let ended = machine.serve(&mut Streams::of(started.input), |_, _| Ok(Next::GoOn))?;
        let record = ended.record.context("the machine was switched off")?;
        match &record.ending {
            Ending::WindowEnded => Ok(RunOutcome::Counted(counted(&record, counts))),
            Ending::Exited(_) => Ok(RunOutcome::Ended),
            Ending::Failed { kind: Failure::Launch | Failure::OutOfMemory, text } => {
                Ok(RunOutcome::TooLarge(text.clone()))
            }
            // A C library that gets no memory for itself does not go on.
            Ending::Signalled { reason, .. } if setting.small => Ok(RunOutcome::TooLarge(reason.clone())),
            Ending::Failed { text, .. } => bail!("{text}"),
            Ending::Signalled { signal, reason } => bail!("it was ended by signal {signal}: {reason}"),
        }
    }
}

fn counted(record: &ExitRecord, counts: bool) -> FaultCost {
    let faults = record.faults.faults;
    if !counts {
        return FaultCost { faults, nanos: record.nanos, ..FaultCost::default() };
    }
    let of = &record.instructions;
    FaultCost {
        faults,
        total: of.total,
        in_faults: of.faults,
        off_line: of.idle,
        hidden: of.hidden,
        system_calls: of.system_calls,
        ciphers: of.ciphers,
        copies: of.copies,
        shared: of.shared,
        longest: of.longest,
        hand_over: of.handing_over,
        nanos: 0,
    }
}
