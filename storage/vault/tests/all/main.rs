//! The vault's integration tests, in one program, because each program would link the same libraries again.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod background_work;
mod checkpoint_costs;
mod claims;
mod counts;
mod crash_traces;
mod durability;
mod every_step;
mod fairness;
mod format;
mod full;
mod full_batches;
mod incremental_checkpoints;
mod large;
mod lease;
mod limits;
mod migration;
mod move_journal;
mod pace;
mod promises;
mod rekey;
mod restore;
mod restored_buckets;
mod ship_timer;
mod simulation;
mod standby;
mod store_journal;
mod support;
mod top_on_disk;
mod two_gateways;
