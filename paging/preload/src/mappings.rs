//! Mappings of the program. Private anonymous memory is paged as soon as it may be written, at any address; every other
//! mapping is the kernel's.

use crate::errno::{self, fail};
use crate::page::{PAGE, round_up, span};
use crate::region_pages::{RegionPages, pages_of_program};
use ameles_pager::access::Access;
use ameles_pager::addresses::{MapRequest, MappingError, SpanPart, SpanState};
use libc::{c_int, c_void, off_t, size_t};
use std::ops::Range;
use std::ptr::{copy_nonoverlapping, null_mut};

/// The number of flags of private anonymous mappings that are not paged. The kernel may need a stack during a fault,
/// and the pager does not support huge pages.
const NOT_PAGED: c_int = libc::MAP_STACK | libc::MAP_GROWSDOWN | libc::MAP_HUGETLB;

fn refused(errno: c_int) -> *mut c_void {
    fail(errno);
    libc::MAP_FAILED
}

fn succeeded(mapped: *mut c_void) -> Option<*mut c_void> {
    (mapped != libc::MAP_FAILED).then_some(mapped)
}

/// Sets `errno` as the kernel would.
fn errno(pages: &RegionPages, error: MappingError, wanted: usize) -> c_int {
    match error {
        MappingError::Full => {
            pages.warn_full(wanted);
            libc::ENOMEM
        }
        MappingError::System(errno) => errno.raw_os_error(),
    }
}

