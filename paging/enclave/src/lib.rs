//! The runtime inside of the enclave: it loads a static RISC-V program and pages all of its memory through an oblivious
//! RAM.
//!
//! It has the role of an operating system for one program, in supervisor mode on a hart of its own. The host sees
//! untrusted memory only: sealed pages, and the mailbox.
//!
//! - [`image`], [`stack`], [`start`]: a program becomes memory.
//! - [`space`], [`paging`]: its areas, its page table, and the faults that go through the scheme.
//! - [`calls`]: its system calls; [`host`]: those for which the host is asked.
//! - `machine`: boot, traps and untrusted memory, where there is no operating system. All that is above runs anywhere.
#![cfg_attr(target_os = "none", no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod access;
pub mod calls;
pub mod host;
pub mod image;
pub mod layout;
#[cfg(target_os = "none")]
mod machine;
pub mod paging;
pub mod processor;
pub mod registers;
pub mod run_counters;
pub mod settings;
pub mod space;
pub mod stack;
pub mod start;
