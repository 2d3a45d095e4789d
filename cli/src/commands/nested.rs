//! Commands that have commands of their own.

use clap::{Args, Subcommand};

/// The arguments of a command that has others.
#[derive(Args)]
pub(super) struct Nested<C: Subcommand> {
    #[command(subcommand)]
    pub(super) command: C,
}
