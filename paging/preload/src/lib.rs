//! The heap of an unmodified program in a paged region: `ameles page run` preloads this library.
//!
//! Before the region stands, and for this library's own needs, memory comes from a private heap; from
//! then on every `malloc` of the program comes from the region's own addresses, and pages of the region stand wherever
//! the program maps anonymous private memory. A pointer says by its address which of the two heaps it belongs to.
//!
//! The threads that serve faults must never touch the region: they would wait for themselves. They allocate from the
//! private heap (`own_threads`), run no signal handler of the program (all signals are blocked in them), and nothing
//! that they call takes a lock of the program.
#![cfg(target_os = "linux")]

mod affinity;
mod after_fault;
mod block_size;
mod child_programs;
mod clock;
mod errno;
mod exec;
mod fork;
mod fork_slot;
mod handler_stack;
mod heap_lock;
mod inherited;
mod last_thread;
mod libc_next;
mod loaded_objects;
mod malloc;
mod mappings;
mod meters;
mod mlock;
mod own_threads;
mod page;
mod paged_heap;
mod private_heap;
mod region_pages;
mod report;
mod robust_mutexes;
mod serving_libraries;
mod stacks;
mod start;
mod static_data;
mod stderr;
mod stdio_files;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod syscall;
mod this_thread;
mod threads;
mod unpaged_memory;
mod without_affinity;

/// By this symbol `ameles` knows the library.
#[unsafe(no_mangle)]
pub static AMELES_PRELOAD: u8 = 1;

#[global_allocator]
static PRIVATE: private_heap::PrivateHeap = private_heap::PrivateHeap;
