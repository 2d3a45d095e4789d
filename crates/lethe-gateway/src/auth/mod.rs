//! Who asks, and what they may do.

pub mod identity;
pub(crate) mod rights;
