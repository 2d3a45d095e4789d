//! The parts that a program without a standard library must define, and the function that its host calls.
#![allow(unsafe_code, reason = "an allocator and a name for the linker; each says why it is sound")]

use crate::workload::{Scheme, digest};
use alloc::boxed::Box;
use ameles_seal::pages::PageCipher;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The number of bytes that one run may allocate in total.
const HEAP_BYTES: usize = 4 << 20;

/// Allocates from front to back and never frees: the workload is short.
struct Heap {
    bytes: UnsafeCell<[u8; HEAP_BYTES]>,
    used: AtomicUsize,
}

// SAFETY: no byte is allocated twice, and the heap itself accesses none.
unsafe impl Sync for Heap {}

// SAFETY: the allocated memory lies within the bytes, is aligned, and is allocated once.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.bytes.get() as usize;
        let mut at = 0;
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            at = (start + used).next_multiple_of(layout.align()) - start;
            at.checked_add(layout.size()).filter(|end| *end <= HEAP_BYTES)
        });
        if taken.is_err() { null_mut() } else { self.bytes.get().cast::<u8>().wrapping_add(at) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Heap = Heap { bytes: UnsafeCell::new([0; HEAP_BYTES]), used: AtomicUsize::new(0) };

/// The workload's digest, 32 bytes, by the numbers of scheme and cipher.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
extern "C" fn ameles_bare_digest(scheme: u32, cipher: u32) -> *const u8 {
    let digest = digest(Scheme::ALL[scheme as usize], PageCipher::ALL[cipher as usize]);
    Box::leak(Box::new(digest)).as_ptr()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    loop {
        core::hint::spin_loop();
    }
}
