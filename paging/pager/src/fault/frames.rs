//! The platform under a fault path.

use core::error::Error;

/// The outcome of unmapping a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeOutcome {
    /// The contents of the page are in the frame.
    Out,
    /// The page is in use elsewhere, for example by a device, and stays where it was.
    Busy,
}

/// Page tables and a few **frames**: page-sized buffers that the application cannot access. A page that is taken out is
/// moved to a frame. A page that is paged in is read into a frame, and mapped when it is complete.
///
/// Pages are numbered from 0 through the region, frames from 0. A frame is empty (without memory) until a page is
/// taken into it or it is [prepared](Self::prepare).
pub trait Frames {
    /// Errors of the platform.
    type Error: Error + 'static;

    /// Moves a resident page into an empty frame, **atomically** for every other thread: each store to the page either
    /// is in the frame or faults.
    ///
    /// # Errors
    /// The errors of the platform.
    fn take(&mut self, page: u64, frame: usize) -> Result<TakeOutcome, Self::Error>;

    /// Gives an empty frame memory, which holds zeros.
    ///
    /// # Errors
    /// The errors of the platform.
    fn prepare(&mut self, frame: usize) -> Result<(), Self::Error>;

    /// The memory of a frame that is not empty: exactly one page.
    fn bytes(&mut self, frame: usize) -> &mut [u8];

    /// The page that was taken into this frame is written, and another will be read into it. If the old page's memory
    /// may still be referenced elsewhere, for example by a kernel that sends it, the frame gets other memory now.
    /// Memory that was lent out never holds another page. Its contents do not matter.
    fn renew(&mut self, frame: usize) {
        let _ = frame;
    }

    /// Releases a frame: its page has been written, and no other page comes into it. The fault path calls this only if
    /// more pages [may be resident](Self::may_exceed).
    fn release(&mut self, frame: usize) {
        self.renew(frame);
    }

    /// Discards the contents of a page in a frame: the frame holds zeros. A reader that still references its memory
    /// keeps the old contents.
    ///
    /// # Errors
    /// The errors of the platform.
    fn clear_frame(&mut self, frame: usize) -> Result<(), Self::Error> {
        self.bytes(frame).fill(0);
        Ok(())
    }

    /// Moves a frame's memory to an absent page and wakes all threads that wait for it. Afterwards the frame is empty.
    ///
    /// # Errors
    /// The errors of the platform.
    fn put(&mut self, frame: usize, page: u64) -> Result<(), Self::Error>;

    /// Handles a fault at a page that should be resident: wakes all threads that wait for it. If the application gave
    /// the page's memory back to the system, the page becomes zeros first.
    ///
    /// # Errors
    /// The errors of the platform.
    fn confirm(&mut self, page: u64) -> Result<(), Self::Error>;

    /// Discards the contents of a resident page: it reads as zeros. A reader that still references its memory keeps the
    /// old contents.
    ///
    /// # Errors
    /// The errors of the platform.
    fn clear(&mut self, page: u64) -> Result<(), Self::Error>;

    /// Overwrites a resident page with zeros, also for readers that reference its memory.
    ///
    /// # Errors
    /// The errors of the platform.
    fn wipe(&mut self, page: u64) -> Result<(), Self::Error> {
        self.clear(page)
    }

    /// True if more pages than requested may be resident while none of them can be taken out. That allocates memory.
    fn may_exceed(&self) -> bool {
        false
    }

    /// True if an evicted page of zeros counts as discarded: if memory is short, it then uses none of the region.
    fn tracks_zero_pages(&self) -> bool {
        false
    }

    /// Returns the number of nanoseconds of a monotonic clock, for the counters; 0 without a clock.
    fn now(&self) -> u64 {
        0
    }
}
