//! Pages, and page-aligned addresses.

use libc::{c_void, size_t};
use std::ops::Range;

/// Bytes of a page.
pub(crate) const PAGE: usize = ameles_pager::page::PAGE_BYTES;

/// Whole pages for this many bytes; `None` if that overflows.
pub(crate) fn round_up(bytes: usize) -> Option<usize> {
    Some(bytes.checked_add(PAGE - 1)? & !(PAGE - 1))
}

/// The addresses from one on, for this many bytes.
pub(crate) fn span(at: *mut c_void, len: size_t) -> Range<usize> {
    at as usize..(at as usize).saturating_add(len)
}
