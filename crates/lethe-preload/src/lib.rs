//! The heap of an unmodified program in a paged region: `lethe page run` preloads this library.
//!
//! Before the region stands, and for this library's own needs, memory comes from a private heap; from
//! then on every `malloc` and every anonymous private `mmap` of the program comes from the region. A pointer says by
//! its address which of the two heaps it belongs to.
//!
//! The threads that serve faults must never touch the region: they would wait for themselves. They allocate from the
//! private heap (`own_threads`), run no signal handler of the program (all signals are blocked in them), and nothing
//! that they call takes a lock of the program.
#![cfg(target_os = "linux")]

mod after_fault;
mod child;
mod clock;
mod entry;
mod inherited;
mod mappings;
mod meters;
mod own_threads;
mod paged_heap;
mod private_heap;
mod region_pages;
mod report;
mod say;
mod start;

/// By this symbol `lethe` knows the library.
#[unsafe(no_mangle)]
pub static LETHE_PRELOAD: u8 = 1;

#[global_allocator]
static PRIVATE: private_heap::PrivateHeap = private_heap::PrivateHeap;
