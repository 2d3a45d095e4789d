//! The limit of requests at work at a time, over all listeners.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places for requests at work. Clones share them, so that several listeners have one bound.
///
/// A request that finds no place is refused at once: a queue would only grow while nothing gets faster. Which request
/// that is depends on how many there are, and on nothing that it asks.
#[derive(Clone, Debug)]
pub struct Admission {
    places: Arc<Semaphore>,
}

/// A place among the requests at work; free again when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _permit: OwnedSemaphorePermit,
}

impl Admission {
    /// So many requests, at least one.
    pub fn new(requests: usize) -> Self {
        Admission { places: Arc::new(Semaphore::new(requests.clamp(1, Semaphore::MAX_PERMITS))) }
    }

    /// A place, if there is one.
    pub(crate) fn enter(&self) -> Option<Permit> {
        let permit = Arc::clone(&self.places).try_acquire_owned();
        permit.ok().map(|permit| Permit { _permit: permit })
    }
}

/// 128 requests.
impl Default for Admission {
    fn default() -> Self {
        Admission::new(128)
    }
}
