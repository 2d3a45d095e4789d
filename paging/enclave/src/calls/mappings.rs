//! Calls about memory.

use super::Program;
use super::call_error::{CallError, CallResult};
use crate::access::Access;
use crate::host::Mailbox;
use crate::layout::{LOWEST, PAGE, mappings, page_of, trampoline};
use crate::processor::Processor;
use crate::space::{Area, CommitPolicy};
use alloc::vec::Vec;
use core::ops::Range;
use linux_raw_sys::errno::{EBADF, EEXIST, EFAULT, EINVAL, ENOMEM};
use linux_raw_sys::general::{
    MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NORMAL, MADV_PAGEOUT, MADV_WILLNEED, MAP_ANONYMOUS,
    MAP_FIXED, MAP_FIXED_NOREPLACE, MAP_HUGETLB, MAP_NORESERVE, MAP_PRIVATE, MAP_SHARED, MAP_TYPE,
    MREMAP_FIXED, MREMAP_MAYMOVE,
};

/// The pages of a range of addresses that begins at a page.
fn pages(address: u64, bytes: u64) -> Result<Range<u64>, CallError> {
    let end =
        address.checked_add(bytes).filter(|end| *end <= u64::MAX - PAGE).ok_or(CallError::Errno(EINVAL))?;
    if !address.is_multiple_of(PAGE) {
        return Err(CallError::Errno(EINVAL));
    }
    Ok(page_of(address)..end.div_ceil(PAGE))
}

