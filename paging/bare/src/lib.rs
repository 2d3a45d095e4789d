//! Page faults without an operating system, as in an enclave. The fault path runs over a scheme of the core over sealed
//! pages, with an array as the page table.
//!
//! It tests that these crates build and run without a standard library: [`workload::digest`] is the same on
//! every machine. `cargo xtask test` builds it for WebAssembly and for 64-bit RISC-V, where it runs in the enclave.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

pub mod page_table;
pub mod workload;

#[cfg(any(target_os = "none", target_family = "wasm"))]
mod freestanding;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod on_riscv;
