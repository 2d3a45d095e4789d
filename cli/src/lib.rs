//! The commands of `ameles` and their parts: configuration, vaults, users, reports, and the runtime of a command.

pub mod commands;
pub mod config;
pub mod demonstration;
#[cfg(all(feature = "full", target_os = "linux"))]
pub mod enclave;
pub mod migration;
pub mod report;
pub mod runtime;
pub mod users;
pub mod vault;
