//! Memory that the program locks. Paged memory is locked already as far as the limit allows it, and all of it equally:
//! the kernel moves pages between equal mappings only.

use crate::errno::fail;
use crate::page::{PAGE, span};
use crate::region_pages::{pages, pages_of_program};
use ameles_pager::addresses::{MappingError, SpanPart};
use libc::{c_int, c_uint, c_void, size_t};

/// Calls the kernel for the unpaged parts of a span.
fn others(at: *const c_void, len: size_t, act: impl Fn(usize, usize) -> c_int, paged: c_int) -> c_int {
    let Some(pages) = pages_of_program() else { return act(at as usize, len) };
    let begin = at as usize & !(PAGE - 1);
    for SpanPart { at: part, known, .. } in pages.region().known(begin..span(at.cast_mut(), len).end) {
        if known.is_paged() || pages.is_heap(part.clone()) {
            if paged != 0 {
                fail(paged);
                return -1;
            }
        } else if act(part.start, part.len()) != 0 {
            return -1;
        }
    }
    0
}

/// The result of locking paged memory.
fn locked() -> c_int {
    match pages() {
        Some(pages) if !pages.region().is_locked() => libc::ENOMEM,
        _ => 0,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mlock(at: *const c_void, len: size_t) -> c_int {
    // SAFETY: the program's own call, for a part of what it names.
    let kernels = |at: usize, len: usize| unsafe { libc::syscall(libc::SYS_mlock, at, len) as c_int };
    others(at, len, kernels, locked())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mlock2(at: *const c_void, len: size_t, flags: c_uint) -> c_int {
    // SAFETY: as for `mlock`.
    let kernels = |at: usize, len: usize| unsafe { libc::syscall(libc::SYS_mlock2, at, len, flags) as c_int };
    others(at, len, kernels, locked())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munlock(at: *const c_void, len: size_t) -> c_int {
    // SAFETY: as for `mlock`.
    let kernels = |at: usize, len: usize| unsafe { libc::syscall(libc::SYS_munlock, at, len) as c_int };
    others(at, len, kernels, 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mlockall(flags: c_int) -> c_int {
    let known = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    let Some(pages) = pages().filter(|_| flags & !known == 0 && flags & !libc::MCL_ONFAULT != 0) else {
        // SAFETY: the program's own call, as it stands.
        return unsafe { libc::syscall(libc::SYS_mlockall, flags) as c_int };
    };
    // Without paging in absent pages: that would be every page of the heap, in turn.
    match pages.region().lock_all(flags & libc::MCL_CURRENT != 0, flags & libc::MCL_FUTURE != 0) {
        Ok(()) => 0,
        Err(MappingError::Full) => unreachable!("nothing is mapped"),
        Err(MappingError::System(errno)) => {
            fail(errno.raw_os_error());
            -1
        }
    }
}

/// Keeps everything locked: the kernel would also unlock the region, positions and keys.
#[unsafe(no_mangle)]
unsafe extern "C" fn munlockall() -> c_int {
    match pages() {
        Some(_) => 0,
        // SAFETY: the program's own call, as it stands.
        None => unsafe { libc::syscall(libc::SYS_munlockall) as c_int },
    }
}
