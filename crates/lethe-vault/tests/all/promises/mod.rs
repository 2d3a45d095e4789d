//! What a vault promises, one file a promise.

mod desk;
mod orphans;
mod tampering;
