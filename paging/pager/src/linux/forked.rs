//! Paged memory at `fork`. Resident pages are copied to the child like any memory. Each process then makes its pages
//! its own, because the kernel does not move pages that two processes share.
#![allow(unsafe_code, reason = "advice on memory and accesses to it; each block says why it is sound")]

use super::dyn_fault_path::DynFaultPath;
use super::pages::Pages;
use super::paging_state::PagingState;
use super::userfaultfd::Userfaultfd;
use crate::access::Access;
use crate::error::UserfaultfdError;
use crate::extents::PageMapping;
use crate::failure::{Failure, abort_with};
use crate::fault::fork::MAX_FAULTS_BEFORE_FORK;
use crate::page::PAGE_BYTES;
use rustix::io::Errno;
use rustix::mm::{Advice, MlockFlags};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use zeroize::Zeroize;

/// The C library accesses a few pages between the last handler before `fork` and the call itself.
#[derive(Debug, thiserror::Error)]
#[error("the thread that forks accessed more pages before the call than fit")]
struct TooManyFaults;

impl PagingState {
    /// Handles a fault without an eviction and without waking threads. `None` if no page is mapped there.
    pub(super) fn fault_before_fork(&mut self, address: usize) -> Option<Result<(), Failure>> {
        let page = self.page_at(address)?;
        if !self.fault_path.is_mapped(page) {
            self.faults_before_fork += 1;
            if self.faults_before_fork > MAX_FAULTS_BEFORE_FORK {
                abort_with(&TooManyFaults);
            }
        }
        let handled = self.pages.without_waking(|pages| self.fault_path.fault_before_fork(page, pages));
        Some(handled.map_err(|error| Failure { page, error }))
    }

    /// The addresses of the resident pages that the kernel will move.
    pub(crate) fn resident_addresses(&self) -> Vec<usize> {
        let place = |page| self.pages.extents.mapping_of(page);
        let moves = |place: &PageMapping| place.access == Access::READ_WRITE;
        self.fault_path.mapped().into_iter().filter_map(place).filter(moves).map(|place| place.at).collect()
    }
}

/// Makes a page this process's own, if it is shared with a child or parent: a store does that, and this one changes
/// nothing.
pub(crate) fn unshare_page(at: usize) {
    // SAFETY: the page may be read and written, and an atomic store of its own value harms no other thread.
    let byte = unsafe { AtomicU8::from_ptr(ptr::with_exposed_provenance_mut(at)) };
    let mut now = byte.load(Ordering::Relaxed);
    while let Err(other) = byte.compare_exchange(now, now, Ordering::Relaxed, Ordering::Relaxed) {
        now = other;
    }
}

impl Pages {
    /// All spans whose faults are delivered, and of pages in transit.
    fn spans(&self) -> Vec<Range<usize>> {
        let unshare_page = self.mapping.span();
        let is_other =
            |span: &Range<usize>| span.start < unshare_page.start || unshare_page.end <= span.start;
        std::iter::once(unshare_page.clone()).chain(self.extents.paged().filter(is_other)).collect()
    }

    /// Lets a child have the resident pages.
    pub(crate) fn share_with_children(&self) -> Result<(), Errno> {
        self.spans().into_iter().try_for_each(|span| advise(span, Advice::LinuxDoFork))
    }

    /// Keeps the pages from every other child.
    pub(crate) fn hide_from_children(&self) {
        // Memory that the program has unmapped by its own system call is in no child either.
        self.spans().into_iter().for_each(|span| {
            let _ = advise(span, Advice::LinuxDontFork);
        });
    }

    /// Returns whether an absent page was accessed in a child that handles no faults yet. Such a page was read as
    /// zeros.
    pub(crate) fn has_stray_pages(&self, fault_path: &dyn DynFaultPath) -> Result<bool, Errno> {
        // On-demand pages read as zeros before their first access.
        let parts = self.extents.paged().flat_map(|span| self.extents.parts(span));
        for span in parts.filter(|part| part.pages.is_some()).map(|part| part.at) {
            let mut present = vec![0_u8; span.len() / PAGE_BYTES];
            // SAFETY: the call fills a byte for each page.
            if unsafe {
                libc::mincore(ptr::without_provenance_mut(span.start), span.len(), present.as_mut_ptr())
            } != 0
            {
                return Err(Errno::NOMEM);
            }
            let here = (span.start..span.end)
                .step_by(PAGE_BYTES)
                .zip(present)
                .filter(|(_, present)| present & 1 == 1);
            let mut pages = here.filter_map(|(at, _)| self.extents.page_at(at));
            if pages.any(|page| !fault_path.is_mapped(page)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the pages the child's own. Its faults are delivered by its own descriptor from now on, and its pages are
    /// locked if the parent's were.
    pub(crate) fn adopt(&mut self, uffd: Arc<Userfaultfd>) -> Result<(), UserfaultfdError> {
        let unshare_page = self.mapping.span();
        uffd.register(self.mapping.first() as usize, self.mapping.first_bytes())?;
        if uffd.moves() {
            uffd.register(self.mapping.second() as usize, self.mapping.second_bytes() - PAGE_BYTES)?;
        }
        let others: Vec<_> = self.spans().into_iter().filter(|span| *span != unshare_page).collect();
        for span in &others {
            uffd.register(span.start, span.len())?;
        }
        // A thread of the parent's may have had it too.
        std::mem::replace(&mut self.uffd, uffd).close();
        if self.mapping.is_locked() {
            self.relock(&others);
        }
        Ok(())
    }

    /// Locks all of it or nothing: pages move between equally locked memory only.
    fn relock(&self, others: &[Range<usize>]) {
        self.mapping.lock();
        let lock = |span: &Range<usize>| {
            // SAFETY: locking changes no contents.
            unsafe {
                rustix::mm::mlock_with(
                    ptr::without_provenance_mut(span.start),
                    span.len(),
                    MlockFlags::ONFAULT,
                )
            }
        };
        if !self.mapping.is_locked() || !others.iter().all(|span| lock(span).is_ok()) {
            self.mapping.unlock();
            for span in others {
                // SAFETY: unlocking changes no contents.
                let _ = unsafe { rustix::mm::munlock(ptr::without_provenance_mut(span.start), span.len()) };
            }
        }
    }
}

fn advise(span: Range<usize>, advice: Advice) -> Result<(), Errno> {
    // SAFETY: both pieces of advice lose no contents.
    unsafe { rustix::mm::madvise(ptr::without_provenance_mut(span.start), span.len(), advice) }
}

/// Drops what is in a box and wipes its memory too: not every library wipes its keys.
pub(crate) fn drop_and_wipe<T: ?Sized>(boxed: Box<T>) {
    let layout = std::alloc::Layout::for_value(&*boxed);
    let at = Box::into_raw(boxed);
    // SAFETY: it came from a box of that layout, and there is no other reference to it.
    unsafe {
        ptr::drop_in_place(at);
        if layout.size() > 0 {
            std::slice::from_raw_parts_mut(at.cast::<u8>(), layout.size()).zeroize();
            std::alloc::dealloc(at.cast(), layout);
        }
    }
}
