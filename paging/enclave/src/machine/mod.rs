//! The machine: boot, traps, the page table's register, untrusted memory and the end.
//!
//! All `unsafe` code of the runtime is in this folder.
#![allow(unsafe_code, reason = "registers, addresses and assembly; each block says why it is sound")]

mod boot;
mod copy;
mod device_tree;
mod end;
mod hart;
mod hart_wait;
mod harts;
mod heap;
mod instruction_counts;
mod listener;
mod mailbox;
mod mark;
mod run;
mod sealed_memory;
mod trap;
mod untrusted;
