//! The schemes, one file each.
