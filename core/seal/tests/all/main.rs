//! Tests of sealing, in one program: each would link the same libraries again.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod blobs;
mod common;
mod copies;
mod fuzz;
mod in_flight;
mod keys;
mod nonces;
#[cfg(feature = "parallel")]
mod pages;
mod records;
mod round_trip;
mod tampering;
mod trusted_versions;
