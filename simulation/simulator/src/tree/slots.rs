//! The slots of a tree in untrusted memory: a word for each, for blocks without payload.

use super::huge_pages;
use ameles_core::tree::block_header::HEADER_BYTES;
use ameles_core::types::{BlockId, Leaf, Level};
use std::ops::Range;

/// Words of a page. The buckets of a path are far apart; in subtrees of a page each, a path needs a few pages.
const PAGE_WORDS: usize = 4096 / size_of::<u64>();

/// The place of a level's buckets: they are in subtrees of several levels, one subtree after the other.
#[derive(Clone, Copy, Debug)]
struct LevelPlace {
    /// Z.
    size: u32,
    /// The level's depth below the roots of its subtrees.
    depth: u32,
    /// Words of a subtree.
    subtree_words: usize,
    /// The word of the first subtree's first bucket of this level.
    first: usize,
}

/// The maximum of writes that are recorded one by one, in 256 MiB. Beyond it all words are copied.
const MAX_TRACKED: usize = 1 << 24;

/// Divides the levels, from the leaves upwards, into groups whose subtrees fit into a page each. Returns their places,
/// and all words.
fn subtrees(top: u32, sizes: &[u32]) -> (Vec<LevelPlace>, usize) {
    let mut levels = Vec::new();
    let mut end = sizes.len();
    let mut words = 0;
    while end > 0 {
        let words_of = |begin: usize| -> usize {
            (0..).zip(&sizes[begin..end]).map(|(depth, size)| (*size as usize) << depth).sum()
        };
        let begin =
            (0..end).rev().take_while(|begin| words_of(*begin) <= PAGE_WORDS).last().unwrap_or(end - 1);
        let subtree_words = words_of(begin);
        let mut before = 0;
        for (depth, size) in (0..).zip(&sizes[begin..end]) {
            levels.push(LevelPlace { size: *size, depth, subtree_words, first: words + before });
            before += (*size as usize) << depth;
        }
        // The groups are in their order from the top.
        let group = end - begin;
        levels.rotate_right(group);
        words += subtree_words << (top as usize + begin);
        end = begin;
    }
    (levels, words)
}

/// The slots of the levels from `top` on. A slot holds a block and its leaf.
#[derive(Debug)]
pub struct Slots {
    top: u32,
    /// The levels from the top on.
    levels: Vec<LevelPlace>,
    words: Vec<u64>,
    /// The words that were written since they were last reset, with repetitions. `None` until they are tracked.
    written: Option<Vec<Range<usize>>>,
}

impl Clone for Slots {
    fn clone(&self) -> Self {
        let words = huge_pages::copy(&self.words);
        Slots { top: self.top, levels: self.levels.clone(), words, written: self.written.clone() }
    }
}

/// The half of a word that has the block.
const BLOCK: u64 = u32::MAX as u64;

/// The word of a slot: the block's number and one in its lower half, the leaf in its upper; 0 for an empty slot.
fn word(block: BlockId, leaf: Leaf) -> u64 {
    (block.0 + 1) | leaf.0 << 32
}

/// The header of the block in a slot, or of a dummy.
#[inline]
fn header(word: u64) -> [u8; HEADER_BYTES] {
    (u128::from(word & BLOCK) | u128::from(word >> 32) << 64).to_le_bytes()
}

/// The slot of a header.
#[inline]
fn word_of(header: &[u8; HEADER_BYTES]) -> u64 {
    let both = u128::from_le_bytes(*header);
    both as u64 & BLOCK | ((both >> 64) as u64) << 32
}

/// The block in a slot, and its leaf.
fn content(word: u64) -> Option<(BlockId, Leaf)> {
    (word & BLOCK).checked_sub(1).map(|block| (BlockId(block), Leaf(word >> 32)))
}

impl Slots {
    /// Empty slots: `sizes` are Z by level, the root's side first, for the levels from `top` on.
    pub fn new(top: Level, sizes: &[u32]) -> Self {
        let (levels, words) = subtrees(top.0, sizes);
        Slots { top: top.0, levels, words: huge_pages::zeros(words), written: None }
    }

    /// Begins to record which buckets are written, so that [`reset`](Self::reset) copies only those.
    pub(crate) fn track_written(&mut self) {
        self.written = Some(Vec::new());
    }

