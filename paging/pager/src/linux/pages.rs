//! The memory of a region's pages: mapped, freed, locked, and kept while it may not be accessed.
#![allow(unsafe_code, reason = "moves memory under the application; each block says why it is sound")]

use super::page_moves::ZEROS;
use super::userfaultfd::Userfaultfd;
use crate::extents::{Extents, PageMapping};
use crate::failure::{MoveError, write_stderr_line};
use crate::page::PAGE_BYTES;
use crate::private::{PrivateMapping, guard};
use rustix::io::Errno;
use rustix::mm::{Advice, MlockAllFlags, MlockFlags};
use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use zeroize::Zeroize;

/// The number of pages whose memory is freed at once: a call for each of them would cost more.
const MAX_RETIRED: usize = 8;

/// Pages behind the region, in its mapping's second part, for this many frames: the frames, pages waiting to be freed,
/// and the buffer.
pub(crate) const fn extra_slots(frames: usize) -> usize {
    frames + MAX_RETIRED + 1
}

/// The program has mapped too much.
const UNLOCKED: &str = "the program maps more than may be locked (ulimit -l): from now on its paged memory may be \
                        swapped out in the clear";

/// The pages of a region, with slots for its frames.
pub(crate) struct Pages {
    pub(super) uffd: Arc<Userfaultfd>,
    /// First the region's own addresses, then slots for the frames, and the buffer as the last of them.
    pub(super) mapping: Arc<PrivateMapping>,
    /// The addresses of the pages.
    pub(crate) extents: Extents,
    /// The contents of mapped pages that may not be accessed now.
    pub(super) parked: BTreeMap<u64, Box<[u8]>>,
    /// True if faulting threads wait to be woken.
    pub(super) wake: bool,
    /// The slot of each frame. Where pages are moved, these change; at most one frame has the buffer.
    pub(super) slots: Box<[usize]>,
    /// The slots without memory.
    pub(super) fresh: Vec<usize>,
    /// The slots whose memory is to be freed.
    pub(super) retired: Vec<usize>,
}

impl Pages {
    pub(crate) fn new(
        uffd: Arc<Userfaultfd>,
        mapping: Arc<PrivateMapping>,
        extents: Extents,
        frames: usize,
        wake: bool,
    ) -> Self {
        // Neither grows later: a fault may be handled in a signal handler.
        let mut fresh = Vec::with_capacity(frames + MAX_RETIRED);
        fresh.extend(frames..frames + MAX_RETIRED);
        let retired = Vec::with_capacity(frames + MAX_RETIRED);
        let slots = (0..frames).collect();
        Pages { uffd, mapping, extents, parked: BTreeMap::new(), wake, slots, fresh, retired }
    }

    pub(super) fn buffer(&self) -> usize {
        self.mapping.second_bytes() / PAGE_BYTES - 1
    }

    /// Returns the number of bytes of bookkeeping.
    pub(crate) fn trusted_bytes(&self) -> usize {
        self.extents.trusted_bytes() + self.parked.len() * PAGE_BYTES
    }

    /// Wakes the threads that wait at an address.
    pub(crate) fn wake(&self, address: usize) {
        if self.wake {
            // Threads that wait where nothing is mapped any more need not be woken.
            let _ = self.uffd.wake(address & !(PAGE_BYTES - 1), PAGE_BYTES);
        }
    }

    /// Wakes the threads that wait at one of these addresses.
    pub(crate) fn wake_all(&self, addresses: Range<usize>) {
        let first = addresses.start & !(PAGE_BYTES - 1);
        let _ = self.uffd.wake(first, addresses.end.next_multiple_of(PAGE_BYTES) - first);
    }

