//! The identity of callers, and their rights.

pub mod identity;
pub(crate) mod rights;
