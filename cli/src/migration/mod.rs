//! The command line's part of a migration to a successor: its location and shape, and the switch of trusted disks.
//! `ameles_vault` copies the blocks and rows.

pub mod flags;
pub mod record;
pub mod repeated_flags;
pub mod shape;
pub mod switch;
