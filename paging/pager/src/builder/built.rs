//! A fault path that was built, with what it takes.

use crate::assembly::Platform;
use crate::fault::path::FaultPath;
use crate::linux::faults::Faults;
use crate::options::Meters;
use ameles_core::oram::Oram;
use ameles_seal::pages::{PageError, PagePool, SealedPages, SharedMemory, Versions};
use std::sync::Arc;

/// A fault path, and the trusted memory of its scheme and of sealing, in bytes.
pub(crate) struct Built {
    pub(crate) faults: Box<dyn Faults>,
    pub(crate) trusted_bytes: usize,
    /// The threads that share the work of a fault.
    pub(crate) threads: usize,
}

/// The threads and meters of a region.
pub(super) struct Equipment {
    pub(super) pool: Option<Arc<PagePool>>,
    /// Threads that share the work of a fault, if they are not the pool's.
    pub(super) beside: usize,
    pub(super) meters: Option<Meters>,
}

impl<M: SharedMemory> Platform<M> for Equipment {
    type Built = Built;

    fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.threads())
    }

    fn equip<V: Versions>(&self, pages: SealedPages<M, V>) -> SealedPages<M, V> {
        let pages = match self.meters {
            Some(meters) => pages.with_meter(meters.here),
            None => pages,
        };
        match &self.pool {
            Some(pool) => pages.with_pool(Arc::clone(pool)),
            None => pages,
        }
    }

    fn take<O>(self, path: FaultPath<O>, trusted_bytes: usize) -> Built
    where
        O: Oram<Error = PageError> + Send + 'static,
    {
        let threads = <Self as Platform<M>>::threads(&self) + self.beside;
        Built { faults: Box::new(path), trusted_bytes, threads }
    }
}
