//! `ameles page`: programs with an obliviously paged heap.

pub(super) mod bench;
mod counters;
mod default_scheme;
mod executable;
mod launch;
mod library;
mod run;
mod wait;
mod watch;

use super::nested::Nested;
use crate::runtime::exit::Exit;
use anyhow::Result;
use clap::Subcommand;

pub(super) type Arguments = Nested<Command>;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Run an unmodified program with its heap in a paged region
    Run(run::Arguments),
    /// Run a program like `run`, and record which untrusted memory changes at each fault
    Watch(watch::Arguments),
    /// Measure the cost of each scheme with six programs
    Bench(bench::Arguments),
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    match arguments.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Watch(arguments) => watch::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
    }
}