/// The error for a range that begins at a page and ends beyond all addresses, where Linux finds no memory.
fn beyond(address: u64, error: CallError) -> CallError {
    if address.is_multiple_of(PAGE) { CallError::Errno(ENOMEM) } else { error }
}

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    pub(super) fn brk(&mut self, address: u64) -> CallResult {
        let (old, start) = (self.heap.end, self.heap.start);
        if address < start || address > self.memory.kernel().start {
            return Ok(old);
        }
        let (old_pages, new_pages) = (old.div_ceil(PAGE), address.div_ceil(PAGE));
        if new_pages > old_pages {
            let more = old_pages..new_pages;
            let space = &mut self.memory.space;
            if !space.is_free(&more) || space.map(more, Access::READ_WRITE, CommitPolicy::Immediate).is_err()
            {
                return Ok(old);
            }
        } else {
            self.unmap(new_pages..old_pages)?;
        }
        self.heap.end = address;
        Ok(address)
    }

    pub(super) fn mmap(&mut self, [address, bytes, protection, flags, ..]: [u64; 6]) -> CallResult {
        let has = |flag: u32| flags & u64::from(flag) != 0;
        if !has(MAP_ANONYMOUS) {
            return Err(CallError::Errno(EBADF));
        }
        let access = Access::of(protection).ok_or(CallError::Errno(EINVAL))?;
        // Shared memory is its own: there is no other process to share it with.
        let kinds = [MAP_PRIVATE, MAP_SHARED].map(u64::from);
        if bytes == 0 || has(MAP_HUGETLB) || !kinds.contains(&(flags & u64::from(MAP_TYPE))) {
            return Err(CallError::Errno(EINVAL));
        }
        let commit = match access {
            _ if has(MAP_NORESERVE) => CommitPolicy::OnTouch,
            Access::NONE => CommitPolicy::OnFirstRight,
            _ => CommitPolicy::Immediate,
        };
        let place = if has(MAP_FIXED) || has(MAP_FIXED_NOREPLACE) {
            let place = self.legal(pages(address, bytes).map_err(|error| beyond(address, error))?)?;
            if has(MAP_FIXED_NOREPLACE) && !self.memory.space.is_free(&place) {
                return Err(CallError::Errno(EEXIST));
            }
            self.unmap(place.clone())?;
            place
        } else {
            self.free_place(address, bytes)?
        };
        let at = place.start * PAGE;
        self.memory.space.map(place, access, commit)?;
        Ok(at)
    }

    /// Finds addresses for this many bytes: at the program's hint, or elsewhere.
    fn free_place(&self, wish: u64, bytes: u64) -> Result<Range<u64>, CallError> {
        let count = bytes.div_ceil(PAGE);
        if wish != 0 && wish.is_multiple_of(PAGE) {
            let place = pages(wish, bytes).and_then(|place| self.legal(place));
            if let Some(place) = place.ok().filter(|place| self.memory.space.is_free(place)) {
                return Ok(place);
            }
        }
        let within = mappings(self.memory.mode(), self.memory.kernel().end);
        let within = page_of(within.start)..page_of(within.end);
        let start = self.memory.space.place(count, &within).ok_or(CallError::Errno(ENOMEM))?;
        Ok(start..start + count)
    }

    /// Checks that a program may have memory there, and change it.
    fn legal(&self, pages: Range<u64>) -> Result<Range<u64>, CallError> {
        let kernel = self.memory.kernel();
        let above = pages.start >= page_of(kernel.end);
        let below = pages.start >= page_of(LOWEST) && pages.end <= page_of(kernel.start);
        if (above || below) && pages.end <= self.end_of_own() {
            return Ok(pages);
        }
        Err(CallError::Errno(ENOMEM))
    }

    fn unmap(&mut self, pages: Range<u64>) -> Result<(), CallError> {
        self.memory.discard(pages.clone())?;
        self.memory.space.unmap(pages);
        Ok(())
    }

    pub(super) fn munmap(&mut self, address: u64, bytes: u64) -> CallResult {
        if bytes == 0 {
            return Err(CallError::Errno(EINVAL));
        }
        let pages = self.legal(pages(address, bytes)?).map_err(|_| CallError::Errno(EINVAL))?;
        self.unmap(pages)?;
        Ok(0)
    }

    pub(super) fn mprotect(&mut self, address: u64, bytes: u64, protection: u64) -> CallResult {
        let access = Access::of(protection).ok_or(CallError::Errno(EINVAL))?;
        let pages = pages(address, bytes).map_err(|error| beyond(address, error))?;
        // The part before a hole is changed, as on Linux.
        let there = self.memory.space.before_hole(&pages);
        let there = there.start..there.end.min(self.end_of_own()).max(there.start);
        let is_whole = there == pages;
        if !there.is_empty() {
            self.memory.space.protect(there.clone(), access)?;
            self.memory.protect(there, access);
        }
        if is_whole { Ok(0) } else { Err(CallError::Errno(ENOMEM)) }
    }

    /// The page after the last that the program may change.
    fn end_of_own(&self) -> u64 {
        page_of(trampoline(self.memory.mode()).start)
    }

    pub(super) fn mremap(&mut self, [address, old_bytes, new_bytes, flags, to]: [u64; 5]) -> CallResult {
        let has = |flag: u32| flags & u64::from(flag) != 0;
        let known = u64::from(MREMAP_MAYMOVE | MREMAP_FIXED);
        let fixed = has(MREMAP_FIXED);
        if new_bytes == 0 || old_bytes == 0 || flags & !known != 0 || fixed && !has(MREMAP_MAYMOVE) {
            return Err(CallError::Errno(EINVAL));
        }
        let (old, new) = (pages(address, old_bytes)?, pages(address, new_bytes)?);
        let to = if fixed { Some(pages(to, new_bytes)?) } else { None };
        if to.as_ref().is_some_and(|to| to.start < old.end && old.start < to.end) {
            return Err(CallError::Errno(EINVAL));
        }
        let area = self.memory.space.area_of(old.start).filter(|area| area.end >= old.end);
        let area = area.filter(|_| self.legal(old.clone()).is_ok()).ok_or(CallError::Errno(EFAULT))?;
        let to = to.map(|to| self.legal(to)).transpose()?;
        if let Some(to) = &to {
            self.unmap(to.clone())?;
        }
        let left = old.start..old.end.min(new.end);
        self.unmap(left.end..old.end)?;
        let place = match to {
            Some(to) => to,
            None if new.end <= old.end => return Ok(address),
            None => {
                let more = old.end..new.end;
                if self.memory.space.is_free(&more) && self.legal(more.clone()).is_ok() {
                    self.memory.space.map(more, area.access, area.commit)?;
                    return Ok(address);
                }
                if !has(MREMAP_MAYMOVE) {
                    return Err(CallError::Errno(ENOMEM));
                }
                self.free_place(0, new_bytes)?
            }
        };
        self.move_pages(left, place, area)
    }

    /// Moves the rest of an area's pages to free addresses.
    fn move_pages(&mut self, left: Range<u64>, place: Range<u64>, area: Area) -> CallResult {
        let (at, space) = (place.start, &mut self.memory.space);
        // The old reservation is released before the new one is made.
        space.unmap(left.clone());
        if let Err(error) = space.map(place, area.access, area.commit) {
            space.map(left, area.access, area.commit)?;
            return Err(error.into());
        }
        self.memory.move_pages(left, at)?;
        Ok(at * PAGE)
    }

    pub(super) fn madvise(&mut self, address: u64, bytes: u64, advice: u64) -> CallResult {
        let pages = pages(address, bytes)?;
        let of_image = address < self.image.end && address.saturating_add(bytes) > self.image.start;
        let own = pages.start..pages.end.min(self.end_of_own()).max(pages.start);
        match u32::try_from(advice) {
            // It is followed on both sides of a hole, as on Linux.
            Ok(MADV_DONTNEED) if !of_image => {
                let parts: Vec<Range<u64>> = self.memory.space.within(&own).map(|(part, _)| part).collect();
                parts.into_iter().try_for_each(|part| self.memory.discard(part))?;
            }
            // They may be followed or not.
            Ok(MADV_NORMAL..=MADV_WILLNEED | MADV_FREE | MADV_HUGEPAGE..=MADV_PAGEOUT | 10..=13) => {}
            _ => return Err(CallError::Errno(EINVAL)),
        }
        let is_whole = own == pages && self.memory.space.before_hole(&pages) == pages;
        if is_whole { Ok(0) } else { Err(CallError::Errno(ENOMEM)) }
    }
}
