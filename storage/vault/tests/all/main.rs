//! The vault's promises, in one program: each would link the same libraries again.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod beside;
mod claims;
mod crash_traces;
mod durable;
mod every_step;
mod fairness;
mod format;
mod full;
mod full_batches;
mod large;
mod lease;
mod limits;
mod pace;
mod promises;
mod rekey;
mod restore;
mod rivals;
mod simulation;
mod store_journal;
mod succession;
mod support;
mod top_on_disk;
mod written_once;
