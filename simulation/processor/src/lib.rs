//! A processor whose last-level cache misses become accesses of an oblivious RAM, as a simulation.
//!
//! A [`trace`] holds the misses of a program's first-level cache, with the instructions between them. A
//! [`Processor`](processor::Processor) takes it through the last-level [`cache`](cache::Cache) and its reorder
//! buffer, and requests missing lines from a memory. The caller decides when to answer: an ORAM controller, or plain
//! memory.

pub mod cache;
pub mod processor;
pub mod trace;
pub mod units;
