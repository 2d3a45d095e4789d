//! The heap of the program: the memory that `brk` moves.

use crate::layout::PAGE;

/// The memory behind the image that grows and shrinks at its end.
#[derive(Debug)]
pub(crate) struct Heap {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Heap {
    /// An empty heap behind an address, on a page of its own.
    pub(crate) fn behind(address: u64) -> Self {
        let start = address.next_multiple_of(PAGE);
        Heap { start, end: start }
    }
}
