//! The program's pages in private memory: the platform of the fault path.
//!
//! There is one frame more than pages may be resident. Nothing is copied when a page is unmapped or mapped: only an
//! entry of the page table changes.

use super::entry::Entry;
use super::table::PageTable;
use crate::access::Access;
use crate::processor::Processor;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use ameles_enclave_boundary::launch::PagingMode;
use ameles_pager::fault::frames::{Frames, TakeOutcome};
use ameles_pager::page::PAGE_BYTES;
use core::convert::Infallible;
use core::marker::PhantomData;
use zeroize::Zeroize;

/// A physical page.
#[derive(Clone)]
#[repr(C, align(4096))]
pub(crate) struct Frame(pub(crate) [u8; PAGE_BYTES]);

/// A page without an address.
const NO_HOME: u64 = u64::MAX;
/// A page that is in no frame.
const NO_FRAME: u32 = u32::MAX;

/// The page table, the frames, and the address of each page of the region.
pub(crate) struct ProgramFrames<P> {
    pub(crate) table: PageTable,
    frames: Box<[Frame]>,
    /// The frame of each resident page of the region.
    frame_of: Box<[u32]>,
    /// The page of the program's addresses of each page of the region.
    home_of: Box<[u64]>,
    /// The page of the region in each frame.
    page_in_frame: Box<[u32]>,
    free: Vec<u32>,
    /// The frame of the page that is being paged in.
    moving: u32,
    metered: bool,
    processor: PhantomData<P>,
}

impl<P: Processor> ProgramFrames<P> {
    /// Frames for this many resident pages, of a region of this many pages.
    pub(crate) fn new(table: PageTable, pages: u64, resident: usize, metered: bool) -> Self {
        let frames = resident + 1;
        ProgramFrames {
            table,
            frames: vec![Frame([0; PAGE_BYTES]); frames].into(),
            frame_of: vec![NO_FRAME; pages as usize].into(),
            home_of: vec![NO_HOME; pages as usize].into(),
            page_in_frame: vec![0; frames].into(),
            free: (0..frames as u32).rev().collect(),
            moving: NO_FRAME,
            metered,
            processor: PhantomData,
        }
    }

    /// Returns the trusted memory in bytes, without the frames.
    pub(crate) fn trusted_bytes(&self) -> usize {
        self.table.bytes() + size_of_val(&*self.frame_of) + size_of_val(&*self.home_of)
    }

    /// Maps a page of the region at a page of the program's addresses from now on.
    pub(crate) fn set_home(&mut self, page: u32, at: u64) {
        self.home_of[page as usize] = at;
    }

    /// Unmaps the page from its own address. The fault path discards its contents.
    pub(crate) fn clear_home(&mut self, page: u32) {
        self.home_of[page as usize] = NO_HOME;
    }

    /// The page of the region at an address.
    pub(crate) fn page_at(&self, at: u64) -> Option<u32> {
        let entry = self.table.entry(at);
        if entry.is_resident() {
            return Some(self.page_in_frame[self.frame_at(entry)]);
        }
        entry.has_page().then(|| entry.number() as u32)
    }

    /// The memory of a resident page of the program's addresses.
    pub(crate) fn memory_at(&mut self, at: u64) -> Option<&mut [u8; PAGE_BYTES]> {
        let entry = self.table.entry(at);
        if !entry.is_resident() {
            return None;
        }
        let frame = self.frame_at(entry);
        Some(&mut self.frames[frame].0)
    }

    /// Changes the access rights of a page of the program's addresses, if a page of the region is there.
    pub(crate) fn protect(&mut self, at: u64, access: Access) {
        let entry = self.table.entry(at);
        let Some(page) = self.page_at(at) else { return };
        self.table.replace(at, Entry::absent(page, access, entry.at_touch()));
        P::flush_translation(at * PAGE_BYTES as u64);
        if self.frame_of[page as usize] != NO_FRAME {
            self.show(page);
        }
    }

    fn frame_at(&self, entry: Entry) -> usize {
        ((entry.number() << 12) - self.frames.as_ptr() as u64) as usize / PAGE_BYTES
    }

    /// Maps a page that is in a frame at its address, if the program has any right to it.
    fn show(&mut self, page: u32) {
        let (at, frame) = (self.home_of[page as usize], self.frame_of[page as usize]);
        if at == NO_HOME {
            return;
        }
        let address = self.frames.as_ptr() as u64 + u64::from(frame) * PAGE_BYTES as u64;
        let shown = self.table.update(at, |entry| {
            (!entry.is_resident() && entry.access() != Access::NONE).then(|| entry.resident(address))
        });
        let Some(entry) = shown else { return };
        P::flush_translation(at * PAGE_BYTES as u64);
        if entry.access().executes() {
            P::flush_instructions();
        }
    }
}

impl<P: Processor> Frames for ProgramFrames<P> {
    type Error = Infallible;

    fn take(&mut self, page: u64, _: usize) -> Result<TakeOutcome, Infallible> {
        let number = page as usize;
        self.moving = self.frame_of[number];
        self.frame_of[number] = NO_FRAME;
        let at = self.home_of[number];
        if at != NO_HOME {
            let hidden = self.table.update(at, |entry| {
                let absent = || Entry::absent(page as u32, entry.access(), entry.at_touch());
                entry.is_resident().then(absent)
            });
            if hidden.is_some() {
                P::flush_translation(at * PAGE_BYTES as u64);
            }
        }
        Ok(TakeOutcome::Out)
    }

    fn prepare(&mut self, _: usize) -> Result<(), Infallible> {
        self.moving = self.free.pop().expect("there is a frame more than pages may be resident");
        self.frames[self.moving as usize].0.fill(0);
        Ok(())
    }

    fn bytes(&mut self, _: usize) -> &mut [u8] {
        &mut self.frames[self.moving as usize].0
    }

    fn put(&mut self, _: usize, page: u64) -> Result<(), Infallible> {
        self.frame_of[page as usize] = self.moving;
        self.page_in_frame[self.moving as usize] = page as u32;
        self.show(page as u32);
        Ok(())
    }

    fn confirm(&mut self, page: u64) -> Result<(), Infallible> {
        self.show(page as u32);
        Ok(())
    }

    fn clear(&mut self, page: u64) -> Result<(), Infallible> {
        self.frames[self.frame_of[page as usize] as usize].0.fill(0);
        Ok(())
    }

    fn now(&self) -> u64 {
        if self.metered { P::retired_instructions() } else { 0 }
    }
}

impl<P> Drop for ProgramFrames<P> {
    fn drop(&mut self) {
        self.frames.iter_mut().for_each(|frame| frame.0.zeroize());
    }
}

/// Nodes of the page table that this many pages may need, at any reasonable addresses.
pub(crate) fn nodes(pages: u64, mode: PagingMode) -> usize {
    let spread = match mode {
        PagingMode::Sv39 => 512,
        PagingMode::Sv48 => 1024,
    };
    spread + (pages / 128) as usize
}
