//! The things that one thread keeps from before `fork` until after it.

use std::cell::UnsafeCell;

/// A place for it. In the child it is there too.
pub(crate) struct ForkSlot<T>(UnsafeCell<Option<T>>);

// SAFETY: the two functions want that the caller is alone with it.
unsafe impl<T> Sync for ForkSlot<T> {}

impl<T> ForkSlot<T> {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        ForkSlot(UnsafeCell::new(None))
    }

    /// Puts something there.
    ///
    /// # Safety
    /// Nobody else uses the place meanwhile.
    pub(crate) unsafe fn put(&self, value: T) {
        // SAFETY: the caller's promise.
        unsafe { *self.0.get() = Some(value) };
    }

    /// Takes what is there.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    pub(crate) unsafe fn take(&self) -> Option<T> {
        // SAFETY: the caller's promise.
        unsafe { (*self.0.get()).take() }
    }
}
