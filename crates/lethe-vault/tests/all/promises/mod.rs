//! The promises of a vault, one file a promise.

mod desk;
mod orphans;
mod scene;
mod tampering;
