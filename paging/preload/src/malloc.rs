//! `malloc` and the related functions, as C programs call them.

use crate::block_size::usable_bytes;
use crate::errno::{errno, fail};
use crate::own_threads::is_own;
use crate::page::{PAGE, round_up};
use crate::region_pages::pages;
use crate::{paged_heap, private_heap};
use libc::{c_int, c_void, size_t};
use std::mem::size_of;
use std::ptr::{copy_nonoverlapping, null_mut};

/// dlmalloc's least alignment.
const ALIGNMENT: usize = 2 * size_of::<usize>();

/// Runs one expression on the program's heap or another on this library's own, depending on where new memory of the
/// calling thread comes from.
macro_rules! for_new {
    ($heap:ident => $paged:expr, $private:expr) => {
        if pages().is_some() && !is_own() {
            let mut $heap = paged_heap::heap();
            $paged
        } else {
            $private
        }
    };
}

fn is_paged(at: *mut c_void) -> bool {
    pages().is_some_and(|pages| pages.contains(at.cast()))
}

fn given(at: *mut u8) -> *mut c_void {
    if at.is_null() {
        fail(libc::ENOMEM);
    }
    at.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: size_t) -> *mut c_void {
    // SAFETY: any size may be requested.
    given(unsafe { for_new!(heap => heap.c_malloc(size), private_heap::malloc(size)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: size_t, size: size_t) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else { return given(null_mut()) };
    // SAFETY: any size may be requested.
    given(unsafe { for_new!(heap => heap.calloc(bytes, ALIGNMENT), private_heap::calloc(bytes, ALIGNMENT)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(at: *mut c_void) {
    if !at.is_null() {
        // Programs read `errno` after they have cleaned up.
        let errno = errno();
        // SAFETY: the caller frees its own block.
        unsafe {
            if is_paged(at) {
                paged_heap::heap().c_free(at.cast());
            } else {
                private_heap::free(at.cast());
            }
        }
        fail(errno);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(at: *mut c_void, size: size_t) -> *mut c_void {
    if at.is_null() {
        // SAFETY: any size may be requested.
        return unsafe { malloc(size) };
    }
    let stays = is_paged(at) || pages().is_none() || is_own();
    if stays {
        // SAFETY: the caller resizes its own block.
        return given(unsafe {
            if is_paged(at) {
                paged_heap::heap().c_realloc(at.cast(), size)
            } else {
                private_heap::realloc(at.cast(), size)
            }
        });
    }
    // It was allocated before the region existed: from now on it is paged.
    // SAFETY: both blocks are live, distinct, and at least that long.
    unsafe {
        let new = malloc(size);
        if !new.is_null() {
            copy_nonoverlapping(at.cast::<u8>(), new.cast::<u8>(), usable_bytes(at).min(size));
            free(at);
        }
        new
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(at: *mut c_void, count: size_t, size: size_t) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: as for `realloc`.
        Some(bytes) => unsafe { realloc(at, bytes) },
        None => given(null_mut()),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(alignment: size_t, size: size_t) -> *mut c_void {
    let Some(alignment) = alignment.checked_next_power_of_two() else { return given(null_mut()) };
    // SAFETY: the alignment is a power of two.
    given(unsafe {
        for_new!(heap => heap.c_memalign(alignment, size), private_heap::memalign(alignment, size))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: size_t, size: size_t) -> *mut c_void {
    // SAFETY: as for `memalign`.
    unsafe { memalign(alignment, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(into: *mut *mut c_void, alignment: size_t, size: size_t) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the caller passes a place for the pointer.
    unsafe {
        let at = memalign(alignment, size);
        if at.is_null() {
            return libc::ENOMEM;
        }
        *into = at;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn valloc(size: size_t) -> *mut c_void {
    // SAFETY: as for `memalign`.
    unsafe { memalign(PAGE, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pvalloc(size: size_t) -> *mut c_void {
    match round_up(size) {
        // SAFETY: as for `memalign`.
        Some(size) => unsafe { memalign(PAGE, size) },
        None => given(null_mut()),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(at: *mut c_void) -> size_t {
    // SAFETY: the caller passes a live block.
    if at.is_null() { 0 } else { unsafe { usable_bytes(at) } }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_trim(pad: size_t) -> c_int {
    // SAFETY: any pad may be requested.
    c_int::from(unsafe { for_new!(heap => heap.trim(pad), private_heap::trim(pad)) })
}
