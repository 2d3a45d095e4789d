//! The wait for room in a full store. A write that finds no room is repeated, the same bytes under the same name, until
//! it succeeds. Versions that nothing needs are deleted first. Meanwhile the vault refuses writes, and it refuses reads
//! when nothing makes progress any more.

use ameles_core::store::UntrustedError;
use ameles_store::BlobError;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

/// The time between two attempts.
pub(crate) const RETRY_EVERY: Duration = Duration::from_secs(2);

/// The space in a store.
#[derive(Debug, Default)]
pub(crate) struct StoreSpace {
    /// True while the vault is served. An opening and a stop do not wait.
    waits: AtomicBool,
    is_full: AtomicBool,
    is_stuck: AtomicBool,
    /// True while versions that nothing needs are deleted.
    is_freeing: AtomicBool,
    /// Signals that a write has found no room, so that unneeded versions are deleted.
    full_notify: Notify,
}

/// The figures of the space in a store. Public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFigures {
    /// True if the store has no room for pending writes: the vault refuses writes.
    pub is_full: bool,
    /// True if the vault refuses reads too: pending writes must succeed first.
    pub refuses_reads: bool,
}

impl StoreSpace {
    /// Sets whether writes wait for room.
    pub(crate) fn wait(&self, waits: bool) {
        self.waits.store(waits, Ordering::Relaxed);
    }

    /// Returns whether a write waits for room.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Returns whether an access was found to wait for room since the store became full.
    pub(crate) fn is_stuck(&self) -> bool {
        self.is_full() && self.is_stuck.load(Ordering::Relaxed)
    }

    /// Records that an access waits for room.
    pub(crate) fn set_stuck(&self) {
        self.is_stuck.store(true, Ordering::Relaxed);
    }

    /// The current figures.
    pub(crate) fn figures(&self) -> StoreFigures {
        StoreFigures { is_full: self.is_full(), refuses_reads: self.is_stuck() }
    }

    /// Waits until a write finds no room.
    pub(crate) async fn wait_until_full(&self) {
        self.full_notify.notified().await;
    }

    /// Sets whether a deletion is running. No write is repeated meanwhile.
    pub(crate) fn set_freeing(&self, is_freeing: bool) {
        self.is_freeing.store(is_freeing, Ordering::Relaxed);
    }

    /// Sends a request, and repeats it while the store has no room.
    pub(crate) async fn retry_until_space<T, E: LacksSpace>(
        &self,
        request: impl AsyncFn() -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            match request().await {
                Err(error) if error.lacks_space() && self.waits.load(Ordering::Relaxed) => {
                    if !self.is_full.swap(true, Ordering::Relaxed) {
                        tracing::warn!(
                            "the store is full: writes are refused until it has room; free some space in it"
                        );
                    }
                    self.full_notify.notify_one();
                    self.until_next().await;
                }
                done => {
                    if done.is_ok() && self.is_full.swap(false, Ordering::Relaxed) {
                        self.is_stuck.store(false, Ordering::Relaxed);
                        tracing::info!("the store has room again: writes are accepted");
                    }
                    return done;
                }
            }
        }
    }

    /// Waits until the next attempt. A running deletion ends first.
    async fn until_next(&self) {
        sleep(RETRY_EVERY).await;
        while self.is_freeing.load(Ordering::Relaxed) && self.waits.load(Ordering::Relaxed) {
            sleep(RETRY_EVERY / 8).await;
        }
    }
}

/// An error that may mean that there is no room.
pub(crate) trait LacksSpace {
    fn lacks_space(&self) -> bool;
}

impl LacksSpace for UntrustedError {
    fn lacks_space(&self) -> bool {
        matches!(self, UntrustedError::Refused(why) if is_of_space(&**why))
    }
}

impl LacksSpace for BlobError {
    fn lacks_space(&self) -> bool {
        matches!(self, BlobError::Store(below) if below.lacks_space())
    }
}

fn is_of_space(error: &(dyn Error + 'static)) -> bool {
    let is_full = |kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(|error| is_full(error.kind())) {
            return true;
        }
        next = error.source();
    }
    false
}
