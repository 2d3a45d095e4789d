//! The contents of a region's lock: the fault path and the pages that it moves.

use super::dyn_fault_path::DynFaultPath;
use super::pages::Pages;
use crate::extents::OnExhaustion;
use crate::failure::{PagingError, abort_with, write_stderr_line};
use crate::fault::path::Served;
use crate::page::PAGE_BYTES;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The fault path and its pages, to be changed by one thread at a time.
pub(crate) struct PagingState {
    pub(crate) fault_path: Box<dyn DynFaultPath>,
    pub(crate) pages: Pages,
    /// Faults of the thread that forks, since it has kept the lock.
    pub(super) faults_before_fork: usize,
    /// Off-line work failed with this: whoever touches an absent page next is told.
    step_error: Option<PagingError>,
    /// Pages that came in the clear, because none was free.
    spilled: Arc<AtomicU64>,
}

impl PagingState {
    pub(super) fn new(fault_path: Box<dyn DynFaultPath>, pages: Pages, spilled: Arc<AtomicU64>) -> Self {
        PagingState { fault_path, pages, faults_before_fork: 0, step_error: None, spilled }
    }

    pub(super) fn fault(&mut self, page: u64) -> Result<Served, PagingError> {
        match self.step_error.take() {
            Some(error) => Err(error),
            None => self.fault_path.fault(page, &mut self.pages),
        }
    }

    /// The page at an address. A page comes there, if it is open.
    pub(super) fn page_at(&mut self, address: usize) -> Option<u64> {
        let extents = &mut self.pages.extents;
        if let Some(on_exhaustion) = extents.on_demand_at(address)
            && !extents.bind_touched(address)
        {
            match on_exhaustion {
                // Pages that hold nothing yet may be promised to others, who cannot do without.
                OnExhaustion::Spill => self.spill(address),
                OnExhaustion::End if self.free_zero_pages() && self.pages.extents.bind_touched(address) => {}
                OnExhaustion::End => {
                    abort_with(&OutOfPages { kibibytes: (self.pages.extents.pages() * PAGE_BYTES) >> 10 })
                }
            }
        }
        self.pages.extents.page_at(address)
    }

    /// Frees the pages that hold nothing: they come anew where they stood when that is touched. Tells whether any is
    /// free now.
    fn free_zero_pages(&mut self) -> bool {
        for page in self.fault_path.absent_zeros() {
            self.pages.extents.release_page(page, OnExhaustion::End);
            // Whoever gets it next finds zeros, and until then it holds nothing.
            self.discard(page..page + 1);
        }
        self.pages.extents.free_pages() > 0
    }

    fn spill(&mut self, address: usize) {
        let page = std::ptr::with_exposed_provenance_mut(address & !(PAGE_BYTES - 1));
        match self.pages.give_zeros(page, false) {
            Ok(true) if self.spilled.fetch_add(1, Ordering::Relaxed) == 0 => write_stderr_line(&SPILLED),
            // It may have memory by now: another thread has touched it, too.
            Ok(_) => {}
            Err(error) => abort_with(&error),
        }
    }

    /// Tells whether the last step of off-line work failed.
    pub(super) fn has_step_failed(&self) -> bool {
        self.step_error.is_some()
    }

    /// A step of what is owed; without any, the end of what is under way.
    pub(super) fn step(&mut self) {
        self.step_error = self.fault_path.step(&self.pages).err();
    }
}

/// Memory was promised at a touch, and none is left.
#[derive(Debug, thiserror::Error)]
#[error(
    "out of paged memory: the program uses all {kibibytes} KiB that the untrusted memory has room for, and touched more of \
     what it has mapped; give it more untrusted memory (ameles page run: --untrusted)"
)]
struct OutOfPages {
    kibibytes: usize,
}

/// Memory was promised at a touch, and comes from elsewhere.
const SPILLED: &str = "a stack has grown beyond the paged memory, and lies in the clear from there on; it needs more \
                     untrusted memory";
