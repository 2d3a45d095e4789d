//! The program's own static variables (`.data` and `.bss`) are paged too, as they stood before its `main`.
//!
//! Those of libraries are not: the C library's are used while a fault is served.

use crate::region_pages::PAGE;
use crate::say::say;
use lethe_pager::access::Access;
use lethe_pager::addresses::{MappingError, Wanted};
use lethe_pager::region::Region;
use libc::{c_int, c_void, dl_phdr_info, size_t};
use std::ops::Range;
use zeroize::Zeroizing;

/// Puts pages of the region in their place. Where they do not fit, they stay in the clear, and it is said.
///
/// # Errors
/// The system's; then they are half gone, and the program must not begin.
///
/// # Safety
/// The program has no thread but this one, and this library nothing there.
pub(crate) unsafe fn page(region: &Region) -> Result<(), MappingError> {
    let mut found: Vec<Range<usize>> = Vec::new();
    // SAFETY: `note` is called before the call returns, with the vector.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    for span in found {
        // SAFETY: the span is the program's, and may be read and written; the caller promises the rest.
        match unsafe { page_span(region, span.clone()) } {
            Err(MappingError::Full) => say_that_it_does_not_fit(&span),
            done => done?,
        }
    }
    Ok(())
}

/// # Safety
/// Memory that may be read and written, and that no thread but this one uses.
unsafe fn page_span(region: &Region, span: Range<usize>) -> Result<(), MappingError> {
    // SAFETY: the caller's promise.
    let held = unsafe { std::slice::from_raw_parts(span.start as *const u8, span.len()) };
    let held = Zeroizing::new(held.to_vec());
    let wanted = Wanted {
        at: span.start,
        bytes: span.len(),
        access: Access::READ_WRITE,
        flags: libc::MAP_FIXED as u32,
    };
    // SAFETY: the caller's promise. What was there is kept.
    unsafe { region.map(wanted)? };
    // A page of zeros is there without having been touched.
    for (nth, page) in held.chunks(PAGE).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
        // SAFETY: the pages stand there now.
        unsafe {
            let to = (span.start + nth * PAGE) as *mut u8;
            to.copy_from_nonoverlapping(page.as_ptr(), page.len());
        }
    }
    Ok(())
}

/// Notes the spans of the first object that is named, the program itself, which may be written when it runs.
unsafe extern "C" fn note(info: *mut dl_phdr_info, _: size_t, found: *mut c_void) -> c_int {
    // SAFETY: the loader gives a valid description, and `page` a vector.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Range<usize>>>()) };
    // SAFETY: so many headers are there.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr as usize;
    let span = |header: &libc::Elf64_Phdr| {
        let first = base.wrapping_add(header.p_vaddr as usize);
        first..first + header.p_memsz as usize
    };
    // The loader has made this read-only, as far as it fills whole pages.
    let relro = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO).map(span);
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        let span = span(header);
        let mut whole = span.start & !(PAGE - 1)..span.end.next_multiple_of(PAGE);
        if let Some(relro) = relro.as_ref().filter(|relro| span.contains(&relro.start)) {
            whole.start = whole.start.max(relro.end & !(PAGE - 1));
        }
        let rights = header.p_flags & (libc::PF_W | libc::PF_X);
        if rights == libc::PF_W && !whole.is_empty() {
            found.push(whole);
        }
    }
    1
}

fn say_that_it_does_not_fit(span: &Range<usize>) {
    let bytes = crate::start::size(span.len() as u64);
    say(&[
        &bytes,
        " of static variables do not fit into the heap and are not paged: give a larger --untrusted",
    ]);
}
