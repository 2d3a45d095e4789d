//! Tests of what a vault guarantees, one file for each guarantee.

mod closed_vault;
pub mod fixture;
mod orphans;
mod tampering;
mod wrong_sizes;
