//! The program's heap: dlmalloc over pages of the region. Its own bookkeeping lies among the blocks, and is paged with
//! them.

use crate::heap_lock::HeapLock;
use crate::page::fixed_zero_pages;
use crate::region_pages::pages;
use dlmalloc::{Allocator, Dlmalloc};
use std::ops::DerefMut;
use std::ptr::null_mut;

/// Whole pages of the region.
struct Paged;

// SAFETY: a run of pages has one user at a time, and is freed at most once.
unsafe impl Allocator for Paged {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let at = pages().map_or(null_mut(), |pages| pages.take(size));
        if at.is_null() { (null_mut(), 0, 0) } else { (at, size, 0) }
    }

    fn free_part(&self, at: *mut u8, old: usize, new: usize) -> bool {
        pages().is_some_and(|pages| pages.give_back(at as usize + new..at as usize + old))
    }

    fn free(&self, at: *mut u8, size: usize) -> bool {
        pages().is_some_and(|pages| pages.give_back(at as usize..at as usize + size))
    }

    fn can_release_part(&self, _: u32) -> bool {
        true
    }

    fixed_zero_pages!();
}

static HEAP: HeapLock<Paged> = HeapLock::new(Paged);

/// The heap. Its holder may wait for faults, and faults never wait for it.
pub(crate) fn heap() -> impl DerefMut<Target = Dlmalloc<impl Allocator>> {
    HEAP.lock()
}

/// Returns the lock of the heap, for `fork`.
pub(crate) fn lock() -> &'static HeapLock<impl Allocator + 'static> {
    &HEAP
}
