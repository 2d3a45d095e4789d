//! Buffers that are used again: the data that moves between scheme and store is long, and comes in few lengths.

use alloc::vec::Vec;
use core::cell::RefCell;

/// The buffers that are not in use now.
#[derive(Debug, Default)]
pub(crate) struct Buffers(RefCell<Vec<Vec<u8>>>);

impl Buffers {
    /// A buffer of so many zeros.
    pub(crate) fn take(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.0.borrow_mut().pop().unwrap_or_default();
        buffer.clear();
        buffer.resize(bytes, 0);
        buffer
    }

    /// Keeps a buffer for the next caller that needs one.
    pub(crate) fn give_back(&self, buffer: Vec<u8>) {
        self.0.borrow_mut().push(buffer);
    }
}
