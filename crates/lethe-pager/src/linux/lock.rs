//! A lock for fault paths: it may be waited for in a signal handler, allocates nothing, and no application code runs
//! while it is held.
#![allow(unsafe_code, reason = "a lock is made of an UnsafeCell; the argument stands beside it")]

use rustix::thread::futex;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody sleeps until it is free.
const AWAITED: u32 = 2;

/// Looks before a waiter sleeps: as long as a fault lasts, about.
const LOOKS: u32 = 200;

pub(crate) struct Lock<T> {
    state: AtomicU32,
    /// Faults that want it. Off-line work keeps away while there are any.
    faults: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: `with` and `try_with` hand out the value only to the one thread that has set the state from FREE.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Lock { state: AtomicU32::new(FREE), faults: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Acts alone, before all off-line work. The caller cannot be interrupted by code that wants the lock too.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        self.faults.fetch_add(1, Ordering::Relaxed);
        self.take();
        self.faults.fetch_sub(1, Ordering::Relaxed);
        let _held = Held(&self.state);
        // SAFETY: the lock is held until `_held` is dropped.
        act(unsafe { &mut *self.value.get() })
    }

    /// Acts alone if nobody else does or wants to.
    pub(crate) fn try_with<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.faults.load(Ordering::Relaxed) != 0 {
            return None;
        }
        self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let _held = Held(&self.state);
        // SAFETY: as in `with`.
        Some(act(unsafe { &mut *self.value.get() }))
    }

    fn take(&self) {
        for _ in 0..LOOKS {
            if self.state.compare_exchange_weak(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return;
            }
            spin_loop();
        }
        while self.state.swap(AWAITED, Ordering::Acquire) != FREE {
            // Woken, interrupted, or changed before we slept: look again in any case.
            let _ = futex::wait(&self.state, futex::Flags::PRIVATE, AWAITED, None);
        }
    }
}

struct Held<'a>(&'a AtomicU32);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.0.swap(FREE, Ordering::Release) == AWAITED {
            // The futex is there as long as we borrow it: waking cannot fail.
            let _ = futex::wake(self.0, futex::Flags::PRIVATE, 1);
        }
    }
}
