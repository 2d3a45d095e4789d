//! `lethe lab`: experiments of the literature, done again.

mod output;
mod scratch;
mod thesis;

use crate::runtime::exit::Exit;
use anyhow::Result;
use clap::{Args, Subcommand};

#[derive(Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the cloud workloads of a thesis by every scheme, in virtual time
    Thesis(thesis::Arguments),
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    match arguments.command {
        Command::Thesis(arguments) => thesis::run(arguments),
    }
}
