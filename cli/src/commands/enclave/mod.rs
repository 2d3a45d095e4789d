//! `ameles enclave`: programs of RISC-V whose every page goes out of an enclave obliviously.

mod bench;
mod launch;
mod report;
mod run;
mod signals;
mod watch;

use crate::enclave::emulator;
use crate::runtime::exit::Exit;
use anyhow::Result;
use clap::{Args, Subcommand};
use std::ffi::OsString;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an unmodified static program in the enclave
    Run(run::Arguments),
    /// Run a program as `run` does, and see what its host sees of the untrusted memory at each fault
    Watch(watch::Arguments),
    /// Measure what each scheme costs in instructions: the paper's six programs, for the same number of faults
    Bench(bench::Arguments),
    /// Become the emulator, which ends when the named process does
    #[command(hide = true)]
    Emulator(Emulator),
}

#[derive(Args)]
struct Emulator {
    /// The process that starts it
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
        Command::Emulator(Emulator { parent, words }) => match emulator::become_it(parent, &words)? {},
    }
}
