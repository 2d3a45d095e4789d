//! Calls of the C library while no thread is bound to a processor: what they start inherits nothing of that, and what
//! they tell says nothing of it.

use crate::next::next;
use crate::region_pages::programs;
use std::ffi::CStr;

/// Calls the C library while no thread is bound to a processor.
pub(crate) fn start<F: Copy, R>(name: &CStr, failed: R, call: impl FnOnce(F) -> R) -> R {
    match (next(name), programs()) {
        (Some(started), Some(pages)) => pages.region().free_threads(|| call(started)),
        (Some(started), None) => call(started),
        (None, _) => failed,
    }
}
