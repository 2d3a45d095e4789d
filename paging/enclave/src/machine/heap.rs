//! The runtime's own heap, in private memory that nothing else uses.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use spinning_top::RawSpinlock;
use talc::TalcLock;
use talc::source::Manual;

#[global_allocator]
static HEAP: TalcLock<RawSpinlock, Manual> = TalcLock::new(Manual);

static IS_THERE: AtomicBool = AtomicBool::new(false);

/// Returns whether there is a heap.
pub(super) fn is_there() -> bool {
    IS_THERE.load(Ordering::Relaxed)
}

/// Gives memory to the heap.
///
/// # Safety
/// Only the heap uses the memory from now on.
pub(super) unsafe fn give(addresses: Range<usize>) {
    if !addresses.is_empty() {
        let start = core::ptr::with_exposed_provenance_mut(addresses.start);
        IS_THERE.store(true, Ordering::Relaxed);
        // SAFETY: the caller has it.
        unsafe { HEAP.lock().claim(start, addresses.len()) };
    }
}
