//! The command line.

use clap::Parser;
use lethe::commands::{Cli, run};
use lethe::exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            Exit::of(&error).into()
        }
    }
}
