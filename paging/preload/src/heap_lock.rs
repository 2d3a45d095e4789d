//! A heap behind its lock, which a thread that forks keeps over the call: a child has the heap as it is then, whole.

use crate::kept::Kept;
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
    kept: Kept<Held<'static, A>>,
}

/// The heap, as long as one has it.
pub(crate) struct Held<'a, A> {
    heap: MutexGuard<'a, Dlmalloc<A>>,
    owner: &'a AtomicUsize,
}

impl<A> HeapLock<A> {
    /// An empty heap.
    pub(crate) const fn new(pages: A) -> Self {
        let heap = Mutex::new(Dlmalloc::new_with_allocator(pages));
        HeapLock { heap, owner: AtomicUsize::new(0), kept: Kept::new() }
    }

    /// Waits until nobody has it.
    pub(crate) fn lock(&self) -> Held<'_, A> {
        let heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(this_thread(), Ordering::Relaxed);
        Held { heap, owner: &self.owner }
    }

    /// Keeps every thread from the heap until [`let_go`](Self::let_go): for `fork`.
    pub(crate) fn keep(&'static self) {
        let held = self.lock();
        // SAFETY: whoever has the lock is alone with the place.
        unsafe { self.kept.put(held) };
    }

    /// Lets every thread have the heap again.
    ///
    /// # Safety
    /// The calling thread has kept it, or is its copy in a child.
    pub(crate) unsafe fn let_go(&self) {
        // SAFETY: the caller's promise.
        drop(unsafe { self.kept.take() });
    }

    /// Tells whether the calling thread has the lock already: it was interrupted by a signal's handler, and this is the
    /// handler.
    pub(crate) fn is_mine(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == this_thread()
    }
}

impl<A> Deref for Held<'_, A> {
    type Target = Dlmalloc<A>;

    fn deref(&self) -> &Dlmalloc<A> {
        &self.heap
    }
}

impl<A> DerefMut for Held<'_, A> {
    fn deref_mut(&mut self) -> &mut Dlmalloc<A> {
        &mut self.heap
    }
}

impl<A> Drop for Held<'_, A> {
    fn drop(&mut self) {
        self.owner.store(0, Ordering::Relaxed);
    }
}
