//! The command line.
#![allow(clippy::print_stderr, reason = "an error that ends the program is told on standard error")]

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
