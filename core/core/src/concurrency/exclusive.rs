//! The lock and the poison flag of a scheme whose accesses and steps wait for one another.

use crate::concurrency::fifo_lock::FifoLock;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::admission;
use crate::oram::{Access, Oram, OramError};
use crate::snapshot::full::SnapshotError;
use core::error::Error;

/// Runs one operation at a time, in the order asked. An operation that fails or is dropped half-way poisons it: it
/// refuses every later one.
#[derive(Default)]
pub(crate) struct Exclusive {
    lock: FifoLock,
    poison_flag: PoisonFlag,
}

impl Exclusive {
    /// Makes room for this many operations, in flight or waiting: up to these it allocates nothing.
    pub(crate) fn with_room(operations: usize) -> Self {
        Exclusive { lock: FifoLock::with_room(operations), poison_flag: PoisonFlag::default() }
    }

    /// Checks a batch, and serves it once it has the lock.
    ///
    /// # Errors
    /// The errors of [`check_batch`](admission::check_batch), [`OramError::Backlogged`], [`OramError::Poisoned`]; those
    /// of `serve`.
    pub(crate) async fn access<O: Oram>(
        &self,
        oram: &O,
        batch: &mut [Access<'_>],
        serve: impl AsyncFnOnce(&mut [Access<'_>]) -> Result<(), OramError<O::Error>>,
    ) -> Result<(), OramError<O::Error>> {
        if !admission::check_batch(batch, oram.bounds())? {
            return Ok(());
        }
        self.access_blocks(oram, async || serve(batch).await).await
    }

    /// Serves accesses, which need no check, once they have the lock.
    ///
    /// # Errors
    /// [`OramError::Backlogged`], [`OramError::Poisoned`]; the errors of `serve`.
    pub(crate) async fn access_blocks<O: Oram>(
        &self,
        oram: &O,
        serve: impl AsyncFnOnce() -> Result<(), OramError<O::Error>>,
    ) -> Result<(), OramError<O::Error>> {
        let _guard = self.lock.acquire().await;
        let operation = admission::begin(oram, &self.poison_flag)?;
        serve().await?;
        operation.complete();
        Ok(())
    }

    /// Does a step of the pending work once it has the lock.
    ///
    /// # Errors
    /// [`OramError::Poisoned`]; the errors of `work`.
    pub(crate) async fn step<E: Error + 'static>(
        &self,
        work: impl AsyncFnOnce() -> Result<(), OramError<E>>,
    ) -> Result<(), OramError<E>> {
        let _guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        let operation = self.poison_flag.begin();
        work().await?;
        operation.complete();
        Ok(())
    }

    /// Refuses a snapshot while an operation is in flight, and after one that failed or was dropped half-way.
    ///
    /// # Errors
    /// [`SnapshotError::InFlight`], [`SnapshotError::Poisoned`].
    pub(crate) fn check_at_rest<P: Error + 'static>(&self) -> Result<(), SnapshotError<P>> {
        self.poison_flag.check_at_rest([&self.lock])
    }

    /// The poison flag.
    pub(crate) fn poison_flag(&self) -> &PoisonFlag {
        &self.poison_flag
    }
}
