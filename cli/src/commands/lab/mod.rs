//! `ameles lab`: experiments of the literature, repeated.

mod command_line;
mod deferred_signals;
mod folder;
mod output;
mod path_errors;
mod processor;
mod progress;
mod scratch_folder;
mod thesis;

use super::nested::Nested;
use crate::runtime::exit::Exit;
use anyhow::Result;
use clap::Subcommand;

pub(super) type Arguments = Nested<Command>;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Simulate programs on the ORAM controllers of secure processors
    Processor(processor::Arguments),
    /// Run the cloud workloads of a thesis with every scheme, in virtual time
    Thesis(thesis::Arguments),
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    match arguments.command {
        Command::Processor(arguments) => processor::run(arguments),
        Command::Thesis(arguments) => thesis::run(arguments),
    }
}
