//! Anonymous private mappings of the program come from the region too; every other mapping is the kernel's.

use crate::own_threads::is_own;
use crate::region_pages::{PAGE, RegionPages, pages, round_up};
use crate::say::fail;
use libc::{c_int, c_void, off_t, size_t};
use std::ptr::copy_nonoverlapping;

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

fn region_of(at: *mut c_void) -> Option<&'static RegionPages> {
    pages().filter(|pages| pages.holds(at.cast()))
}

fn refused(errno: c_int) -> *mut c_void {
    fail(errno);
    libc::MAP_FAILED
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    len: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // What a thread's stack or a huge page is asked for with is not paged.
    let is_heap = flags & !libc::MAP_NORESERVE == kind && protection == READ_WRITE && at.is_null() && len > 0;
    match pages() {
        Some(pages) if is_heap && !is_own() => {
            let at = pages.take(len);
            if at.is_null() { refused(libc::ENOMEM) } else { at.cast() }
        }
        Some(pages) if flags & libc::MAP_FIXED != 0 && pages.holds(at.cast()) => refused(libc::EINVAL),
        // SAFETY: the program's own call, as it stands.
        _ => unsafe {
            libc::syscall(libc::SYS_mmap, at, len, protection, flags, file as isize, offset) as *mut c_void
        },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    at: *mut c_void,
    len: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the same call where offsets have 64 bits.
    unsafe { mmap(at, len, protection, flags, file, offset) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(at: *mut c_void, len: size_t) -> c_int {
    match region_of(at) {
        Some(_) if len == 0 || !(at as usize).is_multiple_of(PAGE) => {
            fail(libc::EINVAL);
            -1
        }
        Some(pages) => {
            pages.give_back(at.cast(), len);
            0
        }
        // SAFETY: the program's own call, as it stands.
        None => unsafe { libc::syscall(libc::SYS_munmap, at, len) as c_int },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mremap(
    at: *mut c_void,
    old: size_t,
    new: size_t,
    flags: c_int,
    target: *mut c_void,
) -> *mut c_void {
    let Some(pages) = region_of(at) else {
        // SAFETY: the program's own call, as it stands.
        return unsafe { libc::syscall(libc::SYS_mremap, at, old, new, flags, target) as *mut c_void };
    };
    let (Some(had), Some(wanted)) = (round_up(old), round_up(new)) else { return refused(libc::EINVAL) };
    if wanted == 0 || flags & libc::MREMAP_FIXED != 0 {
        return refused(libc::EINVAL);
    }
    if wanted <= had {
        pages.give_back(at.cast::<u8>().wrapping_add(wanted), had - wanted);
        return at;
    }
    if flags & libc::MREMAP_MAYMOVE == 0 {
        return refused(libc::ENOMEM);
    }
    let moved = pages.take(wanted);
    if moved.is_null() {
        return refused(libc::ENOMEM);
    }
    // SAFETY: two runs of the region, apart from one another, each at least that long.
    unsafe { copy_nonoverlapping(at.cast::<u8>(), moved, had) };
    pages.give_back(at.cast(), had);
    moved.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn madvise(at: *mut c_void, len: size_t, advice: c_int) -> c_int {
    let Some(pages) = region_of(at) else {
        // SAFETY: the program's own call, as it stands.
        return unsafe { libc::syscall(libc::SYS_madvise, at, len, advice) as c_int };
    };
    match (advice, round_up(len)) {
        (libc::MADV_DONTNEED, Some(bytes)) if (at as usize).is_multiple_of(PAGE) => {
            pages.discard(at.cast(), bytes);
        }
        (libc::MADV_DONTNEED, _) => {
            fail(libc::EINVAL);
            return -1;
        }
        // Other advice changes nothing that the program could read; the kernel must not hear it.
        _ => {}
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(at: *mut c_void, len: size_t, protection: c_int) -> c_int {
    match region_of(at) {
        Some(_) if protection & READ_WRITE == READ_WRITE => 0,
        // A page that the pager could not move would stop the program later.
        Some(_) => {
            fail(libc::EACCES);
            -1
        }
        // SAFETY: the program's own call, as it stands.
        None => unsafe { libc::syscall(libc::SYS_mprotect, at, len, protection) as c_int },
    }
}
