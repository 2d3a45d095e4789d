//! The frames of a region, which userfaultfd fills and empties.
//!
//! An eviction moves the victim's memory to a frame. Once it is written, that memory is freed, a few pages at a time,
//! and never filled again. The kernel may still reference it without telling: `vmsplice` and `MSG_ZEROCOPY` take a
//! reference and no pin, and `UFFDIO_MOVE` checks pins only. The memory that it references keeps its contents and never
//! holds another page. So the wanted page is read into a buffer of our own and copied into new memory. Where the kernel
//! cannot move a page, it is write-protected, copied into the frame and freed.
#![allow(unsafe_code, reason = "moves memory under the application; each block says why it is sound")]

use super::page_moves::MoveOutcome;
use super::pages::Pages;
use crate::access::Access;
use crate::extents::PageMapping;
use crate::failure::MoveError;
use crate::fault::frames::{Frames, TakeOutcome};
use crate::page::PAGE_BYTES;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use zeroize::Zeroizing;

impl Frames for Pages {
    type Error = MoveError;

    fn take(&mut self, page: u64, frame: usize) -> Result<TakeOutcome, MoveError> {
        match self.place(page) {
            Some((page, true)) => self.take_by_move(page, frame),
            Some((page, false)) => self.take_by_copy(page, frame),
            None => {
                // It is mapped nowhere, and holds zeros; or it may not be accessed now.
                self.zeroed_slot(frame)?;
                if let Some(parked) = self.parked.remove(&page).map(Zeroizing::new) {
                    self.bytes(frame).copy_from_slice(&parked);
                }
                Ok(TakeOutcome::Out)
            }
        }
    }

    fn prepare(&mut self, frame: usize) -> Result<(), MoveError> {
        if self.uffd.moves() && !self.is_buffered(frame) {
            self.fresh.push(self.slots[frame]);
            self.slots[frame] = self.buffer();
        }
        // SAFETY: the buffer, and without moves every frame, is ordinary memory, and only we use it.
        unsafe { self.frame(frame).write_bytes(0, PAGE_BYTES) };
        Ok(())
    }

    fn bytes(&mut self, frame: usize) -> &mut [u8] {
        // SAFETY: a frame that is not empty has memory, which nothing else accesses; `&mut self` keeps it from moving.
        unsafe { std::slice::from_raw_parts_mut(self.frame(frame), PAGE_BYTES) }
    }

    fn renew(&mut self, frame: usize) {
        if self.uffd.moves() && !self.is_buffered(frame) {
            self.retired.push(self.slots[frame]);
            self.slots[frame] = self.buffer();
        }
    }

    fn clear_frame(&mut self, frame: usize) -> Result<(), MoveError> {
        if self.uffd.moves() {
            self.drop_pages(self.frame(frame), 1)?;
            self.give_zeros(self.frame(frame), false)?;
        } else {
            self.bytes(frame).fill(0);
        }
        Ok(())
    }

    fn put(&mut self, frame: usize, page: u64) -> Result<(), MoveError> {
        let (from, (to, moves)) = (self.frame(frame), self.place(page).expect("a page that was touched"));
        let is_slot = self.uffd.moves() && !self.is_buffered(frame);
        if moves && is_slot {
            // SAFETY: the page is absent; an access to it waits. Only we use the frame.
            return unsafe { self.uffd.move_in(from, to, self.wake) };
        }
        // SAFETY: as above.
        if unsafe { !self.uffd.fill(to, from, self.wake)? } {
            return Err(MoveError { call: "UFFDIO_COPY", errno: Errno::EXIST });
        }
        // An empty slot has no memory, where memory is moved to it.
        if is_slot { self.drop_pages(from, 1) } else { Ok(()) }
    }

    fn confirm(&mut self, page: u64) -> Result<(), MoveError> {
        let Some((page, _)) = self.place(page) else { return Ok(()) };
        if !self.give_zeros(page, self.wake)? && self.wake {
            self.uffd.wake_page(page)?;
        }
        Ok(())
    }

    fn clear(&mut self, page: u64) -> Result<(), MoveError> {
        let Some(PageMapping { at, access }) = self.extents.mapping_of(page) else { return Ok(()) };
        self.drop_parked(page);
        let page: *mut u8 = std::ptr::with_exposed_provenance_mut(at);
        if access != Access::READ_WRITE {
            return self.drop_pages(page, 1);
        }
        if !self.give_zeros(page, self.wake)? {
            self.drop_pages(page, 1)?;
            self.give_zeros(page, self.wake)?;
        }
        Ok(())
    }

