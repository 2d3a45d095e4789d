//! The resident pages, and the order of their eviction.

use super::error::FaultPathError;
use super::policy::{Policy, frames};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// The place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Residence {
    /// The page is only in the scheme.
    Absent,
    /// Mapped in the application.
    Mapped,
    /// Resident in a frame: it has its second chance.
    Unmapped,
}

const PLACE: u8 = 0b11;
const MAPPED: u8 = 1;
const UNMAPPED: u8 = 2;
const DISCARDED: u8 = 0b100;
const HELD: u8 = 0b1000;
const STORED: u8 = 0b1_0000;
const ZERO: u8 = 0b10_0000;

/// The number of pages that hold something, for each resident one, at which the limit doubles.
const MAX_HELD_PER_RESIDENT: u64 = 4;

/// The number of evictions between two attempts to take out a pinned page.
const EVICTIONS_PER_PINNED_RETRY: u32 = 8;

/// A byte a page, and three queues. Nothing grows after construction, except while there are too many resident pages.
pub(super) struct Resident {
    /// The state of each page: its place and four bits. One bit says that its contents were discarded while it was
    /// absent, one that it holds anything. One says that the scheme was ever given it, one that it was evicted as
    /// zeros.
    pages: Box<[u8]>,
    /// The mapped pages, the oldest first, without the pinned ones.
    mapped: VecDeque<u32>,
    /// Mapped pages that could not be taken out when it was their turn; the first is tried next.
    pinned: VecDeque<u32>,
    /// The number of evictions until the next attempt to take out a pinned page.
    evictions_until_retry: u32,
    /// The unmapped pages with their frames, the oldest first.
    unmapped: VecDeque<(u32, usize)>,
    max_mapped: usize,
    max_unmapped: usize,
    /// Empty frames.
    spare: Vec<usize>,
    /// True if the number of resident pages follows the number of pages that hold something.
    follows: bool,
    /// True once the limit was reached.
    has_been_full: bool,
}

impl Resident {
    pub(super) fn new(pages: u64, resident: usize, policy: Policy) -> Result<Self, FaultPathError> {
        if u32::try_from(pages).is_err() {
            return Err(FaultPathError::Pages(pages));
        }
        let (min, unmapped) = match policy {
            Policy::Fifo => (1, 0),
            Policy::SecondChance { unmapped } => (2, unmapped),
        };
        if resident < min {
            return Err(FaultPathError::Resident { resident, min });
        }
        let of_range = matches!(policy, Policy::SecondChance { .. }) && !(1..resident).contains(&unmapped);
        if of_range {
            return Err(FaultPathError::Unmapped { unmapped, resident, max: resident - 1 });
        }
        let max_mapped = resident - unmapped;
        Ok(Resident {
            pages: vec![0; pages as usize].into(),
            // A page is paged in before the surplus one is evicted.
            mapped: VecDeque::with_capacity(resident + 1),
            pinned: VecDeque::with_capacity(resident + 1),
            evictions_until_retry: 0,
            unmapped: VecDeque::with_capacity(unmapped + 1),
            max_mapped,
            max_unmapped: unmapped,
            spare: (0..frames(policy)).rev().collect(),
            follows: false,
            has_been_full: false,
        })
    }

    pub(super) fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    pub(super) fn len(&self) -> usize {
        self.mapped.len() + self.pinned.len() + self.unmapped.len()
    }

    /// Returns the limit of resident pages. Pinned pages never take more than half of it. If others had only a page or
    /// two, a program would evict what it needs next.
    pub(super) fn max(&self) -> usize {
        let max = self.max_mapped + self.max_unmapped;
        max.max(self.pinned.len() + max.div_ceil(2))
    }

    pub(super) fn is_full(&mut self) -> bool {
        let full = self.len() >= self.max();
        self.has_been_full |= full;
        full
    }

    /// Lets the number of resident pages follow the number of pages that hold something.
    #[cfg(feature = "linux")]
    pub(super) fn enable_growth(&mut self) {
        self.follows = true;
        // Nothing grows later.
        self.mapped.reserve(self.pages.len() + 1 - self.mapped.len());
    }

