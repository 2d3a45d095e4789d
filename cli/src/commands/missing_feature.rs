//! The commands that only the feature `full` builds, refused by name where it is off.

use super::{given, usage_error::usage_error};
use crate::config::Config;
use crate::runtime::exit::Exit;
use anyhow::Result;
use clap::Args;
use std::ffi::OsString;

/// Takes every word after the command, `--help` among them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(super) struct Arguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Leaves the configuration as it is.
pub(super) fn quiet(config: Config) -> Config {
    config
}

/// Refuses the command.
pub(super) fn run(_: Arguments) -> Result<Exit> {
    let name = given().get_name().to_owned();
    Err(usage_error(format!(
        "`ameles {name}` is not in this build, which has what `ameles serve` needs: packages have it, and so has \
         `cargo run --release --features full -- {name}`"
    ))
    .into())
}
