//! Pages the static variables (`.data` and `.bss`) of the program and of its libraries too, with their values from
//! before `main`.
//!
//! Those of libraries that handle faults are not paged. Those of libraries that the program loads later are not paged
//! either: the C library may unload them by its own calls.

use crate::loaded_objects;
use crate::own_threads;
use crate::page::PAGE;
use crate::serving_libraries::{Role, roles};
use crate::stderr::{format_size, write_line};
use ameles_pager::access::Access;
use ameles_pager::addresses::{MapRequest, MappingError};
use ameles_pager::region::Region;
use std::ops::Range;
use zeroize::Zeroizing;

/// Finds the spans of whole pages that may be paged. Called before the region and its threads exist.
///
/// # Safety
/// The program has not begun.
pub(crate) unsafe fn find() -> Vec<Range<usize>> {
    // SAFETY: the caller's promise.
    let (all, roles) = unsafe {
        let all = loaded_objects::all();
        let roles = roles(&all);
        (all, roles)
    };
    let Some(roles) = roles else {
        write_line(&[
            "static variables are not paged: the libraries that Ameles itself needs are not known by their names",
        ]);
        return Vec::new();
    };
    if own_threads::list_threads().is_ok_and(|threads| threads.len() > 1) {
        write_line(&[
            "static variables are not paged: a library has begun a thread before the program began",
        ]);
        return Vec::new();
    }
    let may_be_written = may_be_written();
    let mut found = Vec::new();
    for (one, role) in all.iter().zip(roles).filter(|(_, role)| *role != Role::Serves) {
        let excluded = if role == Role::Links { one.linkage_table() } else { 0..0 };
        for span in one.variables().into_iter().flat_map(|span| without(span, &excluded)) {
            // A library may have protected some of its own by now, or replaced it.
            let now = may_be_written.iter().map(|now| now.start.max(span.start)..now.end.min(span.end));
            found.extend(now.filter(|part| !part.is_empty()));
        }
    }
    found
}

/// Replaces the variables by pages of the region. If they do not fit, they stay unencrypted, and this is reported.
///
/// # Errors
/// The errors of the system. Then the variables are partly lost, and the program must not begin.
///
/// # Safety
/// [`find`] has found them, and the program has no thread but this one.
pub(crate) unsafe fn page(region: &Region, found: Vec<Range<usize>>) -> Result<(), MappingError> {
    let mut left_out = 0;
    for span in found {
        // SAFETY: the span may be read and written, and nobody does; the caller promises the rest.
        match unsafe { page_span(region, span.clone()) } {
            Err(MappingError::Full) => left_out += span.len(),
            done => done?,
        }
    }
    if left_out > 0 {
        let bytes = format_size(left_out as u64);
        write_line(&[
            &bytes,
            " of static variables do not fit into the heap and are not paged: give a larger --untrusted",
        ]);
    }
    Ok(())
}

/// # Safety
/// Memory that may be read and written, and that no thread but this one uses.
unsafe fn page_span(region: &Region, span: Range<usize>) -> Result<(), MappingError> {
    // SAFETY: the caller's promise.
    let held = unsafe { std::slice::from_raw_parts(span.start as *const u8, span.len()) };
    let held = Zeroizing::new(held.to_vec());
    let wanted = MapRequest {
        at: span.start,
        bytes: span.len(),
        access: Access::READ_WRITE,
        flags: libc::MAP_FIXED as u32,
    };
    // SAFETY: the caller's promise. The contents are kept.
    unsafe { region.map(wanted)? };
    // A page of zeros needs no access.
    for (nth, page) in held.chunks(PAGE).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
        // SAFETY: the pages are mapped now.
        unsafe {
            let to = (span.start + nth * PAGE) as *mut u8;
            to.copy_from_nonoverlapping(page.as_ptr(), page.len());
        }
    }
    Ok(())
}

fn without(span: Range<usize>, excluded: &Range<usize>) -> [Range<usize>; 2] {
    if excluded.start >= span.end || excluded.end <= span.start {
        return [span, 0..0];
    }
    [span.start..excluded.start.max(span.start), excluded.end.min(span.end)..span.end]
}

/// The private mappings that may be read and written, and not executed; none if they cannot be listed.
fn may_be_written() -> Vec<Range<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Range<usize>> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    rest.starts_with("rw-p ").then_some(address(start)?..address(end)?)
}
