//! What the commands of `lethe` are made of: configuration, sizes, credentials, and how they speak to people.

pub mod allocator;
pub mod banner;
pub mod commands;
pub mod config;
pub mod demonstration;
pub mod device;
pub mod exit;
pub mod flags;
pub mod folders;
pub mod interrupt;
pub mod interval;
pub mod listen;
pub mod logging;
pub mod made;
pub mod page;
pub mod parameters;
pub mod place;
pub mod progress;
pub mod public_figures;
pub mod report;
pub mod size;
pub mod tls_watch;
pub mod trusted_memory;
pub mod users_file;
pub mod users_watch;
pub mod warnings;
