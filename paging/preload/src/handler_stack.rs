//! The pager's own stack, on which threads may hold locks that faults need.

use ameles_pager::region::Region;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The addresses of the pager's own stack, once there is one.
static STACK: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Returns whether the calling thread is on the pager's own stack, where it may hold locks that faults need. Accesses
/// nothing that may be paged.
pub(crate) fn is_on_handler_stack() -> bool {
    let here = 0_u8;
    let [start, end] = [0, 1].map(|at| STACK[at].load(Ordering::Relaxed));
    (start..end).contains(&(&raw const here as usize))
}

/// Sets the addresses of the stack: a child after `fork` has another.
pub(crate) fn record_stack(region: &Region) {
    let Range { start, end } = region.handler_stack();
    STACK[0].store(start, Ordering::Relaxed);
    STACK[1].store(end, Ordering::Relaxed);
}
