//! `ameles enclave`: RISC-V programs in an enclave, with all their pages paged out obliviously.

mod bench;
mod launch;
mod report;
mod run;
mod signals;
mod watch;

use super::nested::Nested;
use crate::enclave::emulator;
use crate::runtime::exit::Exit;
use anyhow::Result;
use clap::{Args, Subcommand};
use std::ffi::OsString;

pub(super) type Arguments = Nested<Command>;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Run an unmodified static program in the enclave
    Run(run::Arguments),
    /// Run a program like `run`, and record which untrusted memory changes at each fault
    Watch(watch::Arguments),
    /// Measure the cost of each scheme in instructions, with the paper's six programs
    Bench(bench::Arguments),
    /// Become the emulator, which ends when the given process ends
    #[command(hide = true)]
    Emulator(Emulator),
}

#[derive(Args)]
pub(super) struct Emulator {
    /// The process that starts the emulator
    parent: i32,
    /// The emulator and its arguments
    #[arg(last = true, required = true)]
    words: Vec<OsString>,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    match arguments.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Watch(arguments) => watch::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Emulator(Emulator { parent, words }) => match emulator::exec_emulator(parent, &words)? {},
    }
}
