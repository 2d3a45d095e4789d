//! Refuses commands that only the feature `full` includes, in a build without it.

use super::{selected_command, usage_error::usage_error};
use crate::config::Config;
use crate::runtime::exit::Exit;
use anyhow::Result;
use clap::Args;
use std::ffi::OsString;

/// The note above the list of commands.
pub(super) const HELP: &str =
    "This build does not contain `bench`, `enclave`, `lab`, `page` and `plan`: `--features full` does.";

/// Takes every argument after the command, including `--help`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(super) struct Arguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Returns the configuration unchanged.
pub(super) fn quiet(config: Config) -> Config {
    config
}

/// Refuses the command.
pub(super) fn run(_: Arguments) -> Result<Exit> {
    let name = selected_command().get_name().to_owned();
    Err(usage_error(format!(
        "`ameles {name}` is not in this build, which has only what `ameles serve` needs: use a package, or \
         `cargo run --release --features full -- {name}`"
    ))
    .into())
}
