//! A page table that is an array.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use ameles_pager::fault::frames::{Frames, TakeOutcome};
use core::convert::Infallible;

/// The size of a page in bytes: few, because this also runs in interpreters.
pub const PAGE_BYTES: usize = 512;

/// Bytes of one page.
pub type Page = [u8; PAGE_BYTES];

/// The memory of each page and each frame that has any.
pub struct PageTable {
    pages: Vec<Option<Box<Page>>>,
    frames: Vec<Option<Box<Page>>>,
}

impl PageTable {
    /// A table in which nothing has memory.
    pub fn new(pages: u64, frames: usize) -> Self {
        PageTable { pages: vec![None; pages as usize], frames: vec![None; frames] }
    }

    /// A page's memory; `None` if an access to it faults.
    pub fn page(&mut self, page: u64) -> Option<&mut Page> {
        self.pages[page as usize].as_deref_mut()
    }
}

impl Frames for PageTable {
    type Error = Infallible;

    fn take(&mut self, page: u64, frame: usize) -> Result<TakeOutcome, Infallible> {
        self.frames[frame] = self.pages[page as usize].take();
        Ok(TakeOutcome::Out)
    }

    fn prepare(&mut self, frame: usize) -> Result<(), Infallible> {
        self.frames[frame] = Some(Box::new([0; PAGE_BYTES]));
        Ok(())
    }

    fn bytes(&mut self, frame: usize) -> &mut [u8] {
        &mut self.frames[frame].as_mut().expect("the fault path asks for frames with memory")[..]
    }

    fn put(&mut self, frame: usize, page: u64) -> Result<(), Infallible> {
        self.pages[page as usize] = self.frames[frame].take();
        Ok(())
    }

    fn confirm(&mut self, _: u64) -> Result<(), Infallible> {
        Ok(())
    }

    fn clear(&mut self, page: u64) -> Result<(), Infallible> {
        self.pages[page as usize] = Some(Box::new([0; PAGE_BYTES]));
        Ok(())
    }
}
