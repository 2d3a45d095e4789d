//! The heap that is never paged: for this library and the pager, and for the program until the region stands.
//!
//! Position map, buffers of pages in the clear and keys lie in it. As the resident pages, it is kept out of core dumps
//! and, where the limit on locked memory allows it, out of swap. It is not kept from children: until the region stands
//! the program may `fork`, and afterwards that is refused.

use dlmalloc::{Allocator, Dlmalloc};
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pages from the kernel. `libc::mmap` would be the program's, which gives paged memory.
struct KernelPages;

// SAFETY: each region comes fresh from the kernel and is given back at most once.
unsafe impl Allocator for KernelPages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: asks for new pages wherever there is room.
        let at =
            unsafe { libc::syscall(libc::SYS_mmap, 0_usize, size, protection, flags, -1_isize, 0_usize) };
        if at == -1 {
            return (null_mut(), 0, 0);
        }
        keep_private(at as *mut u8, size);
        (at as *mut u8, size, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        null_mut()
    }

    fn free_part(&self, at: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: dlmalloc gives back the end of what `alloc` gave.
        unsafe { libc::syscall(libc::SYS_munmap, at.add(new), old - new) == 0 }
    }

    fn free(&self, at: *mut u8, size: usize) -> bool {
        // SAFETY: dlmalloc gives back what `alloc` gave.
        unsafe { libc::syscall(libc::SYS_munmap, at, size) == 0 }
    }

    fn can_release_part(&self, _: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

/// Locked is what is touched, when it is touched. Where either is not to be had, the memory is as good as any other.
fn keep_private(at: *mut u8, size: usize) {
    // SAFETY: a new mapping of ours; neither call changes what it holds.
    unsafe {
        libc::syscall(libc::SYS_madvise, at, size, libc::MADV_DONTDUMP);
        libc::syscall(libc::SYS_mlock2, at, size, libc::MLOCK_ONFAULT);
    }
}

static HEAP: Mutex<Dlmalloc<KernelPages>> = Mutex::new(Dlmalloc::new_with_allocator(KernelPages));

/// The heap itself.
pub(crate) fn heap() -> MutexGuard<'static, Dlmalloc<impl Allocator>> {
    HEAP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same as the allocator of this library's own Rust code.
pub(crate) struct PrivateHeap;

// SAFETY: dlmalloc keeps the promises of an allocator.
unsafe impl GlobalAlloc for PrivateHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is valid.
        unsafe { heap().malloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller gives back what it was given.
        unsafe { heap().free(at, layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is valid.
        unsafe { heap().calloc(layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        // SAFETY: the caller resizes what it was given.
        unsafe { heap().realloc(at, layout.size(), layout.align(), new) }
    }
}
