//! What the commands of `lethe` are made of: configuration, sizes, credentials, and how they speak to people.

pub mod banner;
pub mod commands;
pub mod config;
pub mod credentials;
pub mod device;
pub mod exit;
pub mod flags;
pub mod folders;
pub mod interrupt;
pub mod listen;
pub mod logging;
pub mod made;
pub mod parameters;
pub mod place;
pub mod progress;
pub mod public_figures;
pub mod report;
pub mod size;
pub mod trusted_memory;
