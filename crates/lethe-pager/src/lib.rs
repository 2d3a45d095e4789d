//! Oblivious demand paging: a region of memory of which a few pages are resident, the rest behind an oblivious RAM in
//! memory that somebody watches.
//!
//! - [`fault`]: what happens at a page fault, over any scheme and any platform. It needs no operating system.
#![cfg_attr(not(feature = "linux"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod fault;
