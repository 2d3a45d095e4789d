//! A vault as a command has it: where it is, what it is made with, and what is served of it.

pub mod device;
pub mod home;
pub mod made;
pub mod opened;
pub mod parameters;
pub mod trusted_memory;
