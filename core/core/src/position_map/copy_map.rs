//! The position map of a write-only ORAM: the slot of the newest copy of each page. 4 bytes per page.

use crate::types::{BlockId, Bucket};
use alloc::vec;
use alloc::vec::Vec;

/// The newest copy of every page: in its own main slot, as at the beginning, or in a holding slot.
pub(crate) struct CopyMap {
    /// 0 means in the main area, otherwise holding slot + 1.
    words: Vec<u32>,
}

impl CopyMap {
    /// A map of `pages` pages, all of them in the main area. At most 2^32 - 1 holding slots fit its words.
    pub(crate) fn new(pages: u64) -> Self {
        CopyMap { words: vec![0; pages as usize] }
    }

    /// The bucket that holds the newest copy: main slots come first, then the holding area.
    pub(crate) fn bucket(&self, page: BlockId) -> Bucket {
        Bucket(match self.words[page.0 as usize] {
            0 => page.0,
            word => self.words.len() as u64 + u64::from(word) - 1,
        })
    }

    /// Records that the newest copy is in this holding slot.
    pub(crate) fn is_held(&mut self, page: BlockId, holding_slot: u64) {
        self.words[page.0 as usize] = holding_slot as u32 + 1;
    }

    /// Records that the newest copy is in the page's own main slot.
    pub(crate) fn is_in_place(&mut self, page: BlockId) {
        self.words[page.0 as usize] = 0;
    }

    /// The buckets of the newest copies, in the order of their pages.
    #[cfg(feature = "inspect")]
    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket> {
        (0..self.words.len() as u64).map(|page| self.bucket(BlockId(page)))
    }

    /// The bytes that the map occupies.
    pub(crate) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u32>()
    }
}
