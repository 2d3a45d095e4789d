//! The pages and frames of a region, moved by userfaultfd.
//!
//! An eviction moves the victim's memory to a frame; once it is written, that memory goes back to the system, a few
//! pages at a time, and is never filled again. The kernel may still hold on to it without saying so: `vmsplice` and
//! `MSG_ZEROCOPY` take a reference and no pin, and `UFFDIO_MOVE` asks for pins only. What it holds then is what it was
//! given, and goes out with nothing else in it. So the wanted page is read into a buffer of our own and copied into new
//! memory. Where the kernel cannot move a page, it is protected against writing, copied into the frame and given back to
//! the system.
#![allow(unsafe_code, reason = "moves memory under the application; each block says why it is sound")]

use super::moves::{TakenOut, ZEROS};
use super::userfaultfd::Userfaultfd;
use crate::access::Access;
use crate::extents::{Extents, Place};
use crate::failure::MoveError;
use crate::fault::frames::{Frames, Taken};
use crate::options::PAGE_BYTES;
use crate::private::PrivateMapping;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Pages whose memory waits to be given back at once: a call for each of them would cost more than the rest of it.
const RETIRED: usize = 8;

/// Pages behind the region, in its mapping's second part, that so many frames need: the frames, what waits to be given
/// back, and the buffer.
pub(crate) const fn beside_region(frames: usize) -> usize {
    frames + RETIRED + 1
}

pub(crate) struct Pages {
    pub(super) uffd: Arc<Userfaultfd>,
    /// First the region's own addresses, then slots for the frames, and the buffer as the last of them.
    pub(super) mapping: Arc<PrivateMapping>,
    /// Where the pages stand.
    pub(crate) extents: Extents,
    /// What pages hold that are in sight but may not be touched now.
    pub(super) parked: BTreeMap<u64, Box<[u8]>>,
    /// Whether faulting threads wait to be woken.
    wake: bool,
    /// The slot of each frame. Where pages are moved, these change; the buffer is one frame's at most.
    slots: Box<[usize]>,
    /// Slots without memory.
    fresh: Vec<usize>,
    /// Slots whose memory is to be given back.
    retired: Vec<usize>,
}

impl Pages {
    pub(crate) fn new(
        uffd: Arc<Userfaultfd>,
        mapping: Arc<PrivateMapping>,
        extents: Extents,
        frames: usize,
        wake: bool,
    ) -> Self {
        // Neither grows later: a fault may be served in a signal handler.
        let mut fresh = Vec::with_capacity(frames + RETIRED);
        fresh.extend(frames..frames + RETIRED);
        let retired = Vec::with_capacity(frames + RETIRED);
        let slots = (0..frames).collect();
        Pages { uffd, mapping, extents, parked: BTreeMap::new(), wake, slots, fresh, retired }
    }

    fn buffer(&self) -> usize {
        self.mapping.second_bytes() / PAGE_BYTES - 1
    }

    fn is_buffered(&self, frame: usize) -> bool {
        self.slots[frame] == self.buffer()
    }

    /// The frame's slot, without memory where pages are moved.
    fn empty(&mut self, frame: usize) -> Result<*mut u8, MoveError> {
        if self.is_buffered(frame) {
            if self.fresh.is_empty() {
                self.give_back_retired()?;
            }
            self.slots[frame] = self.fresh.pop().expect("a slot is retired, or fresh");
        }
        Ok(self.frame(frame))
    }

    /// The same with zeros.
    fn zeros(&mut self, frame: usize) -> Result<*mut u8, MoveError> {
        let slot = self.empty(frame)?;
        if self.uffd.moves() {
            self.give_zeros(slot, false)?;
        } else {
            // SAFETY: without moves a frame is ordinary memory, and ours alone.
            unsafe { slot.write_bytes(0, PAGE_BYTES) };
        }
        Ok(slot)
    }

    fn give_back_retired(&mut self) -> Result<(), MoveError> {
        self.retired.sort_unstable();
        for run in self.retired.chunk_by(|one, next| one + 1 == *next) {
            self.drop_pages(self.slot(run[0]), run.len())?;
        }
        // The last comes first again.
        self.fresh.extend(self.retired.drain(..).rev());
        Ok(())
    }

    /// Bytes of bookkeeping.
    pub(crate) fn trusted_bytes(&self) -> usize {
        self.extents.trusted_bytes() + self.parked.len() * PAGE_BYTES
    }

    /// Where a page stands, if it may be touched there, and whether its memory can be moved.
    fn place(&self, page: u64) -> Option<(*mut u8, bool)> {
        let Place { at, access } =
            self.extents.place_of(page).filter(|place| place.access != Access::NONE)?;
        // The kernel moves memory between equals only, and the frames may be read and written.
        let moves = self.uffd.moves() && access == Access::READ_WRITE;
        Some((std::ptr::with_exposed_provenance_mut(at), moves))
    }

    /// Lets everybody go on who waits at an address.
    pub(crate) fn wake(&self, address: usize) {
        if self.wake {
            // Whoever waited where nothing is mapped any more need not be woken.
            let _ = self.uffd.wake(address & !(PAGE_BYTES - 1), PAGE_BYTES);
        }
    }

