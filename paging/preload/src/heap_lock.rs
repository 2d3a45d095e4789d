//! A heap behind its lock, which a thread that forks keeps over the call: a child has the heap as it is then, whole.

use crate::fork_slot::ForkSlot;
use crate::this_thread::this_thread;
use dlmalloc::Dlmalloc;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The heap.
pub(crate) struct HeapLock<A: 'static> {
    heap: Mutex<Dlmalloc<A>>,
    /// The thread that has the lock, as the C library names it; 0 for none.
    owner: AtomicUsize,
    fork_slot: ForkSlot<HeapGuard<'static, A>>,
}

/// The heap, as long as one has it.
pub(crate) struct HeapGuard<'a, A> {
    heap: MutexGuard<'a, Dlmalloc<A>>,
    owner: &'a AtomicUsize,
}

impl<A> HeapLock<A> {
    /// An empty heap.
    pub(crate) const fn new(pages: A) -> Self {
        let heap = Mutex::new(Dlmalloc::new_with_allocator(pages));
        HeapLock { heap, owner: AtomicUsize::new(0), fork_slot: ForkSlot::new() }
    }

    /// Waits until nobody has it.
    pub(crate) fn lock(&self) -> HeapGuard<'_, A> {
        let heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(this_thread(), Ordering::Relaxed);
        HeapGuard { heap, owner: &self.owner }
    }

    /// Keeps every thread from the heap until [`release`](Self::release): for `fork`.
    pub(crate) fn retain(&'static self) {
        let held = self.lock();
        // SAFETY: whoever has the lock is alone with the place.
        unsafe { self.fork_slot.put(held) };
    }

    /// Lets every thread have the heap again.
    ///
    /// # Safety
    /// The calling thread has kept it, or is its copy in a child.
    pub(crate) unsafe fn release(&self) {
        // SAFETY: the caller's promise.
        drop(unsafe { self.fork_slot.take() });
    }

    /// Tells whether the calling thread has the lock already: it was interrupted by a signal's handler, and this is the
    /// handler.
    pub(crate) fn is_held_by_caller(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == this_thread()
    }
}

impl<A> Deref for HeapGuard<'_, A> {
    type Target = Dlmalloc<A>;

    fn deref(&self) -> &Dlmalloc<A> {
        &self.heap
    }
}

impl<A> DerefMut for HeapGuard<'_, A> {
    fn deref_mut(&mut self) -> &mut Dlmalloc<A> {
        &mut self.heap
    }
}

impl<A> Drop for HeapGuard<'_, A> {
    fn drop(&mut self) {
        self.owner.store(0, Ordering::Relaxed);
    }
}
