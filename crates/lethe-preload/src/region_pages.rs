//! Which pages of the region are in use: runs of whole pages, first fit, kept on the private heap.

use lethe_pager::region::Region;
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// The region with the runs that are free in it.
pub(crate) struct RegionPages {
    region: Region,
    base: usize,
    len: usize,
    untrusted: String,
    free: Mutex<BTreeMap<usize, usize>>,
    told: AtomicBool,
}

static PAGES: OnceLock<RegionPages> = OnceLock::new();

/// Puts the region in service: from now on the program's memory comes from it.
pub(crate) fn begin(region: Region, untrusted: String) {
    let (base, len) = (region.as_ptr() as usize, region.bytes());
    let free = Mutex::new(BTreeMap::from([(base, len)]));
    let _ = PAGES.set(RegionPages { region, base, len, untrusted, free, told: AtomicBool::new(false) });
}

/// The region's pages, once it stands.
pub(crate) fn pages() -> Option<&'static RegionPages> {
    PAGES.get()
}

/// Whole pages for so many bytes; `None` if that is more than there can be.
pub(crate) fn round_up(bytes: usize) -> Option<usize> {
    Some(bytes.checked_add(PAGE - 1)? & !(PAGE - 1))
}

impl RegionPages {
    /// The region.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Whether the address lies in the region.
    pub(crate) fn holds(&self, at: *const u8) -> bool {
        (at as usize).wrapping_sub(self.base) < self.len
    }

    /// A run of whole pages, all zero; null if none is long enough.
    pub(crate) fn take(&self, bytes: usize) -> *mut u8 {
        let Some(bytes) = round_up(bytes).filter(|bytes| *bytes > 0) else { return null_mut() };
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((at, len)) = free.iter().map(|(at, len)| (*at, *len)).find(|(_, len)| *len >= bytes) else {
            drop(free);
            self.tell_that_it_is_full(bytes);
            return null_mut();
        };
        free.remove(&at);
        if len > bytes {
            free.insert(at + bytes, len - bytes);
        }
        at as *mut u8
    }

    /// Gives a run of whole pages back. What they held is gone; whoever gets them next finds zeros.
    pub(crate) fn give_back(&self, at: *mut u8, bytes: usize) {
        let Some(bytes) = round_up(bytes).filter(|bytes| *bytes > 0) else { return };
        self.discard(at, bytes);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut first, mut len) = (at as usize, bytes);
        if let Some((before, room)) = free.range(..first).next_back().map(|(at, len)| (*at, *len))
            && before + room == first
        {
            free.remove(&before);
            (first, len) = (before, room + len);
        }
        if let Some(room) = free.remove(&(first + len)) {
            len += room;
        }
        free.insert(first, len);
    }

    /// Gives up what whole pages hold: they read as zeros.
    pub(crate) fn discard(&self, at: *mut u8, bytes: usize) {
        let first = ((at as usize - self.base) / PAGE) as u64;
        self.region.discard_shared(first..first + (bytes / PAGE) as u64);
    }

    fn tell_that_it_is_full(&self, wanted: usize) {
        if !self.told.swap(true, Ordering::Relaxed) {
            let (wanted, room) = (wanted.to_string(), crate::start::size(self.len as u64));
            crate::say::say(&[
                "out of paged memory: ",
                &wanted,
                " bytes more were asked for, and ",
                &self.untrusted,
                " of untrusted memory hold a heap of ",
                &room,
                "; give a larger --untrusted. The program was told that there is no memory; nothing is lost",
            ]);
        }
    }
}
