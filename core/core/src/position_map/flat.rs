//! The whole position map on the trusted side: 4 bytes per block.

use super::{Lookup, PositionMap};
use crate::oram::OramError;
use crate::snapshot::word_table::WordTable;
use crate::types::{BlockId, Leaf};
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::{RefCell, RefMut};
use core::marker::PhantomData;

/// A word for each block, as it is kept and written into snapshots: 0 means never mapped, otherwise leaf + 1.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub struct Positions {
    words: WordTable,
}

impl Positions {
    /// A map of `blocks` blocks, none of them mapped.
    pub fn new(blocks: u64) -> Self {
        Positions { words: WordTable::zeros(blocks as usize) }
    }

    /// The map with these words.
    pub fn from_words(words: Vec<u32>) -> Self {
        Positions { words: WordTable::of(words) }
    }

    /// Returns the words of the map, one for each block.
    #[inline]
    pub fn words(&self) -> &[u32] {
        self.words.words()
    }

    /// Returns the words of the map.
    pub fn into_words(self) -> Vec<u32> {
        self.words.into_words()
    }

    /// Begins to record which words change, so that [`reset`](Self::reset) copies only those.
    pub fn track_changes(&mut self) {
        self.words.track_changes();
    }

    /// Makes the map equal to that of which it is a copy. Changes from before the tracking stay.
    pub fn reset(&mut self, original: &Self) {
        for place in self.words.take_changes() {
            self.words.set(place as usize, original.words()[place as usize]);
        }
        self.track_changes();
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.words().len() as u64
    }

    /// The leaf of a block.
    #[inline]
    pub fn get(&self, block: BlockId) -> Option<Leaf> {
        self.words()[block.0 as usize].checked_sub(1).map(|leaf| Leaf(leaf.into()))
    }

    /// Gives a block a leaf and returns its old leaf.
    #[inline]
    pub fn replace(&mut self, block: BlockId, leaf: Leaf) -> Option<Leaf> {
        let old = self.get(block);
        self.words.set(block.0 as usize, leaf.0 as u32 + 1);
        old
    }
}

/// The flat position map.
pub struct FlatPositionMap<E> {
    positions: RefCell<Positions>,
    error: PhantomData<E>,
}

impl<E> FlatPositionMap<E> {
    /// A map over these positions.
    pub fn new(positions: Positions) -> Self {
        FlatPositionMap { positions: RefCell::new(positions), error: PhantomData }
    }

    /// Returns the positions as a snapshot holds them.
    pub fn snapshot(&self) -> Positions {
        self.positions.borrow().clone()
    }

    /// Lends the positions to the caller.
    pub(crate) fn with_positions<T>(&self, with_positions: impl FnOnce(&Positions) -> T) -> T {
        with_positions(&self.positions.borrow())
    }

    /// Borrows the table of positions.
    pub(crate) fn table(&self) -> RefMut<'_, WordTable> {
        RefMut::map(self.positions.borrow_mut(), |positions| &mut positions.words)
    }
}

impl<E: core::error::Error + 'static> PositionMap for FlatPositionMap<E> {
    type Error = E;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<E>> {
        let mut positions = self.positions.borrow_mut();
        for lookup in lookups {
            lookup.old = lookup.block.and_then(|block| positions.replace(block, lookup.new));
        }
        Ok(())
    }

    fn trusted_bytes(&self) -> usize {
        size_of_val(self.positions.borrow().words())
    }
}
