//! The pages and frames of a region, moved by userfaultfd.
//!
//! A frame's memory goes round: an eviction moves the victim's memory to the frame, the wanted page is read into it,
//! and it is moved on to the wanted page. Only the first faults, while there is room, get new memory. Where the kernel
//! cannot move pages, a victim is protected against writing, copied into the frame and given back to the system.
#![allow(unsafe_code, reason = "moves memory under the application; each block says why it is sound")]

use super::userfaultfd::Userfaultfd;
use crate::failure::MoveError;
use crate::fault::frames::{Frames, Taken};
use crate::options::PAGE_BYTES;
use crate::private::PrivateMapping;
use rustix::io::Errno;
use rustix::mm::Advice;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;

static ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

pub(crate) struct Pages {
    uffd: Arc<Userfaultfd>,
    /// First the region, then the frames.
    mapping: Arc<PrivateMapping>,
    /// Whether faulting threads wait to be woken.
    wake: bool,
}

impl Pages {
    pub(crate) fn new(uffd: Arc<Userfaultfd>, mapping: Arc<PrivateMapping>, wake: bool) -> Self {
        Pages { uffd, mapping, wake }
    }

    fn page(&self, page: u64) -> *mut u8 {
        let offset = page as usize * PAGE_BYTES;
        assert!(offset < self.mapping.first_bytes(), "the page is one of the region's");
        self.mapping.first().wrapping_add(offset)
    }

    fn frame(&self, frame: usize) -> *mut u8 {
        let offset = frame * PAGE_BYTES;
        assert!(offset < self.mapping.second_bytes(), "the frame is one of the region's");
        self.mapping.second().wrapping_add(offset)
    }

    /// Gives an absent page of the mapping memory that holds zeros. `false` if it has memory already.
    fn give_zeros(&self, to: *mut u8, wake: bool) -> Result<bool, MoveError> {
        loop {
            // SAFETY: the page is absent, or nothing happens; until now a touch of it faults and waits.
            match unsafe { self.uffd.copy(to as usize, ZEROS.as_ptr(), PAGE_BYTES, wake) } {
                Ok(()) => return Ok(true),
                Err(Errno::EXIST) => return Ok(false),
                // The address space is being changed by another thread.
                Err(Errno::AGAIN) => {}
                Err(errno) => return Err(MoveError { call: "UFFDIO_COPY", errno }),
            }
        }
    }

    fn move_out(&mut self, page: *mut u8, frame: usize) -> Result<Taken, MoveError> {
        let to = self.frame(frame) as usize;
        loop {
            // SAFETY: the page is the region's, and a thread that touches it meanwhile faults and waits for the lock
            // that our caller holds. The frame is empty, and ours alone.
            match unsafe { self.uffd.move_page(to, page as usize, PAGE_BYTES, false) } {
                Ok(()) => return Ok(Taken::Out),
                Err(Errno::AGAIN) => {}
                Err(Errno::BUSY) => return Ok(Taken::Busy),
                // The application has given the page's memory back to the system: then it holds zeros.
                Err(Errno::NOENT) => {
                    self.prepare(frame)?;
                    return Ok(Taken::Out);
                }
                Err(errno) => return Err(MoveError { call: "UFFDIO_MOVE", errno }),
            }
        }
    }

    fn copy_out(&mut self, page: *mut u8, frame: usize) -> Result<Taken, MoveError> {
        // If the application has given the memory back, there is zeros from now on: reading it must not fault.
        self.give_zeros(page, false)?;
        let failed = |call| move |errno| MoveError { call, errno };
        self.uffd.protect(page as usize, PAGE_BYTES).map_err(failed("UFFDIO_WRITEPROTECT"))?;
        // SAFETY: the page is present and nobody can write to it; the frame is ours alone.
        unsafe { page.copy_to_nonoverlapping(self.frame(frame), PAGE_BYTES) };
        let advice =
            if self.mapping.is_locked() { Advice::LinuxDontneedLocked } else { Advice::LinuxDontNeed };
        // SAFETY: a touch of the page faults from now on, and finds its contents where the fault path has them.
        unsafe { rustix::mm::madvise(page.cast(), PAGE_BYTES, advice) }.map_err(failed("MADV_DONTNEED"))?;
        Ok(Taken::Out)
    }
}

impl Frames for Pages {
    type Error = MoveError;

    fn take(&mut self, page: u64, frame: usize) -> Result<Taken, MoveError> {
        let page = self.page(page);
        if self.uffd.moves() { self.move_out(page, frame) } else { self.copy_out(page, frame) }
    }

    fn prepare(&mut self, frame: usize) -> Result<(), MoveError> {
        let frame = self.frame(frame);
        if self.uffd.moves() {
            self.give_zeros(frame, false)?;
        } else {
            // SAFETY: without moves a frame is ordinary memory, and ours alone.
            unsafe { frame.write_bytes(0, PAGE_BYTES) };
        }
        Ok(())
    }

    fn bytes(&mut self, frame: usize) -> &mut [u8] {
        // SAFETY: a frame that is not empty has memory, which nobody else reaches; `&mut self` keeps it from moving.
        unsafe { std::slice::from_raw_parts_mut(self.frame(frame), PAGE_BYTES) }
    }

    fn put(&mut self, frame: usize, page: u64) -> Result<(), MoveError> {
        let (from, to) = (self.frame(frame), self.page(page) as usize);
        loop {
            let (call, done) = if self.uffd.moves() {
                // SAFETY: the page is absent; a touch of it waits. The frame is ours alone.
                ("UFFDIO_MOVE", unsafe { self.uffd.move_page(to, from as usize, PAGE_BYTES, self.wake) })
            } else {
                // SAFETY: as above.
                ("UFFDIO_COPY", unsafe { self.uffd.copy(to, from, PAGE_BYTES, self.wake) })
            };
            match done {
                Ok(()) => return Ok(()),
                Err(Errno::AGAIN) => {}
                Err(errno) => return Err(MoveError { call, errno }),
            }
        }
    }

    fn confirm(&mut self, page: u64) -> Result<(), MoveError> {
        let page = self.page(page);
        if !self.give_zeros(page, self.wake)? && self.wake {
            let failed = |errno| MoveError { call: "UFFDIO_WAKE", errno };
            self.uffd.wake(page as usize, PAGE_BYTES).map_err(failed)?;
        }
        Ok(())
    }

    fn clear(&mut self, page: u64) -> Result<(), MoveError> {
        let page = self.page(page);
        if !self.give_zeros(page, self.wake)? {
            // SAFETY: the page is present, and it stays: evictions want the lock that our caller holds.
            unsafe { page.write_bytes(0, PAGE_BYTES) };
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}
