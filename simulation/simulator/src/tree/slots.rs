//! The slots of a tree in untrusted memory: a word for each, for blocks without payload.

use ameles_core::types::{BlockId, Leaf, Level};
use std::ops::Range;

/// The slots of the levels from `top` on. A slot holds a block and its leaf.
#[derive(Clone, Debug)]
pub struct Slots {
    top: u32,
    /// Z of each level from the top on, and the place of its first slot.
    levels: Vec<(u32, usize)>,
    words: Vec<u64>,
}

/// The word of a slot: the block's number and one in its lower half, the leaf in its upper; 0 for an empty slot.
fn word(block: BlockId, leaf: Leaf) -> u64 {
    (block.0 + 1) | leaf.0 << 32
}

/// The block in a slot, and its leaf.
fn content(word: u64) -> Option<(BlockId, Leaf)> {
    (word & u64::from(u32::MAX)).checked_sub(1).map(|block| (BlockId(block), Leaf(word >> 32)))
}

impl Slots {
    /// Empty slots: `sizes` are Z by level, the root's side first, for the levels from `top` on.
    pub fn new(top: Level, sizes: &[u32]) -> Self {
        let mut first = 0;
        let level = |(level, size): (u32, &u32)| {
            let this = first;
            first += (*size as usize) << level;
            (*size, this)
        };
        let levels = (top.0..).zip(sizes).map(level).collect();
        Slots { top: top.0, levels, words: vec![0; first] }
    }

    /// The first level.
    pub fn top(&self) -> Level {
        Level(self.top)
    }

    /// The level of the leaves.
    pub fn leaf_level(&self) -> Level {
        Level(self.top + self.levels.len() as u32 - 1)
    }

    /// Z of a level.
    pub fn size(&self, level: Level) -> u32 {
        self.levels[(level.0 - self.top) as usize].0
    }

    /// Bytes that they occupy.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    /// The share of the slots of each level that hold a block, the root's side first.
    pub fn utilisation(&self) -> Vec<f64> {
        let of_level = |(level, (size, first)): (u32, &(u32, usize))| {
            let slots = &self.words[*first..*first + ((*size as usize) << level)];
            slots.iter().filter(|word| **word != 0).count() as f64 / slots.len() as f64
        };
        (self.top..).zip(&self.levels).map(of_level).collect()
    }

    /// The first word of a bucket.
    pub(super) fn first_word(&self, level: u32, index: u64) -> u64 {
        self.words[self.range(level, index).start]
    }

    /// The blocks of a bucket: the one at `index` from the left of a level.
    pub(super) fn bucket(&self, level: u32, index: u64) -> impl Iterator<Item = Option<(BlockId, Leaf)>> {
        self.words[self.range(level, index)].iter().map(|word| content(*word))
    }

    /// Replaces the blocks of a bucket.
    pub(super) fn replace(
        &mut self,
        level: u32,
        index: u64,
        blocks: impl Iterator<Item = Option<(BlockId, Leaf)>>,
    ) {
        let range = self.range(level, index);
        for (slot, block) in self.words[range].iter_mut().zip(blocks) {
            *slot = block.map_or(0, |(block, leaf)| word(block, leaf));
        }
    }

    /// Puts a block into the bucket of its path on a level; `false` if that is full.
    pub(super) fn put(&mut self, level: u32, block: BlockId, leaf: Leaf) -> bool {
        let range = self.range(level, leaf.0 >> (self.leaf_level().0 - level));
        let free = self.words[range].iter_mut().find(|word| **word == 0);
        free.map(|slot| *slot = word(block, leaf)).is_some()
    }

    /// Takes a block out of its path; `false` if it is not there.
    pub(crate) fn take(&mut self, block: BlockId, leaf: Leaf) -> bool {
        let searched_block = word(block, leaf);
        for level in (self.top..=self.leaf_level().0).rev() {
            let range = self.range(level, leaf.0 >> (self.leaf_level().0 - level));
            if let Some(slot) = self.words[range].iter_mut().find(|word| **word == searched_block) {
                *slot = 0;
                return true;
            }
        }
        false
    }

    fn range(&self, level: u32, index: u64) -> Range<usize> {
        let (size, first) = self.levels[(level - self.top) as usize];
        let start = first + index as usize * size as usize;
        start..start + size as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_takes_as_many_blocks_as_its_level_says_and_gives_them_back() {
        let mut slots = Slots::new(Level(1), &[1, 2, 3]);
        let (block, leaf) = (BlockId(u64::from(u32::MAX) - 1), Leaf(5));
        assert!(slots.put(1, block, leaf) && !slots.put(1, BlockId(0), Leaf(4)));
        assert!(slots.put(2, BlockId(0), Leaf(4)) && slots.put(2, BlockId(1), Leaf(5)));
        assert!(!slots.put(2, BlockId(2), Leaf(5)));
        assert_eq!(slots.bucket(1, 1).collect::<Vec<_>>(), [Some((block, leaf))]);
        assert_eq!(slots.utilisation(), [0.5, 0.25, 0.0]);
        assert!(slots.take(BlockId(1), Leaf(5)) && !slots.take(BlockId(1), Leaf(5)));
        assert_eq!(slots.utilisation(), [0.5, 0.125, 0.0]);
        slots.replace(2, 2, [None, Some((BlockId(7), Leaf(4)))].into_iter());
        assert_eq!(slots.bucket(2, 2).collect::<Vec<_>>(), [None, Some((BlockId(7), Leaf(4)))]);
    }
}
