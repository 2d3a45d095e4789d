//! The vault's promises, in one program: each would link the same libraries again.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod beside;
mod claims;
mod crash_traces;
mod durable;
mod fairness;
mod lease;
mod pace;
mod promises;
mod released;
mod restore;
mod simulation;
mod succession;
mod support;
