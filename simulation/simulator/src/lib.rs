//! An oblivious RAM controller between a simulated processor and simulated DRAM.
//!
//! A [`Machine`](machine::Machine) takes the misses of a program's first-level cache through a processor with its
//! last-level cache. What misses there becomes paths of Freecursive ORAM, one at a time. Each path reads and writes its
//! blocks in DRAM. The schemes are those of `ameles-core`, over a tree without payloads. A
//! [`Configuration`](configuration::Configuration) selects their options.

#![deny(unsafe_code)]

pub mod adjustable_buckets;
pub mod allocation;
mod clocks;
pub mod configuration;
pub mod configuration_error;
pub mod counts;
pub mod early_write_back;
mod eviction_behind;
pub mod fork_path;
mod hierarchy;
pub mod look_ahead;
pub mod machine;
mod main_oram;
pub mod on_chip;
pub mod oram_configuration;
pub mod pace;
pub mod palermo;
mod path_timer;
pub mod path_variant;
pub mod pattern;
pub mod proactive_bank;
mod ring_metadata;
mod small_oram;
pub mod small_tree;
pub mod tree;
mod tree_backend;
pub mod tree_scheme;
