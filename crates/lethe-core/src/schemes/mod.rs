//! The schemes, one file each.

pub mod ring;
