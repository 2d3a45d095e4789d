//! The migration of a vault to its successor, on the side of the command line: the location and shape of the successor, and
//! the switch of trusted disks. `ameles_vault` copies the blocks and rows.

pub mod flags;
pub mod record;
pub mod repeated_flags;
pub mod shape;
pub mod switch;
