//! The platform, as the fault path asks for it.

use core::error::Error;

/// The outcome of taking a page out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeOutcome {
    /// Its contents are in the frame.
    Out,
    /// Somebody else holds on to it (a device, say), and it is where it was.
    Busy,
}

/// Page tables and a few **frames**: page-sized places that the application cannot reach. A page that is taken out
/// stands in a frame; a page that comes in is read into a frame first and seen by the application when it is whole.
///
/// Pages are numbered from 0 through the region, frames from 0. A frame is empty (without memory) until a page is
/// taken into it or it is [prepared](Self::prepare).
pub trait Frames {
    /// The errors of the platform.
    type Error: Error + 'static;

    /// Moves a resident page into an empty frame, **atomically** to every other thread: each store to the page either
    /// is in the frame or faults.
    ///
    /// # Errors
    /// The platform's.
    fn take(&mut self, page: u64, frame: usize) -> Result<TakeOutcome, Self::Error>;

    /// Gives an empty frame memory, which holds zeros.
    ///
    /// # Errors
    /// The platform's.
    fn prepare(&mut self, frame: usize) -> Result<(), Self::Error>;

    /// The memory of a frame that is not empty: exactly one page.
    fn bytes(&mut self, frame: usize) -> &mut [u8];

    /// The page that was taken into this frame is written, and another is to be read into it. Where somebody else may
    /// still look at the memory that the page had (a kernel that sends it, say), the frame has other memory from now
    /// on: no page ever stands where another one was lent out. Its contents do not matter.
    fn renew(&mut self, frame: usize) {
        let _ = frame;
    }

    /// The page that was taken into this frame is written, and no other comes: the frame is empty. Asked for only where
    /// more pages [may be resident](Self::may_exceed).
    fn release(&mut self, frame: usize) {
        self.renew(frame);
    }

    /// Gives up the contents of a page in a frame: the frame holds zeros. A reader that still looks at its memory keeps
    /// what it sees.
    ///
    /// # Errors
    /// The platform's.
    fn clear_frame(&mut self, frame: usize) -> Result<(), Self::Error> {
        self.bytes(frame).fill(0);
        Ok(())
    }

    /// Moves a frame's memory to an absent page and lets everybody go on who waits for it. The frame is empty then.
    ///
    /// # Errors
    /// The platform's.
    fn put(&mut self, frame: usize, page: u64) -> Result<(), Self::Error>;

    /// A fault came for a page that should be resident. Lets everybody go on who waits for it; if its memory is gone
    /// (the application gave it back to the system), it becomes zeros first.
    ///
    /// # Errors
    /// The platform's.
    fn confirm(&mut self, page: u64) -> Result<(), Self::Error>;

    /// Gives up the contents of a resident page: it reads as zeros. A reader that still looks at its memory keeps what
    /// it sees.
    ///
    /// # Errors
    /// The platform's.
    fn clear(&mut self, page: u64) -> Result<(), Self::Error>;

    /// Overwrites a resident page with zeros, whoever looks at it.
    ///
    /// # Errors
    /// The platform's.
    fn wipe(&mut self, page: u64) -> Result<(), Self::Error> {
        self.clear(page)
    }

    /// True if more pages may be resident than were asked for, as long as none of them can be taken out. Memory is
    /// allocated then.
    fn may_exceed(&self) -> bool {
        false
    }

    /// True if a page of zeros that goes out counts as one that was given up: it takes no room of the region then, if
    /// room is short.
    fn tracks_zero_pages(&self) -> bool {
        false
    }

    /// Nanoseconds since some moment, for the counters; 0 where there is no clock.
    fn now(&self) -> u64 {
        0
    }
}
