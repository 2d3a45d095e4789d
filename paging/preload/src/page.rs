//! Pages, and page-aligned addresses.

use libc::{c_void, size_t};
use std::ops::Range;

/// The size of a page in bytes.
pub(crate) const PAGE: usize = ameles_pager::page::PAGE_BYTES;

/// Whole pages for this many bytes; `None` if that overflows.
pub(crate) fn round_up(bytes: usize) -> Option<usize> {
    Some(bytes.checked_add(PAGE - 1)? & !(PAGE - 1))
}

/// The addresses from one on, for this many bytes.
pub(crate) fn span(at: *mut c_void, len: size_t) -> Range<usize> {
    at as usize..(at as usize).saturating_add(len)
}

/// The methods that an `Allocator` of whole pages has if the pages hold zeros and are never moved.
macro_rules! fixed_zero_pages {
    () => {
        fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
            std::ptr::null_mut()
        }

        fn allocates_zeros(&self) -> bool {
            true
        }

        fn page_size(&self) -> usize {
            crate::page::PAGE
        }
    };
}
pub(crate) use fixed_zero_pages;
