//! The poison flag of a scheme's state, and the futures that wait for the state to change.

use crate::concurrency::fifo_lock::FifoLock;
use crate::oram::OramError;
use crate::snapshot::full::SnapshotError;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::error::Error;
use core::future::poll_fn;
use core::mem;
use core::task::{Poll, Waker};

/// The poison flag of a scheme's state. It is set once an operation fails or is dropped half-way; from then on the
/// scheme refuses every operation.
#[derive(Debug, Default)]
pub(crate) struct PoisonFlag {
    poisoned: Cell<bool>,
    wakers: RefCell<Vec<Waker>>,
}

impl PoisonFlag {
    /// Returns [`OramError::Poisoned`] if an earlier operation failed or was dropped half-way.
    pub(crate) fn check<E: Error + 'static>(&self) -> Result<(), OramError<E>> {
        if self.poisoned.get() { Err(OramError::Poisoned) } else { Ok(()) }
    }

    /// Refuses a snapshot while an operation has or awaits one of the locks, and once the state is poisoned.
    ///
    /// # Errors
    /// [`SnapshotError::InFlight`], [`SnapshotError::Poisoned`].
    pub(crate) fn check_at_rest<P: Error + 'static, const N: usize>(
        &self,
        locks: [&FifoLock; N],
    ) -> Result<(), SnapshotError<P>> {
        if self.poisoned.get() {
            return Err(SnapshotError::Poisoned);
        }
        if locks.into_iter().all(FifoLock::is_free) { Ok(()) } else { Err(SnapshotError::InFlight) }
    }

    /// Begins an operation. The state is poisoned unless the caller [completes](PoisonOnDrop::complete) it.
    pub(crate) fn begin(&self) -> PoisonOnDrop<'_> {
        PoisonOnDrop(self)
    }

    /// Waits until a condition holds, and checks it again after every [change](Self::wake_waiters). Fails with
    /// [`OramError::Poisoned`] once the state is poisoned.
    pub(crate) async fn wait_until<E: Error + 'static>(
        &self,
        mut condition: impl FnMut() -> bool,
    ) -> Result<(), OramError<E>> {
        poll_fn(|context| {
            if self.poisoned.get() {
                return Poll::Ready(Err(OramError::Poisoned));
            }
            if condition() {
                return Poll::Ready(Ok(()));
            }
            let mut wakers = self.wakers.borrow_mut();
            if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                wakers.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// Wakes the futures that wait, so that they check their conditions again.
    pub(crate) fn wake_waiters(&self) {
        let wakers = mem::take(&mut *self.wakers.borrow_mut());
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The guard of an operation that has begun. Dropping it before it completes poisons the state and wakes the futures
/// that wait.
#[must_use]
pub(crate) struct PoisonOnDrop<'a>(&'a PoisonFlag);

impl PoisonOnDrop<'_> {
    /// Completes the operation: the state is not poisoned.
    pub(crate) fn complete(self) {
        mem::forget(self);
    }
}

impl Drop for PoisonOnDrop<'_> {
    fn drop(&mut self) {
        self.0.poisoned.set(true);
        self.0.wake_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;
    use core::pin::pin;
    use core::task::Context;

    #[test]
    fn an_operation_that_is_dropped_half_way_poisons_the_state_and_wakes_the_futures_that_wait() {
        let poison_flag = PoisonFlag::default();
        let mut context = Context::from_waker(Waker::noop());
        poison_flag.begin().complete();
        assert!(poison_flag.check::<Infallible>().is_ok());
        let mut wakers = pin!(poison_flag.wait_until::<Infallible>(|| false));
        assert!(wakers.as_mut().poll(&mut context).is_pending());
        drop(poison_flag.begin());
        assert!(poison_flag.wakers.borrow().is_empty(), "it was woken");
        assert!(matches!(wakers.as_mut().poll(&mut context), Poll::Ready(Err(OramError::Poisoned))));
        assert!(poison_flag.check::<Infallible>().is_err());
    }
}
