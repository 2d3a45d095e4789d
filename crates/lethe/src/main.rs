//! The command line.
#![allow(clippy::print_stderr, reason = "an error that ends the program is told on standard error")]

use clap::Parser;
use lethe::commands::{Cli, run};
use lethe::exit::Exit;
use std::process::ExitCode;

/// An error and its causes on one line. Some texts hold those of their causes already: nothing is said twice.
fn sentence(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match &*said {
        "" => cause,
        said if said.contains(&cause) => said.to_owned(),
        said => format!("{said}: {cause}"),
    })
}

fn main() -> ExitCode {
    lethe::allocator::bound();
    match run(Cli::parse()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("error: {}", sentence(&error));
            Exit::of(&error).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_nothing_twice() {
        let deep = anyhow::anyhow!("no room").context("writing failed: no room").context("--data");
        assert_eq!(sentence(&deep), "--data: writing failed: no room");
    }
}
