//! State that one thread keeps from before `fork` until after it.

use std::cell::UnsafeCell;

/// A slot for this state. The child has it too.
pub(crate) struct ForkSlot<T>(UnsafeCell<Option<T>>);

// SAFETY: the two functions require that the caller is the only user.
unsafe impl<T> Sync for ForkSlot<T> {}

impl<T> ForkSlot<T> {
    /// An empty slot.
    pub(crate) const fn new() -> Self {
        ForkSlot(UnsafeCell::new(None))
    }

    /// Fills the slot.
    ///
    /// # Safety
    /// There is no other user of the slot meanwhile.
    pub(crate) unsafe fn put(&self, value: T) {
        // SAFETY: the caller's promise.
        unsafe { *self.0.get() = Some(value) };
    }

    /// Empties the slot.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    pub(crate) unsafe fn take(&self) -> Option<T> {
        // SAFETY: the caller's promise.
        unsafe { (*self.0.get()).take() }
    }
}
