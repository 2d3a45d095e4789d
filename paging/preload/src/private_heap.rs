//! The heap that is never paged: for this library and the pager, and for the program until the region exists.
//!
//! It holds the position map, unencrypted page buffers and keys. Like the resident pages, it is kept out of core dumps
//! and, where the limit on locked memory allows it, out of swap. Children after `fork` have a copy: they are paged like
//! the program, and drop their parent's state.
//!
//! Some threads must not wait for a thread of the program: those that handle faults, and those that hold a lock that
//! this needs. The program's thread may have a paged stack, and may wait for a fault while it holds the heap. So there
//! are two heaps. If the first heap is locked, a thread that must not wait gets new memory from the second, which the
//! program's threads never use. If a block is freed while its heap is locked, the next holder of the heap frees it.

use crate::block_size::usable_bytes;
use crate::handler_stack::is_on_handler_stack;
use crate::own_threads::is_own;
use crate::page::fixed_zero_pages;
use crate::stderr::write_line;
use dlmalloc::{Allocator, Dlmalloc};
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The number of addresses of the second heap. Only used ones take memory.
const SECOND_BYTES: usize = 1 << 32;

/// Pages from the kernel. `libc::mmap` would be the function of the program, which gives paged memory.
struct KernelPages;

// SAFETY: each region is new from the kernel and freed at most once.
unsafe impl Allocator for KernelPages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let at = map_from_kernel(size, 0);
        if at.is_null() {
            return (at, 0, 0);
        }
        keep_private(at, size);
        (at, size, 0)
    }

    fn free_part(&self, at: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: dlmalloc frees the end of an allocation.
        unsafe { libc::syscall(libc::SYS_munmap, at.add(new), old - new) == 0 }
    }

    fn free(&self, at: *mut u8, size: usize) -> bool {
        // SAFETY: dlmalloc frees an allocation.
        unsafe { libc::syscall(libc::SYS_munmap, at, size) == 0 }
    }

    fn can_release_part(&self, _: u32) -> bool {
        true
    }

    fixed_zero_pages!();
}

/// The second heap's pages: its addresses in order.
struct SecondPages;

/// The first of its addresses, and how many of them are in use.
static SECOND_AT: AtomicUsize = AtomicUsize::new(0);
static SECOND_USED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each run of pages is allocated once.
unsafe impl Allocator for SecondPages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        // The caller has the heap's lock.
        if SECOND_AT.load(Ordering::Acquire) == 0 {
            let at = map_from_kernel(SECOND_BYTES, libc::MAP_NORESERVE);
            if at.is_null() {
                return (at, 0, 0);
            }
            keep_out_of_dumps(at, SECOND_BYTES);
            SECOND_AT.store(at as usize, Ordering::Release);
        }
        let used = SECOND_USED.load(Ordering::Relaxed);
        let Some(uses) = used.checked_add(size).filter(|uses| *uses <= SECOND_BYTES) else {
            return (null_mut(), 0, 0);
        };
        SECOND_USED.store(uses, Ordering::Relaxed);
        let at = (SECOND_AT.load(Ordering::Relaxed) + used) as *mut u8;
        keep_private(at, size);
        (at, size, 0)
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fixed_zero_pages!();
}

/// New memory, or null.
fn map_from_kernel(size: usize, flags: libc::c_int) -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: requests new pages at any address.
    let at = unsafe { libc::syscall(libc::SYS_mmap, 0_usize, size, protection, flags, -1_isize, 0_usize) };
    if at == -1 { null_mut() } else { at as *mut u8 }
}

/// Keeps memory out of dumps and swap. It can be used without either.
fn keep_private(at: *mut u8, size: usize) {
    keep_out_of_dumps(at, size);
    // SAFETY: memory of ours; the call does not change its contents. Pages are locked at their first access.
    let failed = unsafe { libc::syscall(libc::SYS_mlock2, at, size, libc::MLOCK_ONFAULT) } != 0;
    if failed {
        warn_unlocked();
    }
}

/// Reports once that some memory may be swapped out.
pub(crate) fn warn_unlocked() {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !WARNED.swap(true, Ordering::Relaxed) {
        write_line(&[
            "warning: what the pager holds in the clear (pages, positions, keys) exceeds the limit on locked memory and may \
             be swapped out: raise it (ulimit -l)",
        ]);
    }
}

fn keep_out_of_dumps(at: *mut u8, size: usize) {
    // SAFETY: memory of ours; the call does not change its contents.
    unsafe { libc::syscall(libc::SYS_madvise, at, size, libc::MADV_DONTDUMP) };
}

/// A heap with blocks that were left to its next holder.
struct Heap<A> {
    heap: Mutex<Dlmalloc<A>>,
    freed: AtomicPtr<FreedBlock>,
}

/// The contents of a block that was left.
struct FreedBlock {
    next: *mut FreedBlock,
}

static FIRST: Heap<KernelPages> =
    Heap { heap: Mutex::new(Dlmalloc::new_with_allocator(KernelPages)), freed: AtomicPtr::new(null_mut()) };
static SECOND: Heap<SecondPages> =
    Heap { heap: Mutex::new(Dlmalloc::new_with_allocator(SecondPages)), freed: AtomicPtr::new(null_mut()) };

