//! The promises of a vault, one file a promise.

mod closed_vault;
pub mod fixture;
mod orphans;
mod tampering;
mod wrong_sizes;
