//! The whole position map on the trusted side: 4 bytes a block.

use super::{Lookup, PositionMap};
use crate::changes::ChangeLog;
use crate::oram::OramError;
use crate::words::{BlockId, Leaf};
use alloc::vec;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::RefCell;
use core::marker::PhantomData;

/// A word for each block, as it is kept and written into snapshots: 0 means never mapped, otherwise leaf + 1.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub struct Positions {
    words: Vec<u32>,
    #[borsh(skip)]
    changes: ChangeLog,
}

impl Positions {
    /// A map of `blocks` blocks, none of them mapped.
    pub fn new(blocks: u64) -> Self {
        Positions::from_words(vec![0; blocks as usize])
    }

    /// The map with these words.
    pub fn from_words(words: Vec<u32>) -> Self {
        Positions { words, changes: ChangeLog::default() }
    }

    /// Its words, one for each block.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Blocks in it.
    pub fn blocks(&self) -> u64 {
        self.words.len() as u64
    }

    /// The leaf of a block.
    pub fn get(&self, block: BlockId) -> Option<Leaf> {
        self.words[block.0 as usize].checked_sub(1).map(|leaf| Leaf(leaf.into()))
    }

    /// Gives a block a leaf and returns its old leaf.
    pub fn replace(&mut self, block: BlockId, leaf: Leaf) -> Option<Leaf> {
        self.changes.note(block.0 as usize);
        let word = &mut self.words[block.0 as usize];
        let old = word.checked_sub(1).map(|leaf| Leaf(leaf.into()));
        *word = leaf.0 as u32 + 1;
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

    /// Lets the caller look at the positions.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Positions) -> T) -> T {
        look(&self.positions.borrow())
    }

    /// Begins to note which positions change.
    pub(crate) fn watch(&self) {
        self.positions.borrow_mut().changes.watch();
    }

    /// Takes the places of positions that changed since the last call.
    pub(crate) fn take_changes(&self) -> Vec<u32> {
        self.positions.borrow_mut().changes.take()
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
        self.positions.borrow().words.len() * size_of::<u32>()
    }
}