    /// Lets everybody go on who waits at one of these addresses.
    pub(crate) fn wake_all(&self, addresses: Range<usize>) {
        let first = addresses.start & !(PAGE_BYTES - 1);
        let _ = self.uffd.wake(first, addresses.end.next_multiple_of(PAGE_BYTES) - first);
    }

    /// Acts without waking anybody.
    pub(super) fn without_waking<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let wake = std::mem::replace(&mut self.wake, false);
        let outcome = act(self);
        self.wake = wake;
        outcome
    }

    fn frame(&self, frame: usize) -> *mut u8 {
        self.slot(self.slots[frame])
    }

    fn slot(&self, slot: usize) -> *mut u8 {
        let offset = slot * PAGE_BYTES;
        assert!(offset < self.mapping.second_bytes(), "the slot is one of the region's");
        self.mapping.second().wrapping_add(offset)
    }

    /// Gives an absent page of the mapping memory that holds zeros. `false` if it has memory already.
    pub(super) fn give_zeros(&self, to: *mut u8, wake: bool) -> Result<bool, MoveError> {
        // SAFETY: the page is absent, or nothing happens; until now a touch of it faults and waits.
        unsafe { self.uffd.fill(to, ZEROS.as_ptr(), wake) }
    }

    fn move_out(&mut self, page: *mut u8, frame: usize) -> Result<Taken, MoveError> {
        let slot = self.empty(frame)?;
        // SAFETY: the page is the region's, and a thread that touches it meanwhile faults and waits for the lock that our
        // caller holds. The slot is empty, and ours alone.
        match unsafe { self.uffd.take_out(page, slot)? } {
            TakenOut::Moved => Ok(Taken::Out),
            TakenOut::Held => Ok(Taken::Busy),
            // Then it holds zeros.
            TakenOut::WasAbsent => {
                self.give_zeros(slot, false)?;
                Ok(Taken::Out)
            }
        }
    }

    fn copy_out(&mut self, page: *mut u8, frame: usize) -> Result<Taken, MoveError> {
        // If the application has given the memory back, there is zeros from now on: reading it must not fault.
        self.give_zeros(page, false)?;
        if self.uffd.protects() {
            self.uffd.protect_page(page)?;
        }
        let slot = if self.uffd.moves() { self.zeros(frame)? } else { self.frame(frame) };
        // SAFETY: the page is present and nobody can write to it; the slot is ours alone.
        unsafe { page.copy_to_nonoverlapping(slot, PAGE_BYTES) };
        self.drop_pages(page, 1)?;
        Ok(Taken::Out)
    }

    fn drop_pages(&self, first: *mut u8, pages: usize) -> Result<(), MoveError> {
        let failed = |errno| MoveError { call: "MADV_DONTNEED", errno };
        self.drop_memory(first as usize..first as usize + pages * PAGE_BYTES).map_err(failed)
    }
}

impl Frames for Pages {
    type Error = MoveError;

    fn take(&mut self, page: u64, frame: usize) -> Result<Taken, MoveError> {
        match self.place(page) {
            Some((page, true)) => self.move_out(page, frame),
            Some((page, false)) => self.copy_out(page, frame),
            None => {
                // It stands nowhere, and holds zeros; or nobody may touch it now.
                self.zeros(frame)?;
                if let Some(parked) = self.parked.remove(&page).map(Zeroizing::new) {
                    self.bytes(frame).copy_from_slice(&parked);
                }
                Ok(Taken::Out)
            }
        }
    }

    fn prepare(&mut self, frame: usize) -> Result<(), MoveError> {
        if self.uffd.moves() && !self.is_buffered(frame) {
            self.fresh.push(self.slots[frame]);
            self.slots[frame] = self.buffer();
        }
        // SAFETY: the buffer, and without moves every frame, is ordinary memory, and ours alone.
        unsafe { self.frame(frame).write_bytes(0, PAGE_BYTES) };
        Ok(())
    }

    fn bytes(&mut self, frame: usize) -> &mut [u8] {
        // SAFETY: a frame that is not empty has memory, which nobody else reaches; `&mut self` keeps it from moving.
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
            // SAFETY: the page is absent; a touch of it waits. The frame is ours alone.
            return unsafe { self.uffd.put_in(from, to, self.wake) };
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
        let Some(Place { at, access }) = self.extents.place_of(page) else { return Ok(()) };
        self.unpark_nowhere(page);
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
        match self.extents.place_of(page) {
            Some(Place { at, access: Access::READ_WRITE }) => {
                let page: *mut u8 = std::ptr::with_exposed_provenance_mut(at);
                if !self.give_zeros(page, self.wake)? {
                    // SAFETY: the page is present, and it stays: evictions want the lock that our caller holds.
                    unsafe { page.write_bytes(0, PAGE_BYTES) };
                }
                Ok(())
            }
            _ => self.clear(page),
        }
    }

    fn may_exceed(&self) -> bool {
        // In a signal handler nothing may be allocated; and no system call touches such a region.
        self.wake
    }

    fn now(&self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // The last page that came in. Without moves nothing was ever there.
        // SAFETY: the buffer is ordinary memory, and ours alone.
        unsafe { self.slot(self.buffer()).write_bytes(0, PAGE_BYTES) };
    }
}
