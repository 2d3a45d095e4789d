//! Oblivious RAM schemes over any store.
//!
//! A scheme is an async function over a store and owns no effect: the caller gives it its store and its randomness.
//! Time and concurrency belong to its driver. [`oram::Oram`] is what a scheme offers, and [`store::Store`] is what it
//! needs.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod buffer_pool;
pub mod concurrency;
#[cfg(feature = "inspect")]
pub mod inspect;
pub mod network;
pub mod oram;
pub mod partitions;
mod permutation;
pub mod position_map;
pub mod range;
pub mod schemes;
pub mod snapshot;
pub mod stash;
pub mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tree;
pub mod types;
