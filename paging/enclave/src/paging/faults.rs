//! The fault path over any scheme, with its type erased.

use super::frames::ProgramFrames;
use crate::processor::Processor;
use alloc::boxed::Box;
use ameles_core::oram::{Oram, OramError};
use ameles_pager::fault::counters::Counters;
use ameles_pager::fault::error::FaultError;
use ameles_pager::fault::path::{FaultOutcome, FaultPath};
use ameles_pager::fault_path_builder::Platform;
use ameles_seal::pages::{PageError, PageMeter, SealedPages, SharedMemory, Versions, Workers};
use core::convert::Infallible;
use core::ops::Range;

/// The reason why a page cannot be paged in.
pub type PagingError = FaultError<PageError, Infallible>;

/// A fault path over any scheme.
pub(crate) trait Faults<P> {
    fn fault(&mut self, page: u64, frames: &mut ProgramFrames<P>) -> Result<FaultOutcome, PagingError>;
    fn discard(&mut self, pages: Range<u64>, frames: &mut ProgramFrames<P>) -> Result<(), PagingError>;
    fn step(&mut self, frames: &ProgramFrames<P>) -> Result<(), PagingError>;
    fn pending_steps(&self) -> u64;
    fn counters(&self) -> Counters;
    fn trusted_bytes(&self) -> usize;
}

impl<P: Processor, O: Oram<Error = PageError>> Faults<P> for FaultPath<O> {
    fn fault(&mut self, page: u64, frames: &mut ProgramFrames<P>) -> Result<FaultOutcome, PagingError> {
        FaultPath::fault(self, page, frames)
    }

    fn discard(&mut self, pages: Range<u64>, frames: &mut ProgramFrames<P>) -> Result<(), PagingError> {
        FaultPath::discard(self, pages, frames)
    }

    fn step(&mut self, frames: &ProgramFrames<P>) -> Result<(), PagingError> {
        FaultPath::step(self, frames)
    }

    fn pending_steps(&self) -> u64 {
        FaultPath::pending_steps(self)
    }

    fn counters(&self) -> Counters {
        *FaultPath::counters(self)
    }

    fn trusted_bytes(&self) -> usize {
        FaultPath::trusted_bytes(self)
    }
}

/// A fault path, and the trusted bytes of its scheme and of sealing.
pub(crate) struct Built<P> {
    pub(crate) faults: Box<dyn Faults<P>>,
    pub(crate) trusted_bytes: usize,
}

/// The enclave, as a platform of the pager.
pub(crate) struct Enclave {
    pub(crate) meter: Option<&'static PageMeter>,
    pub(crate) workers: Option<&'static dyn Workers>,
}

/// The platform with its processor type.
pub(crate) struct PlatformOn<P>(pub(crate) Enclave, pub(crate) core::marker::PhantomData<P>);

impl<M: SharedMemory, P: Processor + 'static> Platform<M> for PlatformOn<P> {
    type Built = Built<P>;

    fn threads(&self) -> usize {
        self.0.workers.map_or(1, Workers::lanes)
    }

    fn equip<V: Versions>(&self, pages: SealedPages<M, V>) -> SealedPages<M, V> {
        let pages = match self.0.meter {
            Some(meter) => pages.with_meter(meter),
            None => pages,
        };
        match self.0.workers {
            Some(workers) => pages.with_workers(workers),
            None => pages,
        }
    }

    fn take<O>(self, path: FaultPath<O>, trusted_bytes: usize) -> Built<P>
    where
        O: Oram<Error = PageError> + Send + 'static,
    {
        Built { faults: Box::new(path), trusted_bytes }
    }
}

/// Returns whether a page was forged, swapped, replayed or rolled back.
pub(crate) fn is_forged(error: &PagingError) -> bool {
    matches!(
        error,
        FaultError::Scheme(OramError::Store(PageError::Forged { .. }) | OramError::Contradiction(_))
    )
}
