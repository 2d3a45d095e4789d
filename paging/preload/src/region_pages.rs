//! The pages of the region that the heap uses: runs of whole pages, first fit, recorded on the private heap.

use crate::handler_stack;
use crate::own_threads::is_own;
use crate::page::round_up;
use crate::stderr::{format_size, write_line};
use ameles_pager::addresses::MappingError;
use ameles_pager::interval_set::IntervalSet;
use ameles_pager::region::Region;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The region and its free runs.
pub(crate) struct RegionPages {
    region: UnsafeCell<Region>,
    base: usize,
    len: usize,
    untrusted: String,
    free: Mutex<IntervalSet>,
    warned: AtomicBool,
}

// SAFETY: the region is shared as any is; it is changed only in a child after `fork`, by its only thread.
unsafe impl Sync for RegionPages {}
// SAFETY: as above.
unsafe impl Send for RegionPages {}

static PAGES: OnceLock<RegionPages> = OnceLock::new();

/// Puts the region in service: from now on the program's memory comes from it.
///
/// # Errors
/// The errors of the system.
pub(crate) fn begin(region: Region, untrusted: String) -> Result<(), MappingError> {
    let (base, len) = (region.as_ptr() as usize, region.bytes());
    handler_stack::record_stack(&region);
    // SAFETY: it was not accessed yet.
    unsafe { region.release_own(base..base + len)? };
    let free = Mutex::new(IntervalSet::of(base..base + len));
    let region = UnsafeCell::new(region);
    let _ = PAGES.set(RegionPages { region, base, len, untrusted, free, warned: AtomicBool::new(false) });
    Ok(())
}

/// The region's pages, once it exists.
pub(crate) fn pages() -> Option<&'static RegionPages> {
    PAGES.get()
}

/// The region's pages, if the calling thread is a thread of the program.
pub(crate) fn pages_of_program() -> Option<&'static RegionPages> {
    pages().filter(|_| !is_own())
}

impl RegionPages {
    /// The region.
    pub(crate) fn region(&self) -> &Region {
        // SAFETY: it is changed in `region_in_child` only, while there is no other user.
        unsafe { &*self.region.get() }
    }

    /// The region, to be changed to the region of this process.
    ///
    /// # Safety
    /// A child after `fork` with one thread, which has no other reference to it.
    #[expect(clippy::mut_from_ref, reason = "it lies in an UnsafeCell, and the caller promises to be alone")]
    pub(crate) unsafe fn region_in_child(&self) -> &mut Region {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.region.get() }
    }

    /// Returns whether the address lies in the region.
    pub(crate) fn contains(&self, at: *const u8) -> bool {
        (at as usize).wrapping_sub(self.base) < self.len
    }

    /// Returns whether some of these addresses belong to the heap.
    pub(crate) fn is_heap(&self, span: Range<usize>) -> bool {
        span.start < self.base + self.len && self.base < span.end
    }

    /// Allocates whole pages of the heap, all zero; null if there are none.
    pub(crate) fn take(&self, bytes: usize) -> *mut u8 {
        let Some(bytes) = round_up(bytes).filter(|bytes| *bytes > 0) else { return null_mut() };
        let at = self.free().take(bytes);
        if let Some(at) = at {
            // SAFETY: the addresses are free: nothing uses them.
            if unsafe { self.region().bind_own(at..at + bytes) } {
                return at as *mut u8;
            }
            self.free().insert(at..at + bytes);
        }
        self.warn_full(bytes);
        null_mut()
    }

    /// Frees whole pages. Their contents are discarded; they hold zeros when they are allocated again.
    pub(crate) fn give_back(&self, run: Range<usize>) -> bool {
        // SAFETY: the allocator frees its own pages.
        let released = unsafe { self.region().release_own(run.clone()) };
        if released.is_ok() {
            self.free().insert(run);
        }
        released.is_ok()
    }

    fn free(&self) -> MutexGuard<'_, IntervalSet> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports once on standard error that the region is full.
    pub(crate) fn warn_full(&self, wanted: usize) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            let (wanted, room) = (wanted.to_string(), format_size(self.len as u64));
            write_line(&[
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
