//! The region's pages at addresses chosen by the program.
#![allow(
    unsafe_code,
    reason = "changes what stands at addresses; each function says what its caller promises"
)]

use crate::access::Access;
use crate::extents::ExtentPart;
use crate::fault_handling::FaultHandling;
use crate::page::PAGE_BYTES;
use crate::region::Region;
use rustix::io::Errno;
use std::ops::Range;

pub use crate::linux::mappings::{MapRequest, MappingError};

/// The state of a span of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanState {
    /// Pages of the region are mapped there.
    Paged,
    /// Pages of the region are assigned at the first access. Until then it holds zeros.
    Open,
    /// The span was mapped without the right to write. It is paged as soon as it becomes writable.
    Reserved,
    /// The span does not belong to the region.
    Nothing,
}

impl SpanState {
    /// Returns whether the span belongs to the region, and may have been written.
    pub fn is_paged(self) -> bool {
        matches!(self, SpanState::Paged | SpanState::Open)
    }
}

/// A part of a span.
#[derive(Clone)]
pub struct SpanPart {
    /// The addresses of the part.
    pub at: Range<usize>,
    /// The state of the part.
    pub known: SpanState,
    /// The access rights of the part; none if it does not belong to the region.
    pub access: Access,
}

/// The addresses of the pages. At first, all pages of a region are at its own addresses, in a row. A caller that
/// allocates its memory like a kernel [releases](Self::release_own) them first.
///
/// The `unsafe` functions have two conditions. The caller knows the contents of the addresses, as for `mmap`, `munmap`
/// and `mprotect` themselves. There is no slice of the region.
impl Region {
    /// Maps private anonymous memory, as `mmap`. It is paged if it may be written and not executed: at once, or [as it
    /// is touched](SpanState::Open) with `MAP_NORESERVE`. Memory that may be neither is
    /// [reserved](SpanState::Reserved). Only under the handler thread.
    ///
    /// If no page is free at the first access to such memory, the process ends. With `MAP_STACK` that memory is left to
    /// the kernel, unencrypted, and a line on standard error reports that once.
    ///
    /// # Errors
    /// [`MappingError`]; in this case nothing has changed.
    ///
    /// # Safety
    /// As `mmap`.
    pub unsafe fn map(&self, wanted: MapRequest) -> Result<*mut u8, MappingError> {
        if self.options().fault_handling != FaultHandling::HandlerThread {
            return Err(Errno::NOSYS.into());
        }
        self.paging().with(move |state| state.map(wanted)).map(std::ptr::with_exposed_provenance_mut)
    }

    /// Unmaps memory, like `munmap`, whether or not it belongs to the region.
    ///
    /// # Errors
    /// [`MappingError`]; in this case nothing has changed.
    ///
    /// # Safety
    /// As `munmap`, and none of it is the region's own.
    pub unsafe fn unmap(&self, span: Range<usize>) -> Result<(), MappingError> {
        self.paging().with(move |state| state.unmap(span))
    }

    /// Changes the protection of memory, like `mprotect`, whether or not it belongs to the region.
    ///
    /// # Errors
    /// [`MappingError`]; as under `mprotect`, a part of it may have changed.
    ///
    /// # Safety
    /// As `mprotect`.
    pub unsafe fn protect(&self, span: Range<usize>, access: Access) -> Result<(), MappingError> {
        self.paging().with(move |state| state.protect(span, access))
    }

    /// Lets the kernel replace what is mapped there. If `act` succeeds, the region's pages there no longer belong to
    /// it.
    ///
    /// # Safety
    /// `act` touches neither the memory of the region nor the arguments of this call. It borrows nothing, and replaces
    /// this span or nothing.
    pub unsafe fn replace<R>(&self, span: Range<usize>, act: impl FnOnce() -> Option<R>) -> Option<R> {
        self.paging().with(move |state| act().inspect(|_| state.forget(span)))
    }

    /// Discards the contents of the region's pages there: they read as zeros. An observer cannot see this.
    ///
    /// # Safety
    /// No other thread reads there meanwhile and relies on the old contents.
    pub unsafe fn discard_at(&self, span: Range<usize>) {
        self.paging().with(move |state| state.discard_at(span));
    }

    /// Leaves the pages of a span to the kernel, unencrypted and with their contents, until they are unmapped or
    /// discarded. The kernel writes to such memory without waiting for a page. Memory that may not be read and written
    /// is not changed.
    pub fn expose(&self, span: Range<usize>) {
        self.paging().expose(span);
    }

    /// Splits a span into its parts, in order and without gaps. Neighbours differ.
    pub fn known(&self, span: Range<usize>) -> Vec<SpanPart> {
        let asked = span.clone();
        let parts = self.paging().with(move |state| state.pages.extents.parts(asked));
        let nothing = |at| SpanPart { at, known: SpanState::Nothing, access: Access::NONE };
        let mut all = Vec::with_capacity(2 * parts.len() + 1);
        let mut at = span.start;
        for ExtentPart { at: part, access, pages, on_demand } in parts {
            if at < part.start {
                all.push(nothing(at..part.start));
            }
            at = part.end;
            let known = match pages {
                Some(_) => SpanState::Paged,
                None if on_demand.is_some() => SpanState::Open,
                None => SpanState::Reserved,
            };
            match all.last_mut() {
                Some(SpanPart { at: before, known: its, access: may })
                    if (before.end, *its, *may) == (part.start, known, access) =>
                {
                    before.end = part.end;
                }
                _ => all.push(SpanPart { at: part, known, access }),
            }
        }
        if at < span.end {
            all.push(nothing(at..span.end));
        }
        all
    }

    /// The number of unencrypted pages so far, of stacks for which none was free. Takes no lock.
    pub fn spilled_pages(&self) -> u64 {
        self.paging().spilled()
    }

    /// Keeps all of the process's memory out of swap, like `mlockall`, but without paging it in.
    ///
    /// # Errors
    /// The errors of the system. In this case nothing has changed.
    pub fn lock_all(&self, now: bool, future: bool) -> Result<(), MappingError> {
        Ok(self.paging().with(move |state| state.pages.lock_all(now, future))?)
    }

    /// Maps free pages, which hold zeros, at a span of the region's own addresses that has none. `false` if too few are
    /// free.
    ///
    /// # Safety
    /// As `mmap`.
    pub unsafe fn bind_own(&self, span: Range<usize>) -> bool {
        assert!(self.is_own(&span), "addresses of the region");
        self.paging().with(move |state| state.bind_own(span))
    }

    /// Unmaps the pages of a span of the region's own addresses. An access there ends the process.
    ///
    /// # Errors
    /// [`MappingError`].
    ///
    /// # Safety
    /// As `munmap`.
    pub unsafe fn release_own(&self, span: Range<usize>) -> Result<(), MappingError> {
        assert!(self.is_own(&span), "addresses of the region");
        self.paging().with(move |state| state.release_own(span))
    }

    /// Returns whether a span is whole pages of the region's own addresses.
    fn is_own(&self, span: &Range<usize>) -> bool {
        let own = self.as_ptr() as usize..self.as_ptr() as usize + self.bytes();
        let whole = span.start.is_multiple_of(PAGE_BYTES) && span.end.is_multiple_of(PAGE_BYTES);
        whole && own.start <= span.start && span.end <= own.end
    }
}
