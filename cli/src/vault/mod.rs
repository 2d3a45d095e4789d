//! A vault as a command has it: its place, its parameters, and its part that is served.

pub mod device;
pub mod home;
pub mod made;
mod objective;
pub mod opened;
pub mod parameters;
pub mod prices;
pub mod process_memory;
pub mod trusted_memory;
