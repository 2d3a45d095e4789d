//! The command line.

use ameles::commands::{Cli, run};
use ameles::runtime::exit::Exit;
use ameles::runtime::output;
use clap::Parser;
use std::process::ExitCode;

/// An error and its causes on one line. Some texts hold those of their causes already: nothing is said twice.
fn sentence(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match &*text {
        "" => cause,
        text if text.contains(&cause) => text.to_owned(),
        text => format!("{text}: {cause}"),
    })
}

fn main() -> ExitCode {
    ameles::runtime::allocator::set_limits();
    match run(Cli::parse()) {
        Ok(Exit::Success) => match output::failure() {
            None => Exit::Success.into(),
            Some(error) => {
                let why = "what was to be printed is lost, and all else was done: standard output cannot be written";
                output::write_error(format_args!("error: {why}: {error}"));
                Exit::Failure.into()
            }
        },
        Ok(exit) => exit.into(),
        Err(error) => {
            output::write_error(format_args!("error: {}", sentence(&error)));
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
