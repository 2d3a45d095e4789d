//! The epochs of a scheme: accesses use its state one after the other, until a rebuild must come before the next one.

use crate::concurrency::fifo_lock::FifoLock;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::OramError;
use core::cell::{Cell, RefCell};
use core::error::Error;

/// A state that accesses and rebuilds use one after the other, in the order asked.
pub(crate) struct Epochs<T> {
    /// Accesses of an epoch, and those of the longest batch.
    length: u64,
    max_batch: u64,
    lock: FifoLock,
    poison_flag: PoisonFlag,
    /// Accesses of this epoch, those that still wait for the lock included, and those that were served.
    accesses: Cell<u64>,
    served: Cell<u64>,
    /// The state, unless an operation has taken it.
    state: RefCell<Option<T>>,
}

impl<T> Epochs<T> {
    /// Epochs of `length` accesses, at the beginning of the first one.
    pub(crate) fn new(length: u32, max_batch: u32, state: T) -> Self {
        let (lock, poison_flag, accesses, served) = <_>::default();
        let (length, max_batch) = (length.into(), max_batch.into());
        Epochs { length, max_batch, lock, poison_flag, accesses, served, state: RefCell::new(Some(state)) }
    }

    /// Returns whether the longest batch has no room before a rebuild. Public.
    pub(crate) fn must_end(&self) -> bool {
        self.accesses.get() + self.max_batch > self.length
    }

    /// Lends the state to the caller, unless an operation has taken it.
    pub(crate) fn with_state<L>(&self, with_state: impl FnOnce(&T) -> L) -> Option<L> {
        self.state.borrow().as_ref().map(with_state)
    }

    /// Serves a batch of `accesses` once it has the lock.
    ///
    /// # Errors
    /// [`OramError::Backlogged`] before anything is asked of the store, [`OramError::Poisoned`], the store's.
    pub(crate) async fn serve<E: Error + 'static>(
        &self,
        accesses: usize,
        serve: impl AsyncFnOnce(&mut T) -> Result<(), E>,
    ) -> Result<(), OramError<E>> {
        self.poison_flag.check()?;
        if self.must_end() {
            return Err(OramError::Backlogged);
        }
        self.accesses.update(|before| before + accesses as u64);
        let operation = self.poison_flag.begin();
        let _guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        let mut state = self.state.take().ok_or(OramError::Poisoned)?;
        serve(&mut state).await?;
        self.served.update(|before| before + accesses as u64);
        self.state.replace(Some(state));
        operation.complete();
        Ok(())
    }

    /// Carries out the rebuild that ends the epoch, if it is due.
    ///
    /// # Errors
    /// [`OramError::Poisoned`], the store's.
    pub(crate) async fn end<E: Error + 'static>(
        &self,
        rebuild: impl AsyncFnOnce(&mut T) -> Result<(), E>,
    ) -> Result<(), OramError<E>> {
        let _guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        if !self.must_end() {
            return Ok(());
        }
        let operation = self.poison_flag.begin();
        let mut state = self.state.take().ok_or(OramError::Poisoned)?;
        rebuild(&mut state).await?;
        self.accesses.update(|accesses| accesses - self.served.take());
        self.state.replace(Some(state));
        operation.complete();
        Ok(())
    }
}
