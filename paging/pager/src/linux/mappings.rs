//! Private anonymous memory that is paged at addresses of the program's choice: mapped, protected and unmapped while
//! other threads fault.
//!
//! All of it, including the kernel's calls, happens under the fault path's lock, so that addresses and extents always
//! agree when a fault reads them. A thread that faulted before is handled afterwards, by what is mapped there then. The
//! changes do not show in untrusted memory: they concern trusted state and the place of resident memory. They change
//! neither the number of faults nor that of evictions.
#![allow(unsafe_code, reason = "changes the addresses of memory; each block says why it is sound")]

use super::paging_state::PagingState;
use crate::access::Access;
use crate::extents::{ExtentPart, OnExhaustion};
use crate::failure::{Failure, PagingError, abort};
use crate::page::PAGE_BYTES;
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use std::ops::Range;
use std::ptr;

/// The reason why memory was not mapped or not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// Too few pages are free. Nothing has changed.
    #[error("the region has too few free pages")]
    Full,
    /// The error that the kernel's call would have returned.
    #[error(transparent)]
    System(#[from] Errno),
}

impl MappingError {
    /// The same error that a kernel without memory returns.
    pub const OUT_OF_MEMORY: MappingError = MappingError::System(Errno::NOMEM);
}

/// A request for memory.
#[derive(Clone, Copy)]
pub struct MapRequest {
    /// A hint, or fixed, as the flags say.
    pub at: usize,
    /// Rounded up to whole pages.
    pub bytes: usize,
    /// The access rights.
    pub access: Access,
    /// The flags for `mmap`, without those that make the mapping private and anonymous.
    pub flags: u32,
}

/// Memory that is requested as executable is code, and not paged.
fn is_paged(access: Access) -> bool {
    access.writes() && !access.executes()
}

