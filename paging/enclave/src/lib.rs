//! The runtime in the enclave: it loads a static RISC-V program and pages all of its memory through an oblivious RAM.
//!
//! It is the operating system of one program, in supervisor mode on its own hart. The host sees untrusted memory only:
//! sealed pages, and the mailbox.
//!
//! - [`image`], [`stack`], [`start`]: load a program.
//! - [`space`], [`paging`]: its areas, its page table, and its page faults.
//! - [`calls`]: its system calls; [`host`]: those that are passed to the host.
//! - `machine`: boot, traps and untrusted memory, without an operating system. All other modules run anywhere.
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
