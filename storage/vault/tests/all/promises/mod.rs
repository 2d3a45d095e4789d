//! The promises of a vault, one file a promise.

pub mod desk;
mod orphans;
mod scene;
mod sizes;
mod tampering;
