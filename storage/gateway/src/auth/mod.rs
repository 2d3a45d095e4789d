//! The principals of requests, the identities of users, and rights.

pub mod identity;
pub(crate) mod principal;
pub(crate) mod rights;