    /// Runs `act` without waking threads.
    pub(super) fn without_waking<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let wake = std::mem::replace(&mut self.wake, false);
        let outcome = act(self);
        self.wake = wake;
        outcome
    }

    pub(super) fn slot(&self, slot: usize) -> *mut u8 {
        let offset = slot * PAGE_BYTES;
        assert!(offset < self.mapping.second_bytes(), "the slot is one of the region's");
        self.mapping.second().wrapping_add(offset)
    }

    /// Maps zeros at an absent page of the mapping. `false` if it has memory already.
    pub(super) fn give_zeros(&self, to: *mut u8, wake: bool) -> Result<bool, MoveError> {
        // SAFETY: the page is absent, or nothing happens; until now an access to it faults and waits.
        unsafe { self.uffd.fill(to, ZEROS.as_ptr(), wake) }
    }

    /// Registers a span for faults, and protects it like the region.
    pub(super) fn register_span(&mut self, span: Range<usize>) -> Result<(), Errno> {
        let at = ptr::without_provenance_mut(span.start);
        self.uffd.register(span.start, span.len()).map_err(|_| Errno::NOMEM)?;
        // SAFETY: the caller of `Region::map` owns it.
        unsafe { guard(at, span.len())? };
        if !self.mapping.is_locked() {
            // It may be locked, if the program has requested that for all its memory. Pages move between equals only.
            // SAFETY: it changes no contents.
            return unsafe { rustix::mm::munlock(at, span.len()) };
        }
        // SAFETY: as above.
        if unsafe { rustix::mm::mlock_with(at, span.len(), MlockFlags::ONFAULT) }.is_err() {
            // The limit on locked memory: all of the region or nothing.
            self.mapping.unlock();
            for span in self.extents.paged().chain([span]) {
                // SAFETY: as above.
                unsafe { rustix::mm::munlock(ptr::without_provenance_mut(span.start), span.len())? };
            }
            write_stderr_line(&UNLOCKED);
        }
        Ok(())
    }

    /// Locks memory at its access, also for the region: pages move between equals only.
    pub(crate) fn lock_all(&self, now: bool, future: bool) -> Result<(), Errno> {
        let mut flags = MlockAllFlags::ONFAULT;
        flags.set(MlockAllFlags::CURRENT, now);
        flags.set(MlockAllFlags::FUTURE, future);
        rustix::mm::mlockall(flags)?;
        if now {
            self.mapping.mark_locked();
        }
        Ok(())
    }

    /// Frees the memory of a span: an access faults.
    pub(crate) fn drop_memory(&self, span: Range<usize>) -> Result<(), Errno> {
        if span.is_empty() {
            return Ok(());
        }
        // Linux 5.18 also takes memory that is not locked.
        let drop = |advice| {
            // SAFETY: the contents of the pages are kept elsewhere, or discarded.
            unsafe { rustix::mm::madvise(ptr::without_provenance_mut(span.start), span.len(), advice) }
        };
        match drop(Advice::LinuxDontneedLocked) {
            Err(Errno::INVAL) => drop(Advice::LinuxDontNeed),
            other => other,
        }
    }

    /// Returns whether stores to a page can be made to wait.
    pub(super) fn can_protect(&self) -> bool {
        self.uffd.protects()
    }

    /// Keeps the contents of a mapped page, which cannot be written, while it may not be accessed.
    pub(super) fn park(&mut self, page: u64) -> Result<(), Errno> {
        let Some(PageMapping { at, .. }) = self.extents.mapping_of(page) else { return Ok(()) };
        // It may have lost its memory: then it holds zeros.
        self.give_zeros(ptr::without_provenance_mut(at), false).map_err(|error| error.errno)?;
        // SAFETY: the page is present, may be read, and no thread writes to it.
        let bytes = unsafe { std::slice::from_raw_parts(ptr::without_provenance::<u8>(at), PAGE_BYTES) };
        self.parked.insert(page, bytes.to_vec().into_boxed_slice());
        Ok(())
    }

    /// Maps parked pages again at their addresses, absent until then.
    pub(super) fn unpark(&mut self, pages: Range<u64>) -> Result<(), Errno> {
        let parked: Vec<u64> = self.parked.range(pages).map(|(page, _)| *page).collect();
        for page in parked {
            let Some((PageMapping { at, .. }, bytes)) =
                self.extents.mapping_of(page).zip(self.parked.get(&page))
            else {
                continue;
            };
            // SAFETY: the page is absent; no thread can access it yet.
            unsafe { self.uffd.fill(ptr::without_provenance_mut(at), bytes.as_ptr(), false) }
                .map_err(|error| error.errno)?;
            self.drop_parked(page);
        }
        Ok(())
    }

    pub(super) fn drop_parked(&mut self, page: u64) {
        if let Some(mut bytes) = self.parked.remove(&page) {
            bytes.zeroize();
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // The last page that was paged in. Without moves nothing was ever there.
        // SAFETY: the buffer is ordinary memory, and only we use it.
        unsafe { self.slot(self.buffer()).write_bytes(0, PAGE_BYTES) };
    }
}
