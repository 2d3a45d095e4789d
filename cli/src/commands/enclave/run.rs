//! `ameles enclave run`

use super::launch::{LaunchFlags, Program};
use super::report;
use super::signals::RunSignals;
use crate::commands::usage_error::usage_error;
use crate::enclave::{MachineSettings, Next, Streams, read_whole};
use crate::runtime::exit::Exit;
use crate::runtime::output::complain;
use ameles_enclave_boundary::launch::Instrumentation;
use ameles_enclave_boundary::map::HOST_BYTES;
use ameles_pager::scheme::Scheme;
use anyhow::{Result, ensure};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(
    after_help = "All of the program's memory is paged: code, data, heap and stack. It has the standard streams and \
nothing else: no files, no network, no second thread. The figures go to standard error when the program has ended; the \
exit code is the program's own, 128 and the signal if a signal ended it or the command, and 3 if its pages were tampered with. The \
machine is emulated by qemu-system-riscv64 (Debian: qemu-system-misc); its runtime is built on first use.

Examples:
  ameles enclave run -- ./program arguments
  ameles enclave run --scheme plain --resident 64 -- ./program < input
  ameles enclave run --k 7 --untrusted 256MiB --compare -- ./program"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    launching: LaunchFlags,
    /// Run the program once more, with the same input and plain encrypted paging, and say how much slower it was
    #[arg(long)]
    compare: bool,
    /// Run this on the host's hart, beside the program: bytes that begin with an instruction. Instructions are not
    /// counted then
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    host_program: Option<PathBuf>,
    #[command(flatten)]
    program: Program,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let Arguments { launching, compare, host_program, program } = &arguments;
    ensure!(
        !compare || launching.scheme != Scheme::Plain,
        usage_error("--compare: it compares with plain, which --scheme says already")
    );
    let launchable = launching.find(program)?;
    let read = |path: &PathBuf| {
        read_whole(path, HOST_BYTES)
            .map_err(|error| usage_error(format!("--host-program: {}: {error}", path.display())))
    };
    let host = host_program.as_ref().map(read).transpose()?;
    ensure!(
        host.as_ref().is_none_or(|host| !host.is_empty()),
        usage_error("--host-program: it is empty: write bytes that begin with an instruction")
    );
    if launching.seed.is_some() {
        complain!(
            "ameles enclave: warning: with --seed, keys and nonces are known and repeat: for measuring only"
        );
    }
    let setting = MachineSettings { counts: host.is_none(), host };
    let instrumentation = Instrumentation {
        meters: setting.counts,
        sequential_shares: setting.counts,
        ..Instrumentation::default()
    };
    let mut streams = if *compare { Streams::kept() } else { Streams::standard() };

    let ends = RunSignals::listen()?;
    let machine = launchable.start(launching, instrumentation, &setting)?;
    let ended = ends.meanwhile(machine, |machine| machine.serve(&mut streams, |_, _| Ok(Next::GoOn)))?;
    report::report(launching, &ended, setting.counts);
    let exit = report::ending(&ended, program);
    if *compare && exit.is_ok() {
        let plain = LaunchFlags { scheme: Scheme::Plain, k: None, harts: None, ..launching.clone() };
        let machine = launchable.start(&plain, instrumentation, &setting)?;
        let mut streams = streams.again();
        let of_plain =
            ends.meanwhile(machine, |machine| machine.serve(&mut streams, |_, _| Ok(Next::GoOn)))?;
        report::comparison(&ended, &of_plain);
    }
    std::process::exit(exit?)
}