impl<A: Allocator> Heap<A> {
    fn lock(&self) -> MutexGuard<'_, Dlmalloc<A>> {
        self.drain_freed(self.heap.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Dlmalloc<A>>> {
        match self.heap.try_lock() {
            Ok(heap) => Some(self.drain_freed(heap)),
            Err(TryLockError::Poisoned(heap)) => Some(self.drain_freed(heap.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn drain_freed<'a>(&self, mut heap: MutexGuard<'a, Dlmalloc<A>>) -> MutexGuard<'a, Dlmalloc<A>> {
        if !self.freed.load(Ordering::Relaxed).is_null() {
            let mut freed = self.freed.swap(null_mut(), Ordering::Acquire);
            while !freed.is_null() {
                // SAFETY: a block of this heap that was freed, and is in this list alone.
                unsafe {
                    let next = (*freed).next;
                    heap.c_free(freed.cast());
                    freed = next;
                }
            }
        }
        heap
    }

    /// # Safety
    /// A block of this heap that is not used: each has room for a pointer.
    unsafe fn defer_free(&self, at: *mut u8) {
        let at = at.cast::<FreedBlock>();
        let mut next = self.freed.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's promise.
            unsafe { at.write(FreedBlock { next }) };
            match self.freed.compare_exchange_weak(next, at, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => next = now,
            }
        }
    }
}

/// Returns whether no thread holds the heap: a signal handler may run during an allocation.
pub(crate) fn is_free() -> bool {
    FIRST.try_lock().is_some()
}

/// Returns whether the calling thread must not wait for threads of the program.
fn must_not_wait() -> bool {
    // In this order: on the pager's own stack its lock is held, and a thread's own variables may be paged.
    is_on_handler_stack() || is_own()
}

fn is_second_heaps(at: *mut u8) -> bool {
    let begin = SECOND_AT.load(Ordering::Acquire);
    begin != 0 && (at as usize).wrapping_sub(begin) < SECOND_BYTES
}

/// Runs one expression on the heap that allocates for the calling thread.
macro_rules! on_heap_for_new {
    ($heap:ident => $do:expr) => {
        if !must_not_wait() {
            let mut $heap = FIRST.lock();
            $do
        } else if let Some(mut $heap) = FIRST.try_lock() {
            $do
        } else {
            let mut $heap = SECOND.lock();
            $do
        }
    };
}

/// Runs one expression on the heap that a block came from, or another if that heap cannot be waited for.
macro_rules! on_heap_of {
    ($at:expr, $heap:ident => $do:expr, $or:expr) => {
        match (is_second_heaps($at), must_not_wait()) {
            (false, false) => {
                let mut $heap = FIRST.lock();
                $do
            }
            (false, true) => match FIRST.try_lock() {
                Some(mut $heap) => $do,
                None => $or,
            },
            (true, true) => {
                let mut $heap = SECOND.lock();
                $do
            }
            (true, false) => $or,
        }
    };
}

/// Allocates; null if there is no memory.
pub(crate) fn malloc(size: usize) -> *mut u8 {
    // SAFETY: any size may be requested.
    unsafe { on_heap_for_new!(heap => heap.c_malloc(size)) }
}

/// Allocates zeros; null if there is no memory.
pub(crate) fn calloc(size: usize, alignment: usize) -> *mut u8 {
    // SAFETY: any size may be requested; the alignment is a power of two.
    unsafe { on_heap_for_new!(heap => heap.calloc(size, alignment)) }
}

/// Allocates with an alignment; null if there is no memory.
pub(crate) fn memalign(alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: any size may be requested; the alignment is a power of two.
    unsafe { on_heap_for_new!(heap => heap.c_memalign(alignment, size)) }
}

/// Frees unused memory to the system, except this many bytes.
pub(crate) fn trim(pad: usize) -> bool {
    // SAFETY: any pad may be requested.
    unsafe { on_heap_for_new!(heap => heap.trim(pad)) }
}

/// # Safety
/// A live block of this heap, which is not used any more.
pub(crate) unsafe fn free(at: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        on_heap_of!(at, heap => heap.c_free(at), if is_second_heaps(at) { SECOND.defer_free(at) } else { FIRST.defer_free(at) });
    }
}

/// # Safety
/// A live block of this heap, which is replaced by the returned one, unless that is null.
pub(crate) unsafe fn realloc(at: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        on_heap_of!(at, heap => heap.c_realloc(at, size), {
            let new = malloc(size);
            if !new.is_null() {
                copy_nonoverlapping(at, new, usable_bytes(at.cast()).min(size));
                free(at);
            }
            new
        })
    }
}

/// The allocator of this library's own Rust code.
pub(crate) struct PrivateHeap;

// SAFETY: dlmalloc keeps the promises of an allocator.
unsafe impl GlobalAlloc for PrivateHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is valid.
        unsafe { on_heap_for_new!(heap => heap.malloc(layout.size(), layout.align())) }
    }

    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        // SAFETY: the caller frees its own block.
        unsafe { free(at) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is valid.
        unsafe { on_heap_for_new!(heap => heap.calloc(layout.size(), layout.align())) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        // SAFETY: the caller resizes its own block.
        unsafe {
            on_heap_of!(at, heap => heap.realloc(at, layout.size(), layout.align(), new), {
                let moved = on_heap_for_new!(heap => heap.malloc(new, layout.align()));
                if !moved.is_null() {
                    copy_nonoverlapping(at, moved, layout.size().min(new));
                    free(at);
                }
                moved
            })
        }
    }
}
