//! The command line, with one file per command.

mod backup;
#[cfg(feature = "full")]
mod bench;
#[cfg(feature = "full")]
mod bench_progress;
mod check;
mod convert;
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
#[cfg(feature = "full")]
mod nested;
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
mod watch_report;

use crate::config::names::DATA;
use crate::config::{Config, Settings};
use crate::demonstration::DemonstrationFolder;
use crate::runtime::exit::{self, Exit};
use crate::runtime::logging;
use ameles_vault::VaultError;
use anyhow::{Context, Result};
#[cfg(not(feature = "full"))]
use clap::CommandFactory;
use clap::{Parser, Subcommand};
#[cfg(not(feature = "full"))]
use missing_feature as bench;
#[cfg(all(not(feature = "full"), target_os = "linux"))]
use missing_feature as enclave;
#[cfg(not(feature = "full"))]
use missing_feature as lab;
#[cfg(all(not(feature = "full"), target_os = "linux"))]
use missing_feature as page;
#[cfg(not(feature = "full"))]
use missing_feature as plan;
use std::cell::OnceCell;
use std::path::PathBuf;
use vault_flags::VaultFlags;

/// Storage that learns nothing of what you touch
#[derive(Parser)]
#[command(name = "ameles", version, after_help = exit::HELP)]
#[cfg_attr(not(feature = "full"), command(before_help = missing_feature::HELP))]
pub struct Cli {
    /// The configuration file [default: ameles.toml in the current folder, if it exists]
    #[arg(long, global = true, help_heading = "Every command", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    global: Config,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Create a vault and print what it will cost
    Init(init::Arguments),
    /// Serve a vault over S3 and Swift; creates it if there is none
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
    /// Move the journal of a vault between the trusted disk and the store, in place
    Convert(convert::Arguments),
    /// Manage accounts, users, passwords and S3 keys
    User(user::Arguments),
    /// Measure Ameles on this machine
    Bench(bench::Arguments),
    /// Simulate secure processors, or repeat a thesis's experiments
    Lab(lab::Arguments),
    /// Compare schemes and block sizes for your objects, and print the command that creates the best vault
    Plan(plan::Arguments),
    /// Show schemes step by step in a browser
    Visualize(visualize::Arguments),
    /// Run programs whose heap is paged through an oblivious RAM
    #[cfg(target_os = "linux")]
    Page(page::Arguments),
    /// Run RISC-V programs in an enclave whose memory is paged through an oblivious RAM
    #[cfg(target_os = "linux")]
    Enclave(enclave::Arguments),
}

/// Runs a command to its end.
///
/// # Errors
/// The error of the command; [`Exit::of`] gives its exit code.
pub fn run(cli: Cli) -> Result<Exit> {
    let config_path = cli.config.as_deref();
    let config = Config::load(config_path);
    let config = if config_path.is_some() { config.context("--config")? } else { config? };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let config = config.overlay(cli.global);
    let trusted = OnceCell::new();
    let resolve = |config: Config| -> Result<Settings> {
        let settings = Settings::resolve(config)?;
        settings.data.refuse_file(settings.origins.name(DATA))?;
        logging::start(&settings)?;
        let _ = trusted.set(settings.data.trusted());
        Ok(settings)
    };
    let result = match cli.command {
        Command::Init(arguments) => runtime.block_on(init::run(resolve(arguments.apply_to(config))?)),
        Command::Serve(arguments) => {
            let (demonstration, role) = (arguments.demonstration(), arguments.role());
            let config = arguments.apply_to(config);
            if let Some(pattern) = demonstration {
                let (demonstration_folder, config) = DemonstrationFolder::set_up(pattern, config)?;
                let result = runtime.block_on(serve::demonstrate(resolve(config)?, &demonstration_folder));
                // Work that still uses the demonstration's folder ends first.
                drop(runtime);
                let removed = demonstration_folder.remove();
                result.and_then(|exit| removed.map(|()| exit))
            } else {
                let requested = config.vault.clone();
                runtime.block_on(serve::run(resolve(config)?, &requested, role))
            }
        }
        Command::Status(arguments) => runtime.block_on(status::run(resolve(arguments.apply_to(config))?)),
        Command::Check(vault) => runtime.block_on(check::run(resolve(vault.apply_to(config))?)),
        Command::Gc(arguments) => {
            let removes = arguments.removes();
            runtime.block_on(gc::run(resolve(arguments.apply_to(config))?, removes))
        }
        Command::Backup(vault) => runtime.block_on(backup::run(resolve(vault.apply_to(config))?)),
        Command::Migrate(arguments) => {
            let (config, task) = arguments.apply_to(config);
            runtime.block_on(migrate::run(resolve(config)?, task))
        }
        Command::RotateKey(arguments) => {
            let (config, new) = arguments.apply_to(config);
            runtime.block_on(rotate_key::run(resolve(config)?, new))
        }
        Command::Convert(arguments) => {
            let (config, place) = arguments.apply_to(config);
            runtime.block_on(convert::run(resolve(config)?, place))
        }
        Command::User(arguments) => user::run(&resolve(config)?, arguments),
        Command::Bench(arguments) => {
            resolve(bench::quiet(config))?;
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
            runtime.block_on(restore::run(resolve(arguments.apply_to(config))?, options))
        }
    };
    // A vault does not know the path of its disk.
    result.map_err(|error| match (error.downcast_ref(), trusted.get()) {
        (Some(VaultError::DiskFull), Some(folder)) => error.context(folder.display().to_string()),
        _ => error,
    })
}

/// Returns the selected command.
#[cfg(not(feature = "full"))]
fn selected_command() -> clap::Command {
    let mut command = Cli::command();
    let matches = command.clone().get_matches();
    command.build();
    let mut matches_at = &matches;
    while let Some((name, submatches)) = matches_at.subcommand() {
        let Some(found) = command.find_subcommand(name).cloned() else { break };
        (command, matches_at) = (found, submatches);
    }
    command
}

/// Exits like clap on a usage error, but without the usage: the error says what is wrong. Returns any other error.
fn exit_on_usage_error(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<clap::Error>() {
        Ok(usage_error) => usage_error.exit(),
        Err(error) => error,
    }
}