    /// Doubles the limit if enough pages hold something. Returns the limit; 0 if it is fixed.
    pub(super) fn grow_for(&mut self, held_pages: u64) -> u64 {
        if !self.follows {
            return 0;
        }
        let max = self.max_mapped + self.max_unmapped;
        if held_pages > MAX_HELD_PER_RESIDENT * max as u64 {
            self.max_mapped = (2 * max).min(self.pages.len()) - self.max_unmapped;
        }
        (self.max_mapped + self.max_unmapped) as u64
    }

    /// A mapped page to write in place of a victim, if there is room only because the limit has grown. From the first
    /// fault that wrote a page, each fault writes one.
    pub(super) fn dummy_victim(&self) -> Option<u64> {
        if self.follows && self.has_been_full { self.mapped().next() } else { None }
    }

    /// Returns whether too many are resident.
    pub(super) fn is_over_limit(&self) -> bool {
        self.len() > self.max()
    }

    pub(super) fn place(&self, page: u64) -> Residence {
        match self.pages[page as usize] & PLACE {
            MAPPED => Residence::Mapped,
            UNMAPPED => Residence::Unmapped,
            _ => Residence::Absent,
        }
    }

    pub(super) fn mapped(&self) -> impl Iterator<Item = u64> {
        self.mapped.iter().chain(&self.pinned).map(|page| u64::from(*page))
    }

    /// The number of mapped pages that are not pinned.
    pub(super) fn mapped_len(&self) -> usize {
        self.mapped.len()
    }

    /// The number of the pinned pages.
    pub(super) fn pinned_len(&self) -> usize {
        self.pinned.len()
    }

    /// The frames of the unmapped pages.
    pub(super) fn occupied(&self) -> impl Iterator<Item = usize> {
        self.unmapped.iter().map(|(_, frame)| *frame)
    }

    /// Returns whether the oldest page is moved to a frame before its eviction.
    pub(super) fn has_second_chance(&self) -> bool {
        self.max_unmapped > 0
    }

    /// Returns whether too many are mapped.
    pub(super) fn has_too_many_mapped(&self) -> bool {
        self.mapped.len() + self.pinned.len() > self.max() - self.max_unmapped
    }

    pub(super) fn oldest_mapped(&self) -> Option<u64> {
        self.mapped.front().map(|page| u64::from(*page))
    }

    /// Marks the oldest page as pinned.
    pub(super) fn pin_oldest(&mut self) {
        self.pinned.extend(self.mapped.pop_front());
    }

    /// The pinned page to try before the oldest, if that is due.
    pub(super) fn due_pinned(&mut self) -> Option<u64> {
        let due = self.evictions_until_retry == 0;
        self.evictions_until_retry = self.evictions_until_retry.saturating_sub(1);
        if due { self.next_pinned() } else { None }
    }

    /// The pinned page to try next.
    pub(super) fn next_pinned(&self) -> Option<u64> {
        self.pinned.front().map(|page| u64::from(*page))
    }

    /// The pinned page cannot be taken out yet.
    pub(super) fn on_still_pinned(&mut self) {
        self.pinned.rotate_left(1);
        self.evictions_until_retry = EVICTIONS_PER_PINNED_RETRY - 1;
    }

    /// The pinned page was evicted, like the oldest.
    pub(super) fn on_unpinned(&mut self) {
        if let Some(page) = self.pinned.pop_front() {
            self.mapped.push_front(page);
        }
        self.evictions_until_retry = 0;
    }

    /// The oldest mapped page was evicted to the scheme.
    pub(super) fn remove_oldest_mapped(&mut self) {
        if let Some(page) = self.mapped.pop_front() {
            self.set_place(page, 0);
        }
    }

    /// The oldest mapped page was moved to a frame.
    pub(super) fn unmap_oldest(&mut self, frame: usize) {
        if let Some(page) = self.mapped.pop_front() {
            self.set_place(page, UNMAPPED);
            self.unmapped.push_back((page, frame));
        }
    }

    /// The unmapped page whose second chance is over, and its frame.
    pub(super) fn take_oldest_unmapped(&mut self) -> Option<(u64, usize)> {
        let (page, frame) = self.unmapped.pop_front()?;
        self.set_place(page, 0);
        Some((page.into(), frame))
    }

    pub(super) fn frame_of(&self, page: u64) -> Option<usize> {
        self.unmapped.iter().find(|(other, _)| u64::from(*other) == page).map(|(_, frame)| *frame)
    }

