//! A vault as a command has it: its place, its parameters, and its part that is served.

pub mod created_files;
pub mod device;
pub mod home;
mod objective;
pub mod open_vault;
pub mod parameters;
pub mod prices;
pub mod process_memory;
pub mod trusted_memory;
