//! The heap of an unmodified program in a paged region: `ameles page run` preloads this library.
//!
//! Before the region exists, and for this library's own needs, memory comes from a private heap. Afterwards every
//! `malloc` of the program uses the region's own addresses. If the program maps anonymous private memory, pages of the
//! region are mapped there. The address of a block shows to which of the two heaps it belongs.
//!
//! The threads that handle faults must never access the region: they would wait for themselves. They allocate from the
//! private heap (`own_threads`). All signals are blocked in them, so they run no signal handler of the program. They
//! call nothing that takes a lock of the program.
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

/// The symbol by which `ameles` recognises the library.
#[unsafe(no_mangle)]
pub static AMELES_PRELOAD: u8 = 1;

#[global_allocator]
static PRIVATE: private_heap::PrivateHeap = private_heap::PrivateHeap;