    /// An unmapped page used its second chance.
    pub(super) fn on_remapped(&mut self, page: u64) {
        self.unmapped.retain(|(other, _)| u64::from(*other) != page);
        self.on_mapped(page);
    }

    /// A page is mapped now.
    pub(super) fn on_mapped(&mut self, page: u64) {
        self.set_place(page as u32, MAPPED);
        self.mapped.push_back(page as u32);
    }

    pub(super) fn take_spare(&mut self) -> Option<usize> {
        self.spare.pop()
    }

    pub(super) fn add_spare(&mut self, frame: usize) {
        self.spare.push(frame);
    }

    /// The contents of an absent page are discarded.
    pub(super) fn discard(&mut self, page: u64) {
        self.pages[page as usize] |= DISCARDED;
    }

    /// Returns whether the contents of the page were discarded; it has new ones from now on.
    pub(super) fn take_discarded(&mut self, page: u64) -> bool {
        let state = &mut self.pages[page as usize];
        let discarded = *state & DISCARDED != 0;
        *state &= !DISCARDED;
        discarded
    }

    /// Returns whether the page held nothing before; it holds something from now on.
    pub(super) fn mark_held(&mut self, page: u64) -> bool {
        let state = &mut self.pages[page as usize];
        let begins = *state & HELD == 0;
        *state |= HELD;
        begins
    }

    /// Returns whether the page held something; it does not any more.
    pub(super) fn unmark_held(&mut self, page: u64) -> bool {
        let state = &mut self.pages[page as usize];
        let ends = *state & HELD != 0;
        *state &= !HELD;
        ends
    }

    /// Absent pages that hold nothing: zeros are paged in instead.
    #[cfg(feature = "linux")]
    pub(super) fn absent_zeros(&self) -> Vec<u64> {
        let is_zero = |state: u8| state & PLACE == 0 && (state & HELD == 0 || state & ZERO != 0);
        (0..).zip(&self.pages).filter(|(_, state)| is_zero(**state)).map(|(page, _)| page).collect()
    }

    /// The page is evicted. It is all zeros, or it is not.
    pub(super) fn set_zero(&mut self, page: u64, zeros: bool) {
        let state = &mut self.pages[page as usize];
        *state = *state & !ZERO | if zeros { ZERO } else { 0 };
    }

    /// The scheme was given the page.
    pub(super) fn mark_stored(&mut self, page: u64) {
        self.pages[page as usize] |= STORED;
    }

    /// Returns the trusted memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.pages.len()
            + (self.mapped.capacity() + self.pinned.capacity()) * size_of::<u32>()
            + self.unmapped.capacity() * size_of::<(u32, usize)>()
            + self.spare.capacity() * size_of::<usize>()
    }

    fn set_place(&mut self, page: u32, place: u8) {
        let state = &mut self.pages[page as usize];
        *state = *state & !PLACE | place;
    }
}

/// The state of the resident pages, for a fork of the fault path.
#[cfg(feature = "linux")]
impl Resident {
    /// The state of no pages.
    pub(super) fn empty_like(&self) -> Self {
        let Resident { max_mapped, max_unmapped, follows, has_been_full, .. } = *self;
        let (mapped, pinned, unmapped) = Default::default();
        let (pages, spare, evictions_until_retry) = Default::default();
        Resident {
            pages,
            mapped,
            pinned,
            evictions_until_retry,
            unmapped,
            max_mapped,
            max_unmapped,
            spare,
            follows,
            has_been_full,
        }
    }

    /// The absent pages whose contents only the scheme has. All others hold zeros, or are resident.
    pub(super) fn stored(&self) -> Vec<u32> {
        let only_there = |state: u8| state & (PLACE | DISCARDED | STORED) == STORED;
        (0..).zip(&self.pages).filter(|(_, state)| only_there(**state)).map(|(page, _)| page).collect()
    }

    /// Another scheme has replaced the former one, and was given these pages.
    pub(super) fn set_stored(&mut self, stored: &[u32]) {
        self.pages.iter_mut().for_each(|state| *state &= !STORED);
        stored.iter().for_each(|page| self.mark_stored(u64::from(*page)));
    }

    /// Reserves memory for more mapped pages than the limit: up to that number, nothing is allocated.
    pub(super) fn reserve(&mut self, more: usize) {
        self.mapped.reserve(more);
    }

    pub(super) fn has_spare(&self) -> bool {
        !self.spare.is_empty()
    }
}
