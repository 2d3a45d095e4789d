//! The boundary of the enclave: everything on which the host process and the runtime must agree.
//!
//! - [`map`]: the layout of the machine's physical memory.
//! - [`launch`]: the package in private memory from which the runtime starts.
//! - [`mailbox`]: calls of the host, in untrusted memory.
//! - [`exit`]: the record in untrusted memory at the end of a run.
//! - [`mark`]: the mark by which the host recognises a runtime.
//!
//! # Trust
//! The runtime trusts the package, which its owner wrote, and nothing else. It copies an answer out of the mailbox
//! once, and [checks](mailbox::Answer::parse) it against the request. The host process trusts nothing that it parses
//! either. No parser panics, for any bytes.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod exit;
pub mod launch;
pub mod mailbox;
pub mod map;
pub mod mark;
