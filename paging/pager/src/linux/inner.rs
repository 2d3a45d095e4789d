//! The contents of a region's lock: the fault path and the pages that it moves.

use super::faults::Faults;
use super::pages::Pages;
use crate::extents::IfFull;
use crate::failure::{PagingError, end, say};
use crate::fault::path::Served;
use crate::page::PAGE_BYTES;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The fault path and its pages, to be changed by one thread at a time.
pub(crate) struct Inner {
    pub(crate) faults: Box<dyn Faults>,
    pub(crate) pages: Pages,
    /// Faults of the thread that forks, since it has kept the lock.
    pub(super) between: usize,
    /// Off-line work failed with this: whoever touches an absent page next is told.
    failed_idle: Option<PagingError>,
    /// Pages that came in the clear, because none was free.
    spilt: Arc<AtomicU64>,
}

impl Inner {
    pub(super) fn new(faults: Box<dyn Faults>, pages: Pages, spilt: Arc<AtomicU64>) -> Self {
        Inner { faults, pages, between: 0, failed_idle: None, spilt }
    }

    pub(super) fn fault(&mut self, page: u64) -> Result<Served, PagingError> {
        match self.failed_idle.take() {
            Some(error) => Err(error),
            None => self.faults.fault(page, &mut self.pages),
        }
    }

    /// The page at an address. A page comes there, if it is open.
    pub(super) fn page_at(&mut self, address: usize) -> Option<u64> {
        let extents = &mut self.pages.extents;
        if let Some(if_full) = extents.open_at(address)
            && !extents.touch(address)
        {
            match if_full {
                // Pages that hold nothing yet may be promised to others, who cannot do without.
                IfFull::Spill => self.spill(address),
                IfFull::End if self.give_up_zeros() && self.pages.extents.touch(address) => {}
                IfFull::End => end(&Overdrawn { kibibytes: (self.pages.extents.pages() * PAGE_BYTES) >> 10 }),
            }
        }
        self.pages.extents.page_at(address)
    }

    /// Frees the pages that hold nothing: they come anew where they stood when that is touched. Tells whether any is
    /// free now.
    fn give_up_zeros(&mut self) -> bool {
        for page in self.faults.absent_zeros() {
            self.pages.extents.give_up(page, IfFull::End);
            // Whoever gets it next finds zeros, and until then it holds nothing.
            self.discard(page..page + 1);
        }
        self.pages.extents.free_pages() > 0
    }

    fn spill(&mut self, address: usize) {
        let page = std::ptr::with_exposed_provenance_mut(address & !(PAGE_BYTES - 1));
        match self.pages.give_zeros(page, false) {
            Ok(true) if self.spilt.fetch_add(1, Ordering::Relaxed) == 0 => say(&SPILT),
            // It may have memory by now: another thread has touched it, too.
            Ok(_) => {}
            Err(error) => end(&error),
        }
    }

    /// Tells whether the last step of off-line work failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed_idle.is_some()
    }

    /// A step of what is owed; without any, the end of what is under way.
    pub(super) fn step(&mut self) {
        self.failed_idle = self.faults.step(&self.pages).err();
    }
}

/// Memory was promised at a touch, and none is left.
#[derive(Debug, thiserror::Error)]
#[error(
    "out of paged memory: the program uses all {kibibytes} KiB that the untrusted memory has room for, and touched more of \
     what it has mapped; give it more untrusted memory (ameles page run: --untrusted)"
)]
struct Overdrawn {
    kibibytes: usize,
}

/// Memory was promised at a touch, and comes from elsewhere.
const SPILT: &str = "a stack has grown beyond the paged memory, and lies in the clear from there on; it needs more \
                     untrusted memory";
