//! The machine: boot, traps, the page table's register, untrusted memory and the end.
//!
//! All `unsafe` code of the runtime is in this folder.
#![allow(unsafe_code, reason = "registers, addresses and assembly; each block says why it is sound")]

mod boot;
mod copy;
mod device_tree;
mod end;
mod hart;
mod harts;
mod heap;
mod intermediary;
mod listener;
mod mailbox;
mod mark;
mod run;
mod trap;
mod untrusted;
mod waiting;
