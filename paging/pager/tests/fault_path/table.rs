//! A page table that is an array.

use crate::PAGE_BYTES;
use ameles_pager::fault::frames::{Frames, TakeOutcome};
use ameles_pager::fault::policy::{Policy, frames};
use std::convert::Infallible;

/// A page table in an array. A page without memory is `None`; using it wrongly panics.
pub(crate) struct Table {
    pub(crate) pages: Vec<Option<[u8; PAGE_BYTES]>>,
    pub(crate) frames: Vec<Option<[u8; PAGE_BYTES]>>,
    pub(crate) busy: Vec<u64>,
    pub(crate) may_exceed: bool,
    pub(crate) renewed: usize,
    pub(crate) confirmed: Vec<u64>,
    pub(crate) taken: usize,
    /// The number of nanoseconds: each use of a frame's bytes takes a thousand.
    pub(crate) clock: u64,
}

impl Table {
    pub(crate) fn new(pages: u64, policy: Policy) -> Self {
        let frames = frames(policy);
        Table {
            pages: vec![None; pages as usize],
            frames: vec![None; frames],
            busy: Vec::new(),
            may_exceed: false,
            renewed: 0,
            confirmed: Vec::new(),
            taken: 0,
            clock: 0,
        }
    }

    pub(crate) fn in_sight(&self) -> usize {
        self.pages.iter().flatten().count()
    }

    pub(crate) fn resident(&self) -> usize {
        self.in_sight() + self.frames.iter().flatten().count()
    }
}

impl Frames for Table {
    type Error = Infallible;

    fn take(&mut self, page: u64, frame: usize) -> Result<TakeOutcome, Infallible> {
        self.taken += 1;
        if self.busy.contains(&page) {
            return Ok(TakeOutcome::Busy);
        }
        assert!(self.frames[frame].is_none(), "the frame is empty");
        self.frames[frame] = Some(self.pages[page as usize].take().expect("the page is mapped"));
        Ok(TakeOutcome::Out)
    }

    fn prepare(&mut self, frame: usize) -> Result<(), Infallible> {
        assert!(self.frames[frame].is_none(), "the frame is empty");
        self.frames[frame] = Some([0; PAGE_BYTES]);
        Ok(())
    }

    fn bytes(&mut self, frame: usize) -> &mut [u8] {
        self.clock += 1000;
        self.frames[frame].as_mut().expect("the frame has memory")
    }

    fn renew(&mut self, frame: usize) {
        assert!(self.frames[frame].is_some(), "the frame has memory");
        // Its old contents must not be read again.
        self.frames[frame] = Some([0xEE; PAGE_BYTES]);
        self.renewed += 1;
    }

    fn release(&mut self, frame: usize) {
        self.frames[frame] = None;
    }

    fn may_exceed(&self) -> bool {
        self.may_exceed
    }

    fn now(&self) -> u64 {
        self.clock
    }

    fn put(&mut self, frame: usize, page: u64) -> Result<(), Infallible> {
        assert!(self.pages[page as usize].is_none(), "the page is absent");
        self.pages[page as usize] = Some(self.frames[frame].take().expect("the frame has memory"));
        Ok(())
    }

    fn confirm(&mut self, page: u64) -> Result<(), Infallible> {
        self.confirmed.push(page);
        Ok(())
    }

    fn clear(&mut self, page: u64) -> Result<(), Infallible> {
        self.pages[page as usize] = Some([0; PAGE_BYTES]);
        Ok(())
    }
}
