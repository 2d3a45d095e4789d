//! A heap behind its lock, which a thread that forks keeps during the call: a child has a consistent copy of the heap.

use crate::fork_slot::ForkSlot;
use crate::this_thread::this_thread;
use dlmalloc::Dlmalloc;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The heap.
pub(crate) struct HeapLock<A: 'static> {
    heap: Mutex<Dlmalloc<A>>,
    /// The thread that holds the lock, as the C library identifies it; 0 for none.
    owner: AtomicUsize,
    fork_slot: ForkSlot<HeapGuard<'static, A>>,
}

/// Access to the heap while its lock is held.
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

    /// Waits until no thread holds the lock.
    pub(crate) fn lock(&self) -> HeapGuard<'_, A> {
        let heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(this_thread(), Ordering::Relaxed);
        HeapGuard { heap, owner: &self.owner }
    }

    /// Locks the heap until [`release`](Self::release): for `fork`.
    pub(crate) fn retain(&'static self) {
        let held = self.lock();
        // SAFETY: the holder of the lock is the only user of the slot.
        unsafe { self.fork_slot.put(held) };
    }

    /// Unlocks the heap.
    ///
    /// # Safety
    /// The calling thread has locked it, or is its copy in a child.
    pub(crate) unsafe fn release(&self) {
        // SAFETY: the caller's promise.
        drop(unsafe { self.fork_slot.take() });
    }

    /// Returns whether the calling thread holds the lock already: it was interrupted by a signal handler, and this is
    /// the handler.
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