    /// Makes the slots equal to those of which they are a copy. What was written before they were tracked stays.
    pub(crate) fn reset(&mut self, original: &Self) {
        for range in self.written.iter_mut().flat_map(|written| written.drain(..)) {
            self.words[range.clone()].copy_from_slice(&original.words[range]);
        }
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
    #[inline]
    pub fn size(&self, level: Level) -> u32 {
        self.levels[(level.0 - self.top) as usize].size
    }

    /// Bytes that they occupy.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    /// The share of the slots of each level that hold a block, the root's side first.
    pub fn utilisation(&self) -> Vec<f64> {
        let of_level = |level: u32| {
            let buckets = (0..1 << level).map(|index| &self.words[self.range(level, index)]);
            let blocks: usize = buckets.map(|slots| slots.iter().filter(|word| **word != 0).count()).sum();
            blocks as f64 / (f64::from(self.size(Level(level))) * libm::exp2(level.into()))
        };
        (self.top..=self.leaf_level().0).map(of_level).collect()
    }

    /// The first word of a bucket.
    #[inline]
    pub(super) fn first_word(&self, level: u32, index: u64) -> u64 {
        self.words[self.range(level, index).start]
    }

    /// The blocks of a bucket: the one at `index` from the left of a level.
    pub(super) fn bucket(&self, level: u32, index: u64) -> impl Iterator<Item = Option<(BlockId, Leaf)>> {
        self.words[self.range(level, index)].iter().map(|word| content(*word))
    }

    /// Writes the headers of a bucket's slots. Returns whether a block is among them.
    #[inline]
    pub(super) fn read_headers(
        &self,
        (level, index): (u32, u64),
        into: &mut [u8],
        searched_block: Option<BlockId>,
    ) -> bool {
        // No word has this one.
        let searched_word = searched_block.map_or(u64::MAX, |block| block.0 + 1);
        let mut is_found = false;
        let (headers, _) = into.as_chunks_mut();
        for (word, into) in self.words[self.range(level, index)].iter().zip(headers) {
            *into = header(*word);
            is_found |= word & BLOCK == searched_word;
        }
        is_found
    }

    /// Replaces the slots of a bucket by those of the headers.
    #[inline]
    pub(super) fn write_headers(&mut self, (level, index): (u32, u64), from: &[u8]) {
        let range = self.written_range(level, index);
        let (headers, _) = from.as_chunks();
        for (slot, header) in self.words[range].iter_mut().zip(headers) {
            *slot = word_of(header);
        }
    }

    /// Replaces the blocks of a bucket.
    pub(super) fn replace(
        &mut self,
        level: u32,
        index: u64,
        blocks: impl Iterator<Item = Option<(BlockId, Leaf)>>,
    ) {
        let range = self.written_range(level, index);
        for (slot, block) in self.words[range].iter_mut().zip(blocks) {
            *slot = block.map_or(0, |(block, leaf)| word(block, leaf));
        }
    }

    /// Puts a block into the bucket of its path on a level; `false` if that is full.
    pub(super) fn put(&mut self, level: u32, block: BlockId, leaf: Leaf) -> bool {
        let range = self.written_range(level, leaf.0 >> (self.leaf_level().0 - level));
        let free = self.words[range].iter_mut().find(|word| **word == 0);
        free.map(|slot| *slot = word(block, leaf)).is_some()
    }

    /// Takes a block out of its path; `false` if it is not there.
    pub(crate) fn take(&mut self, block: BlockId, leaf: Leaf) -> bool {
        let searched_block = word(block, leaf);
        for level in (self.top..=self.leaf_level().0).rev() {
            let range = self.range(level, leaf.0 >> (self.leaf_level().0 - level));
            if let Some(slot) = self.words[range].iter().position(|word| *word == searched_block) {
                let range = self.written_range(level, leaf.0 >> (self.leaf_level().0 - level));
                self.words[range.start + slot] = 0;
                return true;
            }
        }
        false
    }

    /// The words of a bucket that is about to be written.
    #[inline]
    fn written_range(&mut self, level: u32, index: u64) -> Range<usize> {
        let range = self.range(level, index);
        if let Some(written) = &mut self.written {
            if written.len() == MAX_TRACKED {
                written.clear();
                written.push(0..self.words.len());
            }
            written.push(range.clone());
        }
        range
    }

    #[inline]
    fn range(&self, level: u32, index: u64) -> Range<usize> {
        let LevelPlace { size, depth, subtree_words, first } = self.levels[(level - self.top) as usize];
        let (subtree, in_subtree) = (index as usize >> depth, index as usize & ((1 << depth) - 1));
        let start = first + subtree * subtree_words + in_subtree * size as usize;
        start..start + size as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_was_reset_is_equal_to_its_original_whatever_was_done_to_it() {
        let mut original = Slots::new(Level(1), &[1, 2, 3]);
        assert!(original.put(3, BlockId(9), Leaf(6)) && original.put(2, BlockId(8), Leaf(7)));
        let mut copy = original.clone();
        copy.track_written();
        for _ in 0..2 {
            assert!(copy.put(1, BlockId(4), Leaf(5)) && copy.take(BlockId(9), Leaf(6)));
            copy.replace(2, 3, [None, Some((BlockId(1), Leaf(6)))].into_iter());
            assert_ne!(copy.words, original.words);
            copy.reset(&original);
            assert_eq!(copy.words, original.words);
        }
    }

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
