//! The epochs of a scheme: accesses use its state one after the other, until a rebuild must come before the next one.

use crate::concurrency::fifo_lock::FifoLock;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use core::cell::{Cell, RefCell};
use core::error::Error;

/// A state that accesses and rebuilds use one after the other, in the order asked.
pub struct Epochs<T> {
    /// The number of accesses of an epoch.
    length: u64,
    bounds: Bounds,
    lock: FifoLock,
    poison_flag: PoisonFlag,
    /// The accesses of this epoch, those that still wait for the lock included, and those that were served.
    accesses: Cell<u64>,
    served: Cell<u64>,
    /// The state, unless an operation has taken it.
    state: RefCell<Option<T>>,
}

impl<T> Epochs<T> {
    /// Epochs of `length` accesses, at the beginning of the first one.
    pub(crate) fn new(length: u32, bounds: Bounds, state: T) -> Self {
        let (lock, poison_flag, accesses, served) = <_>::default();
        let state = RefCell::new(Some(state));
        Epochs { length: length.into(), bounds, lock, poison_flag, accesses, served, state }
    }

    /// Returns whether the longest batch has no room before a rebuild. Public.
    fn must_end(&self) -> bool {
        self.accesses.get() + self.bounds.max_batch as u64 > self.length
    }

    /// Lends the state to the caller, unless an operation has taken it.
    pub(crate) fn with_state<L>(&self, with_state: impl FnOnce(&T) -> L) -> Option<L> {
        self.state.borrow().as_ref().map(with_state)
    }
}

/// A scheme whose accesses use a state until it must be rebuilt.
#[allow(async_fn_in_trait, reason = "one thread drives a scheme; its futures need not be Send")]
pub trait EpochScheme {
    /// The scheme's state between two rebuilds.
    type State;
    /// The store's error.
    type StoreError: Error + 'static;

    /// Returns the epochs of the scheme.
    fn epochs(&self) -> &Epochs<Self::State>;

    /// Serves a batch of at least one access, which was checked.
    async fn serve(&self, state: &mut Self::State, batch: &mut [Access<'_>]) -> Result<(), Self::StoreError>;

    /// Rebuilds the state, which ends the epoch.
    async fn rebuild(&self, state: &mut Self::State) -> Result<(), Self::StoreError>;
}

impl<O: EpochScheme> Oram for O {
    type Error = O::StoreError;

    fn bounds(&self) -> Bounds {
        self.epochs().bounds
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<O::StoreError>> {
        if !admission::check_batch(batch, self.bounds())? {
            return Ok(());
        }
        let epochs = self.epochs();
        epochs.poison_flag.check()?;
        if epochs.must_end() {
            return Err(OramError::Backlogged);
        }
        let accesses = batch.len() as u64;
        epochs.accesses.update(|before| before + accesses);
        let operation = epochs.poison_flag.begin();
        let _guard = epochs.lock.acquire().await;
        epochs.poison_flag.check()?;
        let mut state = epochs.state.take().ok_or(OramError::Poisoned)?;
        self.serve(&mut state, batch).await?;
        epochs.served.update(|before| before + accesses);
        epochs.state.replace(Some(state));
        operation.complete();
        Ok(())
    }

    fn pending_steps(&self) -> u64 {
        u64::from(self.must_step())
    }

    fn must_step(&self) -> bool {
        self.epochs().must_end()
    }

    /// Carries out the rebuild that ends the epoch, if it is due.
    async fn step(&self) -> Result<(), OramError<O::StoreError>> {
        let epochs = self.epochs();
        let _guard = epochs.lock.acquire().await;
        epochs.poison_flag.check()?;
        if !epochs.must_end() {
            return Ok(());
        }
        let operation = epochs.poison_flag.begin();
        let mut state = epochs.state.take().ok_or(OramError::Poisoned)?;
        self.rebuild(&mut state).await?;
        epochs.accesses.update(|accesses| accesses - epochs.served.take());
        epochs.state.replace(Some(state));
        operation.complete();
        Ok(())
    }
}
