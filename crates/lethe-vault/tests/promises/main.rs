//! What a vault promises, one file a promise.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

#[path = "../support/mod.rs"]
mod support;

mod desk;
mod orphans;
mod tampering;
