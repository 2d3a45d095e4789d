//! The program `ameles`.

use ameles::commands::{Cli, run};
use ameles::runtime::exit::Exit;
use ameles::runtime::output;
use clap::Parser;
use std::process::ExitCode;

/// Returns an error and its causes on one line. A cause that an outer message already contains is left out.
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
                let why =
                    "standard output cannot be written, so the output is lost; the command itself is done";
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
    fn an_error_repeats_no_cause() {
        let deep = anyhow::anyhow!("no room").context("writing failed: no room").context("--data");
        assert_eq!(sentence(&deep), "--data: writing failed: no room");
    }
}
