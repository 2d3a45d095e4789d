//! Forks a fault path: the preparation in the parent, and the transfer to the child.
//!
//! Resident pages are transferred with the process, which is a copy. Pages that only the scheme holds are read through
//! the scheme, and written through another one in the child. Their number is the number of pages that the scheme has
//! ever been given, or of all pages if that is less. The number is public. Which of them hold something is not: the
//! rest are dummy accesses that look the same.

use super::error::FaultError;
use super::frames::Frames;
use super::path::{FaultPath, Outcome};
use super::resident::{Residence, Resident};
use ameles_core::oram::{Access, Oram};
use ameles_core::types::BlockId;
use core::error::Error;

/// The number of pages that may be paged in between the end of the preparation and the fork.
pub(crate) const MAX_FAULTS_BEFORE_FORK: usize = 64;

/// The pages that the scheme holds, for copying.
pub(crate) struct StoredPages {
    /// The pages whose contents only the scheme has.
    pub(crate) pages: Vec<u32>,
    /// The number of accesses of copying, at least. Public.
    pub(crate) accesses: u64,
}

/// The state of the resident pages, for transfer from one fault path to another.
pub(crate) struct ResidentState {
    resident: Resident,
    held_pages: u64,
}

impl<O: Oram> FaultPath<O> {
    /// Prepares to handle up to [`MAX_FAULTS_BEFORE_FORK`] faults without an eviction and without allocating. The
    /// scheme does not change until then.
    pub(crate) fn begin_fork<F: Frames>(&mut self, frames: &mut F) -> Outcome<StoredPages, O, F::Error> {
        self.unless_failed(|path| {
            if !path.resident.has_spare() {
                // Under a second chance the frames are all in use. One page is evicted, as at the next fault.
                path.evict_extra(frames)?;
            }
            path.resident.reserve(MAX_FAULTS_BEFORE_FORK);
            let accesses = path.writes.min(path.resident.pages());
            Ok(StoredPages { pages: path.resident.stored(), accesses })
        })
    }

    /// Reads a page that the scheme holds; `None` performs a dummy access, which looks the same.
    pub(crate) fn read_stored<F: Error>(&mut self, page: Option<u32>, into: &mut [u8]) -> Outcome<(), O, F> {
        let block = BlockId(page.map_or(0, u64::from));
        self.unless_failed(|path| path.access(Access::Read(block, into)))
    }

    /// Handles a fault without an eviction, after [`begin_fork`](Self::begin_fork).
    pub(crate) fn fault_before_fork<F: Frames>(
        &mut self,
        page: u64,
        frames: &mut F,
    ) -> Outcome<(), O, F::Error> {
        if page >= self.resident.pages() {
            return Err(FaultError::OutOfRange { pages: self.resident.pages() });
        }
        self.unless_failed(|path| match path.resident.place(page) {
            Residence::Absent => path.page_in_before_fork(page, frames),
            Residence::Unmapped => {
                let frame = path.resident.frame_of(page).expect("an unmapped page has a frame");
                frames.put(frame, page).map_err(FaultError::Frames)?;
                path.resident.on_remapped(page);
                path.resident.add_spare(frame);
                path.counters.soft_faults += 1;
                Ok(())
            }
            Residence::Mapped => frames.confirm(page).map_err(FaultError::Frames),
        })
    }

    fn page_in_before_fork<F: Frames>(&mut self, page: u64, frames: &mut F) -> Outcome<(), O, F::Error> {
        let frame = self.resident.take_spare().expect("a frame was made spare");
        frames.prepare(frame).map_err(FaultError::Frames)?;
        self.access(Access::Read(BlockId(page), frames.bytes(frame)))?;
        if self.resident.take_discarded(page) {
            frames.bytes(frame).fill(0);
        }
        frames.put(frame, page).map_err(FaultError::Frames)?;
        self.resident.on_mapped(page);
        self.resident.add_spare(frame);
        self.counters.held_pages += u64::from(self.resident.mark_held(page));
        self.counters.max_held_pages = self.counters.max_held_pages.max(self.counters.held_pages);
        self.counters.faults += 1;
        Ok(())
    }

    /// Writes a page to a new scheme.
    pub(crate) fn fill<F: Error>(&mut self, page: u64, from: &[u8]) -> Outcome<(), O, F> {
        self.unless_failed(|path| path.write(page, from))
    }

    /// The mapped pages.
    pub(crate) fn mapped(&self) -> impl Iterator<Item = u64> {
        self.resident.mapped()
    }

    /// Exchanges its state for the state of another fault path.
    pub(crate) fn exchange(&mut self, state: ResidentState) -> ResidentState {
        let held_pages = core::mem::replace(&mut self.counters.held_pages, state.held_pages);
        self.counters.max_held_pages = self.counters.held_pages;
        ResidentState { resident: core::mem::replace(&mut self.resident, state.resident), held_pages }
    }

    /// The state of as many pages, all of them absent.
    pub(crate) fn empty_state(&self) -> ResidentState {
        ResidentState { resident: self.resident.empty_like(), held_pages: 0 }
    }

    /// Records which pages the scheme was given, in the state of another fault path.
    pub(crate) fn set_stored(&mut self, stored: &[u32]) {
        self.resident.set_stored(stored);
    }
}
