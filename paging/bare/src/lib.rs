//! Page faults without an operating system, as inside of an enclave: the fault path over a scheme of the core over
//! sealed pages, with page tables that are an array.
//!
//! It exists to be built where there is no standard library, and to be run there: [`rehearsal::digest`] is the same on
//! every machine. `cargo xtask test` builds it for WebAssembly and for 64-bit RISC-V, where it runs in the enclave.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

pub mod page_table;
pub mod rehearsal;

#[cfg(any(target_os = "none", target_family = "wasm"))]
mod freestanding;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod on_riscv;
