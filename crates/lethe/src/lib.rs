//! What the commands of `lethe` are made of: configuration, sizes, credentials, and how they speak to people.

pub mod banner;
pub mod config;
pub mod credentials;
pub mod exit;
pub mod flags;
pub mod folders;
pub mod listen;
pub mod logging;
pub mod progress;
pub mod size;
