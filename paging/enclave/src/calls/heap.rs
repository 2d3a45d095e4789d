//! The program's heap: the memory of `brk`.

use crate::layout::PAGE;

/// The memory after the image, whose end moves.
#[derive(Debug)]
pub(crate) struct Heap {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Heap {
    /// An empty heap after an address, on a new page.
    pub(crate) fn behind(address: u64) -> Self {
        let start = address.next_multiple_of(PAGE);
        Heap { start, end: start }
    }
}
