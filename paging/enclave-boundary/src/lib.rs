//! The boundary of the enclave: everything on which the host process and the runtime inside must agree.
//!
//! - [`map`]: the places of things in the machine's physical memory.
//! - [`launch`]: the package that lies in private memory before the runtime starts.
//! - [`mailbox`]: calls of the host, in untrusted memory.
//! - [`exit`]: the record that is left behind in untrusted memory when the program has ended.
//! - [`mark`]: what the host knows a runtime by.
//!
//! # Trust
//! The runtime believes the package, which its owner wrote, and nothing else: an answer in the mailbox is copied out
//! once, and [checked](mailbox::Answer::parse) against what was asked. The host process believes nothing that it parses
//! either. No parser panics, whatever bytes it is given.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod exit;
pub mod launch;
pub mod mailbox;
pub mod map;
pub mod mark;
