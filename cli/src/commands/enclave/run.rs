//! `ameles enclave run`

use super::launch::{LaunchFlags, Program};
use super::report;
use super::signals::RunSignals;
use crate::commands::usage_error::usage_error;
use crate::enclave::{MachineSettings, Next, Streams, read_file};
use crate::runtime::exit::Exit;
use crate::runtime::output::print_error;
use ameles_enclave_boundary::launch::Instrumentation;
use ameles_enclave_boundary::map::HOST_BYTES;
use ameles_pager::scheme::Scheme;
use anyhow::{Result, ensure};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(
    after_help = "All memory of the program is paged: code, data, heap and stack. The program has only the standard streams: no \
files, no network, no second thread. When it ends, figures go to standard error. The exit code is that of the program, 128 \
plus the signal if a signal ended the program or the command, or 3 if its pages were tampered with. The machine is emulated \
by qemu-system-riscv64 (Debian: qemu-system-misc); its runtime is built on first use.

Examples:
  ameles enclave run -- ./program arguments
  ameles enclave run --scheme plain --resident 64 -- ./program < input
  ameles enclave run --k 7 --untrusted 256MiB --compare -- ./program"
)]
pub(in crate::commands) struct Arguments {
    #[command(flatten)]
    flags: LaunchFlags,
    /// Run the program a second time with the same input and plain encrypted paging, and print the slowdown
    #[arg(long)]
    compare: bool,
    /// Run this on the host's hart at the same time: a file that begins with an instruction. Instructions are then not
    /// counted
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    host_program: Option<PathBuf>,
    #[command(flatten)]
    program: Program,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let Arguments { flags, compare, host_program, program } = &arguments;
    ensure!(
        !compare || flags.scheme != Scheme::Plain,
        usage_error("--compare compares with plain: choose another --scheme")
    );
    let launchable = flags.find(program)?;
    let read = |path: &PathBuf| {
        read_file(path, HOST_BYTES)
            .map_err(|error| usage_error(format!("--host-program: {}: {error}", path.display())))
    };
    let host = host_program.as_ref().map(read).transpose()?;
    ensure!(
        host.as_ref().is_none_or(|host| !host.is_empty()),
        usage_error("--host-program: the file is empty: it must begin with an instruction")
    );
    if flags.seed.is_some() {
        print_error!(
            "ameles enclave: warning: with --seed, keys and nonces are known and repeat: use it only for measurements"
        );
    }
    let setting = MachineSettings { counts: host.is_none(), host };
    let instrumentation = Instrumentation {
        meters: setting.counts,
        sequential_shares: setting.counts,
        ..Instrumentation::default()
    };
    let mut streams = if *compare { Streams::recorded() } else { Streams::standard() };

    let signals = RunSignals::listen()?;
    let machine = launchable.start(flags, instrumentation, &setting)?;
    let result = signals.serve(machine, |machine| machine.serve(&mut streams, |_, _| Ok(Next::Continue)))?;
    report::print_figures(flags, &result, setting.counts);
    let exit = report::exit_code(&result, program);
    if *compare && exit.is_ok() {
        let plain = LaunchFlags { scheme: Scheme::Plain, k: None, harts: None, ..flags.clone() };
        let machine = launchable.start(&plain, instrumentation, &setting)?;
        let mut streams = streams.replay();
        let plain_result =
            signals.serve(machine, |machine| machine.serve(&mut streams, |_, _| Ok(Next::Continue)))?;
        report::print_comparison(&result, &plain_result);
    }
    std::process::exit(exit?)
}