    fn wipe(&mut self, page: u64) -> Result<(), MoveError> {
        match self.extents.mapping_of(page) {
            Some(PageMapping { at, access: Access::READ_WRITE }) => {
                let page: *mut u8 = std::ptr::with_exposed_provenance_mut(at);
                if !self.give_zeros(page, self.wake)? {
                    // SAFETY: the page is present, and it stays: evictions need the lock that our caller holds.
                    unsafe { page.write_bytes(0, PAGE_BYTES) };
                }
                Ok(())
            }
            _ => self.clear(page),
        }
    }

    fn may_exceed(&self) -> bool {
        // In a signal handler nothing may be allocated. No system call accesses such a region.
        self.wake
    }

    fn tracks_zero_pages(&self) -> bool {
        // Pages are assigned at an access under the handler thread only.
        self.wake
    }

    fn now(&self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

impl Pages {
    fn is_buffered(&self, frame: usize) -> bool {
        self.slots[frame] == self.buffer()
    }

    fn frame(&self, frame: usize) -> *mut u8 {
        self.slot(self.slots[frame])
    }

    /// The frame's slot, without memory where pages are moved.
    fn empty_slot(&mut self, frame: usize) -> Result<*mut u8, MoveError> {
        if self.is_buffered(frame) {
            if self.fresh.is_empty() {
                self.release_retired()?;
            }
            self.slots[frame] = self.fresh.pop().expect("a slot is retired, or fresh");
        }
        Ok(self.frame(frame))
    }

    /// The slot of the frame, filled with zeros.
    fn zeroed_slot(&mut self, frame: usize) -> Result<*mut u8, MoveError> {
        let slot = self.empty_slot(frame)?;
        if self.uffd.moves() {
            self.give_zeros(slot, false)?;
        } else {
            // SAFETY: without moves a frame is ordinary memory, and only we use it.
            unsafe { slot.write_bytes(0, PAGE_BYTES) };
        }
        Ok(slot)
    }

    fn release_retired(&mut self) -> Result<(), MoveError> {
        self.retired.sort_unstable();
        for run in self.retired.chunk_by(|one, next| one + 1 == *next) {
            self.drop_pages(self.slot(run[0]), run.len())?;
        }
        // The last slot is reused first.
        self.fresh.extend(self.retired.drain(..).rev());
        Ok(())
    }

    /// The address of a page, if it may be accessed there, and whether its memory can be moved.
    fn place(&self, page: u64) -> Option<(*mut u8, bool)> {
        let PageMapping { at, access } =
            self.extents.mapping_of(page).filter(|place| place.access != Access::NONE)?;
        // The kernel moves memory between equal mappings only, and the frames may be read and written.
        let moves = self.uffd.moves() && access == Access::READ_WRITE;
        Some((std::ptr::with_exposed_provenance_mut(at), moves))
    }

    fn take_by_move(&mut self, page: *mut u8, frame: usize) -> Result<TakeOutcome, MoveError> {
        let slot = self.empty_slot(frame)?;
        // SAFETY: the page belongs to the region, and a thread that accesses it meanwhile faults and waits for the lock
        // that our caller holds. The slot is empty, and only we use it.
        match unsafe { self.uffd.move_out(page, slot)? } {
            MoveOutcome::Moved => Ok(TakeOutcome::Out),
            MoveOutcome::Held => Ok(TakeOutcome::Busy),
            // Then it holds zeros.
            MoveOutcome::WasAbsent => {
                self.give_zeros(slot, false)?;
                Ok(TakeOutcome::Out)
            }
        }
    }

    fn take_by_copy(&mut self, page: *mut u8, frame: usize) -> Result<TakeOutcome, MoveError> {
        // If the application has discarded the memory, it is zeros from now on: reading it must not fault.
        self.give_zeros(page, false)?;
        if self.uffd.protects() {
            self.uffd.protect_page(page)?;
        }
        let slot = if self.uffd.moves() { self.zeroed_slot(frame)? } else { self.frame(frame) };
        // SAFETY: the page is present and no thread can write to it; only we use the slot.
        unsafe { page.copy_to_nonoverlapping(slot, PAGE_BYTES) };
        self.drop_pages(page, 1)?;
        Ok(TakeOutcome::Out)
    }

    fn drop_pages(&self, first: *mut u8, pages: usize) -> Result<(), MoveError> {
        let failed = |errno| MoveError { call: "MADV_DONTNEED", errno };
        self.drop_memory(first as usize..first as usize + pages * PAGE_BYTES).map_err(failed)
    }
}
