//! The unified address space: the user's blocks, and the PosMap blocks that hold their positions, in one tree.

use crate::types::BlockId;
use alloc::vec::Vec;
use core::ops::Range;

/// The blocks of one tree: those of the user first, then PosMap block by PosMap block, level by level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressSpace {
    /// The first block of each level, and the end of the last.
    firsts: Vec<u64>,
    labels: u64,
}

/// The place where the position of a block is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionEntry {
    /// An entry of a PosMap block.
    Block(BlockId, u32),
    /// An entry of the table on the trusted side.
    Trusted(u64),
}

impl AddressSpace {
    /// The space of `capacity` blocks, with X = `labels` positions in a PosMap block. It has the smallest number of
    /// levels of PosMap blocks that leaves at most `trusted` positions to the trusted side.
    ///
    /// # Panics
    /// If X is below 2, or `trusted` is 0.
    pub fn new(capacity: u64, labels: u32, trusted: u64) -> Self {
        assert!(labels > 1 && trusted > 0, "{labels} labels a block, {trusted} entries in the end");
        let labels = u64::from(labels);
        let mut firsts = Vec::from([0, capacity]);
        let mut last = capacity;
        while last > trusted {
            last = last.div_ceil(labels);
            firsts.push(firsts[firsts.len() - 1] + last);
        }
        AddressSpace { firsts, labels }
    }

    /// The number of blocks, including those of the PosMaps.
    pub fn blocks(&self) -> u64 {
        self.firsts[self.firsts.len() - 1]
    }

    /// The blocks of a level: 0 is the level of the user's blocks, and i is PosMap i.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn blocks_of(&self, level: u32) -> Range<u64> {
        self.firsts[level as usize]..self.firsts[level as usize + 1]
    }

    /// Returns the number of levels of PosMap blocks in the tree: 0 if all positions are on the trusted side.
    pub fn maps(&self) -> u32 {
        self.firsts.len() as u32 - 2
    }

    /// Returns the number of positions that the trusted side keeps.
    pub fn trusted(&self) -> u64 {
        self.blocks() - self.firsts[self.firsts.len() - 2]
    }

    /// The level of a block: 0 for a block of the user, i for a block of PosMap i.
    pub fn level(&self, block: BlockId) -> u32 {
        self.firsts[1..].iter().take_while(|end| **end <= block.0).count() as u32
    }

    /// The place where the position of a block is kept.
    pub fn position_entry(&self, block: BlockId) -> PositionEntry {
        let level = self.level(block) as usize;
        let nth = block.0 - self.firsts[level];
        match self.firsts.get(level + 2) {
            Some(_) => PositionEntry::Block(
                BlockId(self.firsts[level + 1] + nth / self.labels),
                (nth % self.labels) as u32,
            ),
            None => PositionEntry::Trusted(nth),
        }
    }

    /// The block whose position is an entry of a PosMap block. `None` if there is none, as at the end of the last
    /// PosMap block of a level.
    pub fn block_of_entry(&self, above: BlockId, entry: u32) -> Option<BlockId> {
        let level = self.level(above).checked_sub(1)?;
        let blocks = self.blocks_of(level);
        let nth = (above.0 - blocks.end) * self.labels + u64::from(entry);
        Some(BlockId(blocks.start + nth)).filter(|block| blocks.contains(&block.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn the_space_of_ir_oram_has_two_maps_in_the_tree_and_the_third_on_the_trusted_side() {
        let space = AddressSpace::new(1 << 26, 16, 1 << 18);
        assert_eq!((space.maps(), space.trusted()), (2, 1 << 18));
        assert_eq!(space.blocks(), (1 << 26) + (1 << 22) + (1 << 18));
        let first_map = BlockId((1 << 26) + 3);
        assert_eq!(space.position_entry(BlockId(3 * 16 + 5)), PositionEntry::Block(first_map, 5));
        assert_eq!(space.position_entry(BlockId((1 << 26) + (1 << 22) + 7)), PositionEntry::Trusted(7));
        assert_eq!([BlockId(0), first_map].map(|block| space.level(block)), [0, 1]);
    }

    #[test]
    fn each_block_has_an_entry_of_its_own_one_level_up() {
        for (capacity, labels, trusted) in [(100, 3, 2), (1, 2, 1), (64, 4, 1), (65, 4, 4), (7, 16, 100)] {
            let space = AddressSpace::new(capacity, labels, trusted);
            let keepers = (0..space.blocks()).map(|block| {
                let (block, level) = (BlockId(block), space.level(BlockId(block)));
                match space.position_entry(block) {
                    PositionEntry::Block(above, entry) => {
                        assert!(space.level(above) == level + 1 && entry < labels);
                        assert_eq!(space.block_of_entry(above, entry), Some(block));
                        (above.0, u64::from(entry))
                    }
                    PositionEntry::Trusted(entry) => {
                        assert!(level == space.maps() && entry < space.trusted());
                        (u64::MAX, entry)
                    }
                }
            });
            assert_eq!(keepers.collect::<BTreeSet<_>>().len() as u64, space.blocks());
            assert!(space.trusted() <= trusted);
        }
        let space = AddressSpace::new(100, 3, 20);
        assert_eq!([0, 1].map(|entry| space.block_of_entry(BlockId(133), entry)), [Some(BlockId(99)), None]);
        assert_eq!(space.block_of_entry(BlockId(99), 0), None, "it keeps no positions");
    }
}
