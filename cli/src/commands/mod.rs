//! The command line: one file a command.

mod backup;
#[cfg(feature = "full")]
mod bench;
mod check;
#[cfg(all(feature = "full", target_os = "linux"))]
mod enclave;
#[cfg(all(feature = "full", target_os = "linux"))]
mod figure_files;
mod gc;
mod init;
#[cfg(feature = "full")]
mod lab;
mod migrate;
#[cfg(not(feature = "full"))]
mod missing_feature;
#[cfg(all(feature = "full", target_os = "linux"))]
mod page;
#[cfg(feature = "full")]
mod plan;
mod restore;
mod rotate_key;
mod serve;
#[cfg(all(feature = "full", target_os = "linux"))]
mod signals;
mod status;
mod usage_error;
mod user;
mod vault_flags;
mod visualize;
#[cfg(all(feature = "full", target_os = "linux"))]
mod watched;

use crate::config::{Config, Settings};
use crate::demonstration::DemonstrationFolder;
use crate::runtime::exit::{self, Exit};
use crate::runtime::logging;
use ameles_vault::VaultError;
use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};
#[cfg(not(feature = "full"))]
use not_built as bench;
#[cfg(all(not(feature = "full"), target_os = "linux"))]
use not_built as enclave;
#[cfg(not(feature = "full"))]
use not_built as lab;
#[cfg(all(not(feature = "full"), target_os = "linux"))]
use not_built as page;
#[cfg(not(feature = "full"))]
use not_built as plan;
use std::cell::OnceCell;
use std::path::PathBuf;
use vault_flags::VaultFlags;

/// Storage that learns nothing of what you touch
#[derive(Parser)]
#[command(name = "ameles", version, after_help = exit::HELP)]
pub struct Cli {
    /// The configuration; ameles.toml of this folder if there is one
    #[arg(long, global = true, help_heading = "Every command", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    everywhere: Config,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a vault and print what it will cost
    Init(init::Arguments),
    /// Serve a vault over S3 and Swift; makes it if there is none
    Serve(Box<serve::Arguments>),
    /// Show what a vault holds, moves and costs
    Status(status::Arguments),
    /// Read and verify a whole vault
    #[command(after_help = check::HELP)]
    Check(VaultFlags),
    /// Find objects in the store that nothing needs, and remove them
    Gc(gc::Arguments),
    /// Ship a sealed checkpoint to the store and print its receipt
    #[command(after_help = backup::HELP)]
    Backup(VaultFlags),
    /// Restore a vault from its store and key
    Restore(restore::Arguments),
    /// Grow a vault, change its key, or move it to another store
    Migrate(migrate::Arguments),
    /// Change the key of a vault in place
    RotateKey(rotate_key::Arguments),
    /// Manage accounts, users, passwords and S3 keys
    User(user::Arguments),
    /// Measure Ameles on this machine
    Bench(bench::Arguments),
    /// Repeat experiments of the literature
    Lab(lab::Arguments),
    /// Compare schemes and block sizes for your objects, and print the `ameles init` to type
    Plan(plan::Arguments),
    /// Show schemes at work, step by step, in a browser
    Visualize(visualize::Arguments),
    /// Run programs whose heap is paged through an oblivious RAM
    #[cfg(target_os = "linux")]
    Page(page::Arguments),
    /// Run programs of RISC-V in an enclave whose pages go out through an oblivious RAM
    #[cfg(target_os = "linux")]
    Enclave(enclave::Arguments),
}

/// Runs a command to its end.
///
/// # Errors
/// The error that ended it; [`Exit::of`] gives the code.
pub fn run(cli: Cli) -> Result<Exit> {
    let named = cli.config.as_deref();
    let config = Config::load(named);
    let config = if named.is_some() { config.context("--config")? } else { config? };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let config = config.overlaid(cli.everywhere);
    let trusted = OnceCell::new();
    let settle = |config: Config| -> Result<Settings> {
        let settings = Settings::resolve(config)?;
        logging::start(&settings)?;
        let _ = trusted.set(settings.data.trusted());
        Ok(settings)
    };
    let ended = match cli.command {
        Command::Init(arguments) => runtime.block_on(init::run(settle(arguments.over(config))?)),
        Command::Serve(arguments) => {
            let demonstration = arguments.demonstration();
            let config = arguments.over(config);
            if let Some(pattern) = demonstration {
                let (stage, config) = DemonstrationFolder::set_up(pattern, config)?;
                let ended = runtime.block_on(serve::demonstrate(settle(config)?, &stage));
                // Work that still goes on in the stage's folder ends first.
                drop(runtime);
                let removed = stage.remove();
                ended.and_then(|exit| removed.map(|()| exit))
            } else {
                let asked = config.vault.clone();
                runtime.block_on(serve::run(settle(config)?, &asked))
            }
        }
        Command::Status(arguments) => runtime.block_on(status::run(settle(arguments.over(config))?)),
        Command::Check(found) => runtime.block_on(check::run(settle(found.over(config))?)),
        Command::Gc(arguments) => {
            let removes = arguments.removes();
            runtime.block_on(gc::run(settle(arguments.over(config))?, removes))
        }
        Command::Backup(found) => runtime.block_on(backup::run(settle(found.over(config))?)),
        Command::Migrate(arguments) => {
            let (config, wanted) = arguments.over(config);
            runtime.block_on(migrate::run(settle(config)?, wanted))
        }
        Command::RotateKey(arguments) => {
            let (config, new) = arguments.over(config);
            runtime.block_on(rotate_key::run(settle(config)?, new))
        }
        Command::User(arguments) => user::run(&settle(config)?, arguments),
        Command::Bench(arguments) => {
            settle(bench::quiet(config))?;
            bench::run(arguments).map_err(exit_on_usage_error)
        }
        Command::Lab(arguments) => lab::run(arguments).map_err(exit_on_usage_error),
        Command::Plan(arguments) => plan::run(arguments).map_err(exit_on_usage_error),
        Command::Visualize(arguments) => runtime.block_on(visualize::run(arguments)),
        #[cfg(target_os = "linux")]
        Command::Page(arguments) => page::run(arguments).map_err(exit_on_usage_error),
        #[cfg(target_os = "linux")]
        Command::Enclave(arguments) => enclave::run(arguments).map_err(exit_on_usage_error),
        Command::Restore(arguments) => {
            let options = arguments.options()?;
            runtime.block_on(restore::run(settle(arguments.over(config))?, options))
        }
    };
    // A vault does not know where its disk is.
    ended.map_err(|error| match (error.downcast_ref(), trusted.get()) {
        (Some(VaultError::DiskFull), Some(folder)) => error.context(folder.display().to_string()),
        _ => error,
    })
}

/// The command that the command line gives, with its own usage.
fn given() -> clap::Command {
    let mut command = Cli::command();
    let matches = command.clone().get_matches();
    command.build();
    let mut at = &matches;
    while let Some((name, below)) = at.subcommand() {
        let Some(found) = command.find_subcommand(name).cloned() else { break };
        (command, at) = (found, below);
    }
    command
}

/// Ends as for a mistyped flag, if that is what the error is.
fn exit_on_usage_error(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<clap::Error>() {
        Ok(usage_error) => usage_error.format(&mut given()).exit(),
        Err(error) => error,
    }
}
