//! A lock for fault paths: a signal handler may wait for it, it allocates nothing, and no application code runs while
//! it is held.
#![allow(unsafe_code, reason = "a lock is made of an UnsafeCell; the argument is next to it")]

use rustix::thread::futex;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
/// The state of a lock that is held while a thread sleeps until it is free.
const CONTENDED: u32 = 2;
/// The state of a lock that is held beyond the call that took it, by a thread that is about to fork.
const KEPT: u32 = 3;

/// The number of polls before a waiter sleeps: about as long as a fault.
const SPINS: u32 = 200;

pub(crate) struct Lock<T> {
    state: AtomicU32,
    /// The number of faults that wait for it. Offline work does not take it while there are any.
    faults: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: `with` and `try_with` give access to the value only to the one thread that has set the state from FREE.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Lock { state: AtomicU32::new(UNLOCKED), faults: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Runs `act` with the lock, before all offline work. The caller cannot be interrupted by code that needs the lock
    /// too.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        self.lock(false);
        let _held = LockGuard(&self.state);
        // SAFETY: the lock is held until `_held` is dropped.
        act(unsafe { &mut *self.value.get() })
    }

    /// Does the same as [`with`](Self::with), or returns `None` if the lock is kept.
    pub(crate) fn with_unless_kept<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        if !self.lock(true) {
            return None;
        }
        let _held = LockGuard(&self.state);
        // SAFETY: as in `with`.
        Some(act(unsafe { &mut *self.value.get() }))
    }

    /// Does the same as [`with`](Self::with), and keeps the lock locked: other threads wait until
    /// [`unlock_kept`](Self::unlock_kept).
    pub(crate) fn lock_and_keep<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        self.lock(false);
        let held = LockGuard(&self.state);
        // SAFETY: as in `with`.
        let outcome = act(unsafe { &mut *self.value.get() });
        std::mem::forget(held);
        if self.state.swap(KEPT, Ordering::Release) == CONTENDED {
            // Wakes those who must not wait until it is released.
            self.wake(u32::MAX);
        }
        outcome
    }

    /// The value of a lock that is kept.
    ///
    /// # Safety
    /// No other thread uses the value: the thread that keeps the lock waits, or is the caller.
    #[expect(clippy::mut_from_ref, reason = "it lies in an UnsafeCell, and the caller promises to be alone")]
    pub(crate) unsafe fn value_while_kept(&self) -> &mut T {
        // SAFETY: the caller promises it.
        unsafe { &mut *self.value.get() }
    }

    /// Returns whether a thread keeps the lock now.
    pub(crate) fn is_kept(&self) -> bool {
        self.state.load(Ordering::Relaxed) == KEPT
    }

    /// Unlocks a kept lock.
    pub(crate) fn unlock_kept(&self) {
        self.state.store(UNLOCKED, Ordering::Release);
        self.wake(u32::MAX);
    }

    /// Runs `act` with the lock if it is free and no fault waits for it.
    pub(crate) fn try_with<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.faults.load(Ordering::Relaxed) != 0 {
            return None;
        }
        self.state.compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let _held = LockGuard(&self.state);
        // SAFETY: as in `with`.
        Some(act(unsafe { &mut *self.value.get() }))
    }

    /// Waits for the lock. Returns whether it was taken: always, except if `unless_kept` and another thread keeps it.
    fn lock(&self, unless_kept: bool) -> bool {
        self.faults.fetch_add(1, Ordering::Relaxed);
        let locked = self.spin() || self.wait(unless_kept);
        self.faults.fetch_sub(1, Ordering::Relaxed);
        locked
    }

    fn spin(&self) -> bool {
        for _ in 0..SPINS {
            if self
                .state
                .compare_exchange_weak(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return true;
            }
            if self.is_kept() {
                return false;
            }
            spin_loop();
        }
        false
    }

    fn wait(&self, unless_kept: bool) -> bool {
        loop {
            let now = self.state.load(Ordering::Relaxed);
            match now {
                KEPT if unless_kept => return false,
                // Other threads may sleep as well.
                UNLOCKED | LOCKED => {
                    let order = if now == UNLOCKED { Ordering::Acquire } else { Ordering::Relaxed };
                    let changed =
                        self.state.compare_exchange(now, CONTENDED, order, Ordering::Relaxed).is_ok();
                    if changed && now == UNLOCKED {
                        return true;
                    }
                }
                // Woken, interrupted, or changed before we slept: check again in any case.
                _ => drop(futex::wait(&self.state, futex::Flags::PRIVATE, now, None)),
            }
        }
    }

    fn wake(&self, max: u32) {
        // The futex lives as long as the borrow: waking cannot fail.
        let _ = futex::wake(&self.state, futex::Flags::PRIVATE, max);
    }
}

struct LockGuard<'a>(&'a AtomicU32);

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        if self.0.swap(UNLOCKED, Ordering::Release) == CONTENDED {
            // The futex lives as long as the borrow: waking cannot fail.
            let _ = futex::wake(self.0, futex::Flags::PRIVATE, 1);
        }
    }
}
