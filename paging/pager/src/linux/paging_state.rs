//! The contents of a region's lock: the fault path and the pages that it moves.

use super::dyn_fault_path::DynFaultPath;
use super::pages::Pages;
use crate::extents::OnExhaustion;
use crate::failure::{PagingError, abort_with, write_stderr_line};
use crate::fault::path::FaultOutcome;
use crate::page::PAGE_BYTES;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The fault path and its pages, used by one thread at a time.
pub(crate) struct PagingState {
    pub(crate) fault_path: Box<dyn DynFaultPath>,
    pub(crate) pages: Pages,
    /// The number of faults of the thread that forks, since it keeps the lock.
    pub(super) faults_before_fork: usize,
    /// Offline work failed with this: it is reported at the next access to an absent page.
    step_error: Option<PagingError>,
    /// Unencrypted pages, because no page was free.
    spilled: Arc<AtomicU64>,
}

impl PagingState {
    pub(super) fn new(fault_path: Box<dyn DynFaultPath>, pages: Pages, spilled: Arc<AtomicU64>) -> Self {
        PagingState { fault_path, pages, faults_before_fork: 0, step_error: None, spilled }
    }

    pub(super) fn fault(&mut self, page: u64) -> Result<FaultOutcome, PagingError> {
        match self.step_error.take() {
            Some(error) => Err(error),
            None => self.fault_path.fault(page, &mut self.pages),
        }
    }

    /// The page at an address. One is assigned if the address is on demand.
    pub(super) fn page_at(&mut self, address: usize) -> Option<u64> {
        let extents = &mut self.pages.extents;
        if let Some(on_exhaustion) = extents.on_demand_at(address)
            && !extents.bind_touched(address)
        {
            match on_exhaustion {
                // Pages that hold nothing yet may be needed by others.
                OnExhaustion::Spill => self.spill(address),
                OnExhaustion::End if self.free_zero_pages() && self.pages.extents.bind_touched(address) => {}
                OnExhaustion::End => {
                    abort_with(&OutOfPages { kibibytes: (self.pages.extents.pages() * PAGE_BYTES) >> 10 })
                }
            }
        }
        self.pages.extents.page_at(address)
    }

    /// Frees the pages that hold nothing: they are assigned again at the next access. Returns whether any is free now.
    fn free_zero_pages(&mut self) -> bool {
        for page in self.fault_path.absent_zeros() {
            self.pages.extents.release_page(page, OnExhaustion::End);
            // The next user of the page finds zeros, and until then it holds nothing.
            self.discard(page..page + 1);
        }
        self.pages.extents.free_pages() > 0
    }

    fn spill(&mut self, address: usize) {
        let page = std::ptr::with_exposed_provenance_mut(address & !(PAGE_BYTES - 1));
        match self.pages.give_zeros(page, false) {
            Ok(true) if self.spilled.fetch_add(1, Ordering::Relaxed) == 0 => write_stderr_line(&SPILLED),
            // It may have memory by now: another thread has accessed it, too.
            Ok(_) => {}
            Err(error) => abort_with(&error),
        }
    }

    /// Returns whether the last step of offline work failed.
    pub(super) fn has_step_failed(&self) -> bool {
        self.step_error.is_some()
    }

    /// Does a step of pending work; without any, waits for writes in flight.
    pub(super) fn step(&mut self) {
        self.step_error = self.fault_path.step(&self.pages).err();
    }
}

/// On-demand memory was accessed, and no page is left.
#[derive(Debug, thiserror::Error)]
#[error(
    "out of paged memory: the program uses all {kibibytes} KiB that the untrusted memory has room for, and touched more of \
     what it has mapped; give it more untrusted memory (ameles page run: --untrusted)"
)]
struct OutOfPages {
    kibibytes: usize,
}

/// Memory on demand that does not belong to the region is used.
const SPILLED: &str = "a stack has grown beyond the paged memory, and lies in the clear from there on; it needs more \
                     untrusted memory";
