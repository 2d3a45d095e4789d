//! `ameles enclave bench`

use super::launch::{LaunchFlags, LaunchableProgram, PageTable, Pages, resident, runtime};
use crate::commands::figure_files::FigureFlags;
use crate::commands::page;
use crate::config::size::Size;
use crate::enclave::{MachineSettings, MeasuredPrograms, Next, Runtime, Streams};
use crate::runtime::exit::Exit;
use crate::runtime::output::{print_error, print_line};
use crate::runtime::progress;
use ameles_enclave_boundary::exit::{Ending, ExitRecord, Failure};
use ameles_enclave_boundary::launch::{FaultWindow, Instrumentation};
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

/// The seed of all secrets, so that the figures are the same in every run.
const SEED: u64 = 1;

#[derive(Args)]
#[command(
    after_help = "Runs the paper's six programs in the enclave under every scheme, each for the same number of faults. The figures \
count instructions, so they are the same on every machine. Runs by the wall clock follow, one at a time. The slowdowns of \
`ameles page bench` are printed next to them if its library and programs are available. All runs take about an hour on two \
processors, longer with --sweep, and minutes with --quick.

Examples:
  ameles enclave bench
  ameles enclave bench --csv figures.csv --svg pictures
  ameles enclave bench --quick --rounds 0"
)]
pub(in crate::commands) struct Arguments {
    // Wide: each field is a flag.
    /// A short run in a quarter of the memory: it shows that everything works, with rough figures
    #[arg(long)]
    quick: bool,
    /// Also measure with 8 to 128 resident pages, and with 1 to 256 MiB of untrusted memory
    #[arg(long)]
    sweep: bool,
    /// chacha20-hmac-sha256, aes-256-gcm, aegis-256x2 or aegis-256x4
    #[arg(long, value_name = "CIPHER", default_value = "chacha20-hmac-sha256")]
    cipher: PageCipher,
    /// The maximum number of resident 4 KiB pages
    #[arg(long, value_name = "PAGES", default_value_t = 15, value_parser = resident)]
    resident: u32,
    /// The untrusted memory for sealed pages [default: 64MiB, or 16MiB with --quick]
    #[arg(long, value_name = "SIZE")]
    untrusted: Option<Size>,
    /// Measure only this scheme and plain (may be given several times)
    #[arg(long, value_name = "SCHEME")]
    only: Vec<Scheme>,
    /// Faults to measure in each run [default: 500, or 40 with --quick]
    #[arg(long, value_name = "FAULTS", value_parser = clap::value_parser!(u64).range(1..))]
    faults: Option<u64>,
    /// Faults before the measured ones [default: 1500, or 40 with --quick]
    #[arg(long, value_name = "FAULTS")]
    warm: Option<u64>,
    /// Rounds by the wall clock; 0 for none
    #[arg(long, value_name = "ROUNDS", default_value_t = 1)]
    rounds: u64,
    /// Machines that run at the same time [default: one per processor]
    #[arg(long, value_name = "MACHINES")]
    machines: Option<usize>,
    #[command(flatten)]
    figures: FigureFlags,
    /// Skip the slowdowns of `ameles page bench`
    #[arg(long)]
    no_page_bench: bool,
    /// The runtime [default: ameles-enclave next to this program, or built from the checkout]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// The programs for RISC-V [default: built from the checkout]
    #[arg(long, value_name = "FILE")]
    programs: Option<PathBuf>,
    /// The solver picosat for RISC-V [default: from the checkout, built by `cargo xtask setup`]
    #[arg(long, value_name = "FILE")]
    picosat: Option<PathBuf>,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let programs = MeasuredPrograms::find(arguments.programs.as_deref(), arguments.picosat.as_deref())?;
    for why in programs.missing_reasons() {
        print_error!("ameles enclave: warning: skipping {}: {why}", programs.missing().join(", "));
    }
    let machines = EmulatedMachines { programs, runtime: runtime(arguments.runtime.as_deref())? };
    let options = arguments.options(&machines.programs)?;
    let files = arguments.figures.create()?;

    let bar = progress::steps("", 0);
    let page_bench = if arguments.no_page_bench {
        None
    } else {
        page::bench::quick_report(arguments.cipher, arguments.resident.into(), &bar)
            .inspect_err(|error| {
                print_error!("ameles enclave: warning: skipping the slowdowns of the page bench: {error:#}")
            })
            .ok()
    };
    let display = ProgressDisplay { bar: bar.clone(), last_scheme: RefCell::default() };
    let report = enclave::run(&options, &machines, page_bench.as_ref(), &display);
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
            left_out: programs.missing(),
            faults,
            warm_up_faults: warm,
            rounds,
            machines,
        })
    }
}

/// A progress bar, and tables on standard output. Without a terminal, a line for each scheme after its first run.
struct ProgressDisplay {
    bar: ProgressBar,
    last_scheme: RefCell<String>,
}

impl Progress for ProgressDisplay {
    fn on_step(&self, what: &str, done: u64, all: u64) {
        progress::update(&self.bar, what, done, all);
        let scheme = what.split_once(": ").map_or(what, |(_, scheme)| scheme);
        if self.bar.is_hidden() && *self.last_scheme.borrow() != scheme {
            scheme.clone_into(&mut self.last_scheme.borrow_mut());
            print_error!("ameles enclave: {done} of {all} runs, now {scheme}");
        }
    }

    fn on_figure(&self, table: &str) {
        self.bar.suspend(|| print_line!("{table}\n"));
    }
}

/// Starts machines in the emulator.
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
        let program = self.programs.start(run, setting.small)?;
        let flags = LaunchFlags {
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
            window: Some(FaultWindow { warm_up_faults: window.warm_up_faults, faults: window.faults }),
            ..Instrumentation::default()
        };
        let launchable =
            LaunchableProgram::new(self.runtime.clone(), program.image.clone(), program.arguments);
        let machine = launchable.start(&flags, instrumentation, &MachineSettings { counts, host: None })?;
        let result = machine.serve(&mut Streams::from_input(program.input), |_, _| Ok(Next::Continue))?;
        let record = result.record.context("the machine was switched off")?;
        match &record.ending {
            Ending::WindowEnded => Ok(RunOutcome::Counted(measurement(&record, counts))),
            Ending::Exited(_) => Ok(RunOutcome::Ended),
            Ending::Failed { kind: Failure::Launch | Failure::OutOfMemory, text } => {
                Ok(RunOutcome::TooLarge(text.clone()))
            }
            // A C library that gets no memory ends the program with a signal.
            Ending::Signalled { reason, .. } if setting.small => Ok(RunOutcome::TooLarge(reason.clone())),
            Ending::Failed { text, .. } => bail!("{text}"),
            Ending::Signalled { signal, reason } => {
                bail!("the program was ended by signal {signal}: {reason}")
            }
        }
    }
}

fn measurement(record: &ExitRecord, counts: bool) -> FaultCost {
    let faults = record.faults.faults;
    if !counts {
        return FaultCost { faults, nanos: record.nanos, ..FaultCost::default() };
    }
    let instructions = &record.instructions;
    FaultCost {
        faults,
        total: instructions.total,
        in_faults: instructions.faults,
        off_line: instructions.idle,
        hidden: instructions.hidden,
        system_calls: instructions.system_calls,
        ciphers: instructions.ciphers,
        copies: instructions.copies,
        shared: instructions.shared,
        longest: instructions.longest,
        hand_over: instructions.handing_over,
        nanos: 0,
    }
}
