//! The schemes, one file each.

pub mod path;
pub mod ring;
pub mod trivial;