impl PagingState {
    pub(crate) fn map(&mut self, wanted: MapRequest) -> Result<usize, MappingError> {
        let MapRequest { at, bytes, access, flags } = wanted;
        let bytes = bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Errno::NOMEM)?;
        let flags = MapFlags::from_bits_retain(flags);
        // Pages are assigned at an access. For a stack, there is no other way to report that there are none.
        let on_exhaustion =
            if flags.contains(MapFlags::STACK) { OnExhaustion::Spill } else { OnExhaustion::End };
        let on_demand = flags.contains(MapFlags::NORESERVE).then_some(on_exhaustion);
        if is_paged(access) && on_demand.is_none() {
            let replaces = flags.contains(MapFlags::FIXED) && !flags.contains(MapFlags::FIXED_NOREPLACE);
            let span = if replaces { at..at.checked_add(bytes).ok_or(Errno::NOMEM)? } else { 0..0 };
            self.check_room(bytes, self.pages.extents.parts(span).iter().map(paged_bytes).sum())?;
        }
        // It must not be accessed before the pages are mapped.
        let first = if is_paged(access) { Access::NONE } else { access };
        let flags = (flags | MapFlags::PRIVATE | MapFlags::NORESERVE).difference(MapFlags::POPULATE);
        // SAFETY: the caller of `Region::map` knows what is at these addresses.
        let mapped = unsafe {
            rustix::mm::mmap_anonymous(ptr::without_provenance_mut(at), bytes, prot(first), flags)?
        };
        let span = mapped as usize..mapped as usize + bytes;
        self.forget(span.clone());
        if is_paged(access) {
            if let Err(error) = self.adopt(span.clone(), access, on_demand) {
                // SAFETY: it was mapped just now, and nothing else knows its address.
                let _ = unsafe { rustix::mm::munmap(mapped, bytes) };
                return Err(error);
            }
        } else if !access.executes() {
            self.pages.extents.reserve(span.clone(), access);
        }
        Ok(span.start)
    }

    pub(crate) fn unmap(&mut self, span: Range<usize>) -> Result<(), MappingError> {
        // SAFETY: the caller of `Region::unmap` does not use it any more.
        unsafe { rustix::mm::munmap(ptr::without_provenance_mut(span.start), span.len())? };
        self.forget(span);
        Ok(())
    }

    pub(crate) fn protect(&mut self, span: Range<usize>, access: Access) -> Result<(), MappingError> {
        if !span.start.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::INVAL.into());
        }
        let span = whole_pages(span);
        let mut at = span.start;
        for part in self.pages.extents.parts(span.clone()) {
            protect(at..part.at.start, access)?;
            at = part.at.end;
            self.protect_part(part, access)?;
        }
        Ok(protect(at..span.end, access)?)
    }

    fn protect_part(&mut self, part: ExtentPart, access: Access) -> Result<(), MappingError> {
        let span = part.at.clone();
        if let Some(pages) = part.pages {
            return self.protect_pages(span, pages, part.access, access);
        }
        if part.on_demand.is_some() {
            self.check_protection(access)?;
            protect(span.clone(), access)?;
            self.pages.extents.set_access(span, access);
            return Ok(());
        }
        if is_paged(access) {
            self.pages.extents.remove(span.clone());
            // Readers may see the kernel's zero page there, which causes no fault.
            self.pages.drop_memory(span.clone())?;
            return self.adopt(span.clone(), access, Some(OnExhaustion::End)).inspect_err(|_| {
                self.pages.extents.reserve(span, part.access);
            });
        }
        protect(span.clone(), access)?;
        if access.executes() {
            self.pages.extents.remove(span);
        } else {
            self.pages.extents.set_access(span, access);
        }
        Ok(())
    }

    fn protect_pages(
        &mut self,
        span: Range<usize>,
        pages: Range<u64>,
        before: Access,
        access: Access,
    ) -> Result<(), MappingError> {
        self.check_protection(access)?;
        if access == before {
            return Ok(protect(span, access)?);
        }
        if access == Access::NONE {
            // There must be no store after the copy.
            protect(span.clone(), Access::READ)?;
            for page in pages {
                if self.fault_path.is_mapped(page) {
                    self.pages.park(page)?;
                }
            }
            protect(span.clone(), access)?;
            self.pages.drop_memory(span.clone())?;
        } else {
            if before == Access::NONE {
                self.pages.unpark(pages)?;
            }
            protect(span.clone(), access)?;
        }
        self.pages.extents.set_access(span, access);
        Ok(())
    }

    /// Refuses a page that may be written and does not move, if stores cannot be made to wait.
    fn check_protection(&self, access: Access) -> Result<(), MappingError> {
        let is_refused = access.writes() && access != Access::READ_WRITE && !self.pages.can_protect();
        if is_refused { Err(Errno::ACCESS.into()) } else { Ok(()) }
    }

    /// Removes the pages of a span: they are free, and hold zeros when they are assigned again.
    pub(crate) fn forget(&mut self, span: Range<usize>) {
        let span = whole_pages(span);
        let parts = self.pages.extents.parts(span.clone());
        self.pages.extents.remove(span);
        for pages in parts.into_iter().filter_map(|part| part.pages) {
            pages.clone().for_each(|page| self.pages.drop_parked(page));
            self.discard(pages);
        }
    }

    /// Discards the contents of a span.
    pub(crate) fn discard_at(&mut self, span: Range<usize>) {
        for ExtentPart { at, pages, on_demand, .. } in self.pages.extents.parts(whole_pages(span)) {
            if let Some(pages) = pages {
                self.discard(pages);
            } else if on_demand == Some(OnExhaustion::Spill) {
                // It may have been left to the kernel. The kernel takes this advice for mapped memory.
                let _ = self.pages.drop_memory(at);
            }
        }
    }

    /// Leaves the paged memory of a span to the kernel, with its contents.
    pub(crate) fn expose(&mut self, span: Range<usize>) -> Result<(), PagingError> {
        for at in whole_pages(span).step_by(PAGE_BYTES) {
            let here = at..at + PAGE_BYTES;
            let part = self.pages.extents.parts(here.clone()).pop();
            let is_paged = |part: &ExtentPart| part.access == Access::READ_WRITE && part.is_paged();
            let Some(part) = part.filter(is_paged) else { continue };
            if let Some(pages) = part.pages {
                self.fault(pages.start)?;
            }
            // A page that was never accessed, or has lost its memory, holds zeros.
            let page = ptr::with_exposed_provenance_mut(at);
            self.pages.give_zeros(page, false).map_err(PagingError::Frames)?;
            // Its memory stays; the region's copy is discarded.
            self.forget(here.clone());
            self.pages.extents.reserve_on_demand(here, part.access, OnExhaustion::Spill);
        }
        Ok(())
    }

    /// Maps free pages at addresses of the region's own.
    pub(crate) fn bind_own(&mut self, span: Range<usize>) -> bool {
        self.pages.extents.bind(span, Access::READ_WRITE)
    }

    /// Unmaps pages at addresses of the region's own.
    pub(crate) fn release_own(&mut self, span: Range<usize>) -> Result<(), MappingError> {
        let changed = self.pages.extents.parts(span.clone()).into_iter();
        for part in changed.filter(|part| part.access != Access::READ_WRITE) {
            protect(part.at, Access::READ_WRITE)?;
        }
        self.forget(span.clone());
        Ok(self.pages.drop_memory(span)?)
    }

    pub(crate) fn discard(&mut self, pages: Range<u64>) {
        let page = pages.start;
        if let Err(error) = self.fault_path.discard(pages, &mut self.pages) {
            abort(&Failure { page, error });
        }
    }

    fn check_room(&self, wanted: usize, freed: usize) -> Result<(), MappingError> {
        let room = self.pages.extents.free_pages() + freed / PAGE_BYTES;
        if wanted / PAGE_BYTES > room { Err(MappingError::Full) } else { Ok(()) }
    }

    /// Pages a span without pages, which could not be written before, and makes it accessible.
    fn adopt(
        &mut self,
        span: Range<usize>,
        access: Access,
        on_demand: Option<OnExhaustion>,
    ) -> Result<(), MappingError> {
        self.pages.register_span(span.clone())?;
        if let Some(on_exhaustion) = on_demand {
            self.pages.extents.reserve_on_demand(span.clone(), access, on_exhaustion);
        } else if !self.pages.extents.bind(span.clone(), access) {
            return Err(MappingError::Full);
        }
        protect(span.clone(), access).inspect_err(|_| self.pages.extents.remove(span))?;
        Ok(())
    }
}

fn paged_bytes(part: &ExtentPart) -> usize {
    if part.pages.is_some() { part.at.len() } else { 0 }
}

fn whole_pages(span: Range<usize>) -> Range<usize> {
    span.start & !(PAGE_BYTES - 1)
        ..span.end.checked_next_multiple_of(PAGE_BYTES).unwrap_or(usize::MAX & !(PAGE_BYTES - 1))
}

fn prot(access: Access) -> ProtFlags {
    ProtFlags::from_bits_retain(access.protection() as u32)
}

/// Changes access rights as the program requested, also of memory that is not paged.
fn protect(span: Range<usize>, access: Access) -> Result<(), Errno> {
    if span.is_empty() {
        return Ok(());
    }
    let flags = MprotectFlags::from_bits_retain(access.protection() as u32);
    // SAFETY: the caller of `Region::protect` knows what is at these addresses.
    unsafe { rustix::mm::mprotect(ptr::without_provenance_mut(span.start), span.len(), flags) }
}
