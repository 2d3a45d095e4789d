//! The vault that is to take the place of this one, as the command line knows it: its place, its shape, and how its
//! trusted disk takes the place of the old one. `ameles_vault` moves the blocks and rows.

pub mod flags;
pub mod record;
pub mod repeated_flags;
pub mod shape;
pub mod switch;
