//! A vault for a command: its location, its parameters, and the served device.

pub mod closing;
pub mod created_files;
pub mod device;
pub mod home;
mod objective;
pub mod open_vault;
pub mod parameters;
pub mod prices;
pub mod process_memory;
pub mod trusted_memory;
