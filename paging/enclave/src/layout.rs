//! The addresses of a program's memory.
//!
//! ```text
//! 0x0001_0000              the image, as it was linked; after it the heap
//! 0x8000_0000              the machine's memory, one to one, only for the runtime
//! below the top            mappings, from the top down; then a gap; then the stack; then the return of signal handlers
//! 2^38 or 2^47             the top: half of what three or four levels of page table address
//! ```
//! The layout is neither secret nor random.

use ameles_enclave_boundary::launch::PagingMode;
use ameles_enclave_boundary::map::PRIVATE_START;
use core::ops::Range;

/// The size of a page in bytes.
pub const PAGE: u64 = 4096;
/// The lowest address of a program.
pub const LOWEST: u64 = 0x1000;
/// The base of a position-independent program.
pub const POSITION_INDEPENDENT_BASE: u64 = 0x1_0000;
/// The maximum number of bytes of the stack.
pub const STACK_BYTES: u64 = 8 << 20;
/// The number of bytes of the unmapped gap below the stack.
pub const STACK_GAP: u64 = 1 << 20;

/// The number of the page at an address.
pub const fn page_of(address: u64) -> u64 {
    address / PAGE
}

/// The first address after those of a program.
pub const fn top(mode: PagingMode) -> u64 {
    match mode {
        PagingMode::Sv39 => 1 << 38,
        PagingMode::Sv48 => 1 << 47,
    }
}

/// The addresses reserved for the runtime, with this much untrusted memory: whole gigabytes.
pub const fn kernel(untrusted_bytes: u64) -> Range<u64> {
    let end = ameles_enclave_boundary::map::UNTRUSTED_START + untrusted_bytes;
    PRIVATE_START..end.next_multiple_of(1 << 30)
}

/// The addresses of the stack.
pub const fn stack(mode: PagingMode) -> Range<u64> {
    let end = trampoline(mode).start;
    end - STACK_BYTES..end
}

/// The addresses of the page through which signal handlers return. No call of the program changes it.
pub const fn trampoline(mode: PagingMode) -> Range<u64> {
    let end = top(mode);
    end - PAGE..end
}

/// The addresses of mappings, unless the program chooses others.
pub const fn mappings(mode: PagingMode, kernel_end: u64) -> Range<u64> {
    kernel_end..stack(mode).start - STACK_GAP
}

/// Returns whether an image may be there.
pub fn is_free_for_programs(addresses: &Range<u64>, kernel: &Range<u64>) -> bool {
    addresses.start >= LOWEST && addresses.end <= kernel.start
}