fn answer(pages: &RegionPages, done: Result<(), MappingError>, wanted: usize) -> c_int {
    match done {
        Ok(()) => 0,
        Err(error) => {
            fail(errno(pages, error, wanted));
            -1
        }
    }
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
    // SAFETY: the program's own call, as it stands.
    let kernels = move || unsafe {
        libc::syscall(libc::SYS_mmap, at, len, protection, flags, file as isize, offset) as *mut c_void
    };
    let Some(pages) = pages_of_program() else { return kernels() };
    let fixed = flags & libc::MAP_FIXED != 0;
    if fixed && pages.is_heap(span(at, len)) {
        return refused(libc::EINVAL);
    }
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let is_ours = flags & (libc::MAP_TYPE | libc::MAP_ANONYMOUS | NOT_PAGED) == kind;
    if let Some(access) = Access::of(protection).filter(|_| is_ours) {
        // Programs request far more than they use, without a flag for it.
        let flags = (flags & !kind | libc::MAP_NORESERVE) as u32;
        let wanted = MapRequest { at: at as usize, bytes: len, access, flags };
        // SAFETY: as the program promises it to the kernel.
        return match unsafe { pages.region().map(wanted) } {
            Ok(at) => at.cast(),
            Err(error) => refused(errno(pages, error, len)),
        };
    }
    if !fixed {
        return kernels();
    }
    // SAFETY: the call replaces that span or nothing.
    let mapped = unsafe { pages.region().replace(span(at, len), move || succeeded(kernels())) };
    mapped.unwrap_or(libc::MAP_FAILED)
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
    match pages_of_program() {
        Some(pages) if pages.is_heap(span(at, len)) => {
            fail(libc::EINVAL);
            -1
        }
        // SAFETY: as the program promises it to the kernel.
        Some(pages) => answer(pages, unsafe { pages.region().unmap(span(at, len)) }, 0),
        // SAFETY: the program's own call, as it stands.
        None => unsafe { libc::syscall(libc::SYS_munmap, at, len) as c_int },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(at: *mut c_void, len: size_t, protection: c_int) -> c_int {
    // SAFETY: the program's own call, as it stands.
    let kernels = || unsafe { libc::syscall(libc::SYS_mprotect, at, len, protection) as c_int };
    let (Some(pages), Some(access)) = (pages_of_program(), Access::of(protection)) else { return kernels() };
    let known = pages.region().known(span(at, len));
    if known.iter().all(|part| part.known == SpanState::Nothing) && !pages.is_heap(span(at, len)) {
        return kernels();
    }
    // Freed addresses of the heap belong to no mapping.
    if known.iter().any(|part| part.known == SpanState::Nothing && pages.is_heap(part.at.clone())) {
        fail(libc::ENOMEM);
        return -1;
    }
    // SAFETY: as the program promises it to the kernel.
    answer(pages, unsafe { pages.region().protect(span(at, len), access) }, len)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pkey_mprotect(at: *mut c_void, len: size_t, protection: c_int, key: c_int) -> c_int {
    // SAFETY: the program's own call, as it stands.
    let kernels =
        move || unsafe { libc::syscall(libc::SYS_pkey_mprotect, at, len, protection, key) as c_int };
    let Some(pages) = pages_of_program() else { return kernels() };
    if key == -1 {
        // SAFETY: the same call by its other name.
        return unsafe { mprotect(at, len, protection) };
    }
    if pages.is_heap(span(at, len)) || is_paged(pages, span(at, len)) {
        // Like a kernel without protection keys: paged memory moves between addresses without one.
        fail(libc::EINVAL);
        return -1;
    }
    // SAFETY: reserved memory there is the kernel's from now on; none of it was written yet.
    let done =
        unsafe { pages.region().replace(span(at, len), move || Some(kernels()).filter(|done| *done == 0)) };
    done.unwrap_or(-1)
}

fn is_paged(pages: &RegionPages, span: Range<usize>) -> bool {
    pages.region().known(span).iter().any(|part| part.known.is_paged())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mremap(
    at: *mut c_void,
    old: size_t,
    new: size_t,
    flags: c_int,
    target: *mut c_void,
) -> *mut c_void {
    // SAFETY: the program's own call, as it stands.
    let kernels =
        move || unsafe { libc::syscall(libc::SYS_mremap, at, old, new, flags, target) as *mut c_void };
    let Some(pages) = pages_of_program() else { return kernels() };
    let fixed = flags & libc::MREMAP_FIXED != 0;
    let (Some(had), Some(wanted)) = (round_up(old), round_up(new)) else { return refused(libc::EINVAL) };
    if pages.is_heap(span(at, had)) || fixed && pages.is_heap(span(target, wanted)) {
        return refused(libc::EINVAL);
    }
    let known = pages.region().known(span(at, had));
    if known.iter().all(|part| part.known == SpanState::Nothing) {
        let replaced = if fixed { span(target, wanted) } else { 0..0 };
        // SAFETY: the call replaces that span or nothing.
        let moved = unsafe { pages.region().replace(replaced, move || succeeded(kernels())) };
        return moved.unwrap_or(libc::MAP_FAILED);
    }
    let first = &known[0];
    let is_one = |part: &SpanPart| part.known.is_paged() && part.access == first.access;
    if known.len() > 1 && !known.iter().all(is_one) {
        return refused(libc::EFAULT);
    }
    let overlaps = fixed && (target as usize) < at as usize + had && (at as usize) < target as usize + wanted;
    let valid = wanted > 0 && (at as usize).is_multiple_of(PAGE) && flags & libc::MREMAP_DONTUNMAP == 0;
    if !valid || overlaps || fixed && flags & libc::MREMAP_MAYMOVE == 0 {
        return refused(libc::EINVAL);
    }
    // SAFETY: as the program promises it to the kernel.
    match unsafe { resize(pages, &known, wanted, flags, target) } {
        Ok(at) => at.cast(),
        Err(error) => refused(errno(pages, error, wanted)),
    }
}

/// # Safety
/// Like `mremap` for these parts, which are the region's and consecutive. All are paged, with the same rights; or there
/// is only one.
unsafe fn resize(
    pages: &RegionPages,
    parts: &[SpanPart],
    wanted: usize,
    flags: c_int,
    target: *mut c_void,
) -> Result<*mut u8, MappingError> {
    let (region, access) = (pages.region(), parts[0].access);
    let all = parts[0].at.start..parts[parts.len() - 1].at.end;
    let (had, at) = (all.len(), all.start as *mut u8);
    let fixed = flags & libc::MREMAP_FIXED != 0;
    let map = |at: usize, bytes, access, flags: c_int| {
        let wanted = MapRequest { at, bytes, access, flags: (flags | libc::MAP_NORESERVE) as u32 };
        // SAFETY: the caller's promise.
        unsafe { region.map(wanted) }
    };
    if !fixed && wanted <= had {
        if wanted < had {
            // SAFETY: the caller's promise.
            unsafe { region.unmap(all.start + wanted..all.end)? };
        }
        return Ok(at);
    }
    if !fixed {
        // In place, if there is room after it.
        let more = map(all.end, wanted - had, access, libc::MAP_FIXED_NOREPLACE);
        if flags & libc::MREMAP_MAYMOVE == 0 || !matches!(more, Err(MappingError::System(_))) {
            return more.map(|_| at).map_err(|error| match error {
                MappingError::Full => error,
                MappingError::System(_) => MappingError::OUT_OF_MEMORY,
            });
        }
    }
    let (to, fixing) = if fixed { (target, libc::MAP_FIXED) } else { (null_mut(), 0) };
    if parts[0].known == SpanState::Reserved {
        let moved = map(to as usize, wanted, access, fixing)?;
        // SAFETY: the caller's promise.
        unsafe { region.unmap(all)? };
        return Ok(moved);
    }
    let moved = map(to as usize, wanted, Access::READ_WRITE, fixing)?;
    // SAFETY: the caller's promise; both are live, distinct, and at least that long.
    unsafe {
        if access == Access::NONE {
            region.protect(all.clone(), Access::READ)?;
        }
        // Memory that was not accessed yet holds zeros there too.
        for part in parts.iter().filter(|part| part.known == SpanState::Paged) {
            let from = part.at.start - all.start;
            let len = part.at.len().min(wanted.saturating_sub(from));
            copy_nonoverlapping(at.add(from), moved.add(from.min(wanted)), len);
        }
        if access != Access::READ_WRITE {
            region.protect(moved as usize..moved as usize + wanted, access)?;
        }
        region.unmap(all)?;
    }
    Ok(moved)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn madvise(at: *mut c_void, len: size_t, advice: c_int) -> c_int {
    // SAFETY: the program's own call, for a part of its span.
    let kernels =
        |at: usize, len: usize| unsafe { libc::syscall(libc::SYS_madvise, at, len, advice) as c_int };
    let Some(pages) = pages_of_program().filter(|_| (at as usize).is_multiple_of(PAGE) && len > 0) else {
        return kernels(at as usize, len);
    };
    let mut failed = None;
    for SpanPart { at: part, known, .. } in pages.region().known(span(at, len)) {
        let done = if known.is_paged() {
            // SAFETY: as the program promises it to the kernel.
            unsafe { advise(pages, part, advice) }
        } else if pages.is_heap(part.clone()) {
            Err(libc::ENOMEM)
        } else if kernels(part.start, part.len()) != 0 {
            Err(errno::errno())
        } else {
            Ok(())
        };
        match done {
            Ok(()) => {}
            // Unmapped memory is skipped.
            Err(libc::ENOMEM) => failed = Some(libc::ENOMEM),
            Err(errno) => {
                failed = Some(errno);
                break;
            }
        }
    }
    let Some(errno) = failed else { return 0 };
    fail(errno);
    -1
}

/// # Safety
/// `madvise` for paged memory.
unsafe fn advise(pages: &RegionPages, part: Range<usize>, advice: c_int) -> Result<(), c_int> {
    /// The advice may discard contents, and ours must stay.
    const HARMLESS: [c_int; 19] = [
        libc::MADV_NORMAL,
        libc::MADV_RANDOM,
        libc::MADV_SEQUENTIAL,
        libc::MADV_WILLNEED,
        libc::MADV_FREE,
        libc::MADV_DONTFORK,
        libc::MADV_DOFORK,
        libc::MADV_MERGEABLE,
        libc::MADV_UNMERGEABLE,
        libc::MADV_HUGEPAGE,
        libc::MADV_NOHUGEPAGE,
        libc::MADV_DONTDUMP,
        libc::MADV_DODUMP,
        libc::MADV_WIPEONFORK,
        libc::MADV_KEEPONFORK,
        libc::MADV_COLD,
        libc::MADV_PAGEOUT,
        libc::MADV_POPULATE_READ,
        libc::MADV_POPULATE_WRITE,
    ];
    match advice {
        libc::MADV_DONTNEED | libc::MADV_DONTNEED_LOCKED => {
            // SAFETY: the caller's promise.
            unsafe { pages.region().discard_at(part) };
            Ok(())
        }
        // The kernel must not get this advice: pages would move between unequal mappings.
        _ if HARMLESS.contains(&advice) => Ok(()),
        _ => Err(libc::EINVAL),
    }
}
