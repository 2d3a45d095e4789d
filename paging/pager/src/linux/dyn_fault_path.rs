//! A fault path over any scheme, with its type erased.

use super::pages::Pages;
use crate::failure::PagingError;
use crate::fault::counters::Counters;
use crate::fault::fork::{ResidentState, StoredPages};
use crate::fault::path::{FaultOutcome, FaultPath};
use ameles_core::oram::Oram;
use ameles_seal::pages::PageError;
use std::ops::Range;

/// A fault path over any scheme.
pub(crate) trait DynFaultPath: Send {
    fn fault(&mut self, page: u64, pages: &mut Pages) -> Result<FaultOutcome, PagingError>;
    fn discard(&mut self, range: Range<u64>, pages: &mut Pages) -> Result<(), PagingError>;
    fn step(&mut self, pages: &Pages) -> Result<(), PagingError>;
    fn pending_steps(&self) -> u64;
    fn absent_zeros(&self) -> Vec<u64>;
    fn enable_growth(&mut self);
    fn enable_estimate(&mut self);
    fn resident_for_half_the_faults(&self) -> Option<u64>;
    fn counters(&self) -> Counters;
    fn trusted_bytes(&self) -> usize;
    fn is_mapped(&self, page: u64) -> bool;
    fn wipe(&mut self, pages: &mut Pages);
    fn begin_fork(&mut self, pages: &mut Pages) -> Result<StoredPages, PagingError>;
    fn read_stored(&mut self, page: Option<u32>, into: &mut [u8]) -> Result<(), PagingError>;
    fn fault_before_fork(&mut self, page: u64, pages: &mut Pages) -> Result<(), PagingError>;
    fn fill(&mut self, page: u64, from: &[u8]) -> Result<(), PagingError>;
    fn mapped(&self) -> Vec<u64>;
    fn hand_over(&mut self) -> ResidentState;
    fn take_over(&mut self, state: ResidentState, stored: &[u32]);
}

impl<O: Oram<Error = PageError> + Send> DynFaultPath for FaultPath<O> {
    fn fault(&mut self, page: u64, pages: &mut Pages) -> Result<FaultOutcome, PagingError> {
        FaultPath::fault(self, page, pages)
    }

    fn discard(&mut self, range: Range<u64>, pages: &mut Pages) -> Result<(), PagingError> {
        FaultPath::discard(self, range, pages)
    }

    fn step(&mut self, pages: &Pages) -> Result<(), PagingError> {
        FaultPath::step(self, pages)
    }

    fn pending_steps(&self) -> u64 {
        FaultPath::pending_steps(self)
    }

    fn absent_zeros(&self) -> Vec<u64> {
        FaultPath::absent_zeros(self)
    }

    fn enable_growth(&mut self) {
        FaultPath::enable_growth(self);
    }

    fn enable_estimate(&mut self) {
        FaultPath::enable_estimate(self);
    }

    fn resident_for_half_the_faults(&self) -> Option<u64> {
        FaultPath::resident_for_half_the_faults(self)
    }

    fn counters(&self) -> Counters {
        *FaultPath::counters(self)
    }

    fn trusted_bytes(&self) -> usize {
        FaultPath::trusted_bytes(self)
    }

    fn is_mapped(&self, page: u64) -> bool {
        FaultPath::is_mapped(self, page)
    }

    fn wipe(&mut self, pages: &mut Pages) {
        FaultPath::wipe(self, pages);
    }

    fn begin_fork(&mut self, pages: &mut Pages) -> Result<StoredPages, PagingError> {
        FaultPath::begin_fork(self, pages)
    }

    fn read_stored(&mut self, page: Option<u32>, into: &mut [u8]) -> Result<(), PagingError> {
        FaultPath::read_stored(self, page, into)
    }

    fn fault_before_fork(&mut self, page: u64, pages: &mut Pages) -> Result<(), PagingError> {
        FaultPath::fault_before_fork(self, page, pages)
    }

    fn fill(&mut self, page: u64, from: &[u8]) -> Result<(), PagingError> {
        FaultPath::fill(self, page, from)
    }

    fn mapped(&self) -> Vec<u64> {
        FaultPath::mapped(self).collect()
    }

    fn hand_over(&mut self) -> ResidentState {
        let none = self.empty_state();
        self.exchange(none)
    }

    fn take_over(&mut self, state: ResidentState, stored: &[u32]) {
        self.exchange(state);
        self.set_stored(stored);
    }
}
