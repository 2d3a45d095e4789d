//! Oblivious demand paging: a region of memory with a few resident pages. The other pages are in untrusted memory,
//! behind an oblivious RAM.
//!
//! - [`fault`]: the handling of a page fault, over any scheme and any platform. It needs no operating system.
//! - [`fault_path_builder::FaultPathBuilder`]: a scheme by its name, over sealing and under a fault path. It needs none
//!   either.
//! - [`region::Region`]: virtual memory on Linux that is used as a slice. Its faults are delivered by userfaultfd(2),
//!   in one of [two ways](fault_handling::FaultHandling); [`scheme::Scheme`] says what the untrusted memory reveals.
//! - [`watch`]: observing the untrusted memory of another process at each of its faults.
//!
//! ```no_run
//! use ameles_pager::options::Options;
//! use ameles_pager::region::Region;
//!
//! // 1024 pages, of which 64 are resident.
//! let mut region = Region::new(Options::new(1024))?;
//! region.as_mut_slice()[4096 * 1000] = 7;
//! # Ok::<(), ameles_pager::error::Error>(())
//! ```
//!
//! # Which adversary is stopped
//! The adversary observes and changes the untrusted memory: by snapshots (DetWoORAM and its variants, and Path ORAM) or
//! at every access (Path ORAM only). A page that was tampered with or rolled back ends the process at its next access.
//! The kernel of Linux sees every fault and every resident page: here it is trusted, like the enclave's own runtime in
//! Keystone. The number of faults and their time are visible.
#![cfg_attr(not(feature = "linux"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod fault;

#[cfg(feature = "linux")]
pub mod access;
#[cfg(feature = "linux")]
pub mod addresses;
#[cfg(feature = "linux")]
pub mod after_fault;
#[cfg(feature = "linux")]
mod builder;
#[cfg(feature = "linux")]
mod descriptors;
#[cfg(feature = "linux")]
pub mod error;
#[cfg(feature = "linux")]
pub mod eviction;
#[cfg(feature = "linux")]
mod extents;
#[cfg(feature = "linux")]
pub mod failure;
#[cfg(feature = "linux")]
pub mod fault_handling;
#[cfg(feature = "schemes")]
pub mod fault_path_builder;
#[cfg(feature = "linux")]
pub mod ffi;
#[cfg(all(feature = "linux", target_env = "gnu"))]
pub mod fork;
#[cfg(feature = "linux")]
pub mod interval_set;
#[cfg(feature = "linux")]
mod linux;
#[cfg(feature = "linux")]
pub mod options;
#[cfg(feature = "schemes")]
pub mod page;
#[cfg(feature = "schemes")]
mod prefill;
#[cfg(feature = "linux")]
mod private;
#[cfg(feature = "linux")]
pub mod region;
#[cfg(feature = "schemes")]
pub mod scheme;
#[cfg(feature = "schemes")]
pub mod scheme_error;
#[cfg(feature = "linux")]
pub mod shared;
#[cfg(feature = "schemes")]
mod size;
#[cfg(feature = "linux")]
pub mod watch;
