//! Calls of the C library while no thread is bound to a processor. The processes that they start do not inherit the
//! binding, and their results do not show it.

use crate::libc_next::libc_next;
use crate::region_pages::pages_of_program;
use std::ffi::CStr;

/// Calls the C library while no thread is bound to a processor.
pub(crate) fn call_without_affinity<F: Copy, R>(name: &CStr, failed: R, call: impl FnOnce(F) -> R) -> R {
    match (libc_next(name), pages_of_program()) {
        (Some(started), Some(pages)) => pages.region().with_unbound_threads(|| call(started)),
        (Some(started), None) => call(started),
        (None, _) => failed,
    }
}
