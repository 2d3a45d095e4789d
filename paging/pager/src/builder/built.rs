//! A fault path as the builder returns it.

use crate::fault::path::FaultPath;
use crate::fault_path_builder::Platform;
use crate::linux::dyn_fault_path::DynFaultPath;
use crate::options::Meters;
use ameles_core::oram::Oram;
use ameles_seal::pages::{PageError, PagePool, SealedPages, SharedMemory, Versions};
use std::sync::Arc;

/// A fault path, with the trusted memory of its scheme and of sealing in bytes.
pub(crate) struct Built {
    pub(crate) fault_path: Box<dyn DynFaultPath>,
    pub(crate) trusted_bytes: usize,
    /// The threads that share the work of a fault.
    pub(crate) threads: usize,
}

/// The threads and meters of a region.
pub(super) struct Equipment {
    pub(super) pool: Option<Arc<PagePool>>,
    /// The number of threads that share the work of a fault and do not belong to the pool.
    pub(super) extra_threads: usize,
    pub(super) meters: Option<Meters>,
}

impl<M: SharedMemory> Platform<M> for Equipment {
    type Built = Built;

    fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.threads())
    }

    fn equip<V: Versions>(&self, pages: SealedPages<M, V>) -> SealedPages<M, V> {
        let pages = match self.meters {
            Some(meters) => pages.with_meter(meters.program),
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
        let threads = <Self as Platform<M>>::threads(&self) + self.extra_threads;
        Built { fault_path: Box::new(path), trusted_bytes, threads }
    }
}
