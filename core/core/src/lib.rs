//! Oblivious RAM schemes over any store.
//!
//! A scheme is an async function over a store and owns no effect: it is handed its store and its randomness. Time and
//! concurrency belong to its driver. [`oram::Oram`] is what a scheme offers, [`store::Store`] what it needs.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod admission;
mod bit_table;
pub mod block_header;
pub mod bucket_metadata;
pub mod buffers;
mod condition;
mod draw;
mod epoch;
mod handed_access;
mod held_buckets;
pub mod held_words;
mod in_flight;
pub mod incremental;
#[cfg(feature = "inspect")]
pub mod inspect;
pub mod layout;
mod look_aside;
pub mod network;
mod newest_copy;
mod oblivious_sort;
pub mod oram;
mod ordered_record;
pub mod partitions;
mod permutation;
pub mod position_map;
pub mod range;
pub mod resumable;
pub mod schemes;
pub mod stash;
pub mod stash_changes;
pub mod stash_payloads;
pub mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tree;
pub mod turns;
mod word_table;
pub mod words;
pub mod write_schedule;
