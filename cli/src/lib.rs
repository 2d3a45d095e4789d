//! The parts of the commands of `ameles`: configuration, vaults and their users, figures, and how they run and speak.

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
