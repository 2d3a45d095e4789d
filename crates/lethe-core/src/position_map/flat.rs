//! The whole position map on the trusted side: 4 bytes a block.

use super::{Lookup, PositionMap};
use crate::oram::OramError;
use crate::words::{BlockId, Leaf};
use alloc::vec;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::RefCell;
use core::marker::PhantomData;

/// A word for each block, as it is kept and written into snapshots: 0 means never mapped, otherwise leaf + 1.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub struct Positions(Vec<u32>);

impl Positions {
    /// A map of `blocks` blocks, none of them mapped.
    pub fn new(blocks: u64) -> Self {
        Positions(vec![0; blocks as usize])
    }

    /// Blocks in it.
    pub fn blocks(&self) -> u64 {
        self.0.len() as u64
    }

    /// The leaf of a block.
    pub fn get(&self, block: BlockId) -> Option<Leaf> {
        self.0[block.0 as usize].checked_sub(1).map(|leaf| Leaf(leaf.into()))
    }

    /// Gives a block a leaf and returns its old leaf.
    pub fn replace(&mut self, block: BlockId, leaf: Leaf) -> Option<Leaf> {
        let word = &mut self.0[block.0 as usize];
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
        self.positions.borrow().0.len() * size_of::<u32>()
    }
}
