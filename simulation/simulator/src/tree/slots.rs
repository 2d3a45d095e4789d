//! The slots of a tree in untrusted memory: a word for each, for blocks without payload.

use super::bucket_places::BucketPlaces;
use super::cache_lines::{LineWords, prefetch};
use ameles_core::tree::block_header::HEADER_BYTES;
use ameles_core::types::{BlockId, Leaf, Level};
use std::ops::Range;

/// The maximum of writes that are recorded one by one, in 256 MiB. Beyond it all words are copied.
const MAX_TRACKED: usize = 1 << 24;

/// The slots of the levels from `top` on. A slot holds a block and its leaf.
#[derive(Clone, Debug)]
pub struct Slots {
    places: BucketPlaces,
    words: LineWords,
    /// The words that were written since they were last reset, with repetitions. `None` until they are tracked.
    written: Option<Vec<Range<usize>>>,
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
        let places = BucketPlaces::new(top, sizes);
        let words = LineWords::zeros(places.words());
        Slots { places, words, written: None }
    }

    /// Empty slots as [`new`](Self::new) makes them, in the memory of these if that suffices.
    pub(crate) fn into_empty(self, top: Level, sizes: &[u32]) -> Self {
        let places = BucketPlaces::new(top, sizes);
        let words = self.words.into_zeros(places.words());
        Slots { places, words, written: None }
    }

    /// Makes the slots a copy of others, in their own memory if that suffices.
    pub(crate) fn copy_from(&mut self, original: &Self) {
        self.places.clone_from(&original.places);
        self.words.clone_from(&original.words);
    }

    /// Begins to record which buckets are written, so that [`reset`](Self::reset) copies only those.
    pub(crate) fn track_written(&mut self) {
        self.written.get_or_insert_default().clear();
    }

    /// Makes the slots equal to those of which they are a copy. Writes from before the tracking stay.
    pub(crate) fn reset(&mut self, original: &Self) {
        for range in self.written.iter_mut().flat_map(|written| written.drain(..)) {
            self.words[range.clone()].copy_from_slice(&original.words[range]);
        }
    }

    /// The first level.
    pub fn top(&self) -> Level {
        self.places.top()
    }

    /// The level of the leaves.
    pub fn leaf_level(&self) -> Level {
        self.places.leaf_level()
    }

    /// Z of a level.
    #[inline]
    pub fn size(&self, level: Level) -> u32 {
        self.places.size(level.0)
    }

    /// The bytes that the slots occupy.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    /// The share of the slots of each level that hold a block, the root's side first.
    pub fn utilisation(&self) -> Vec<f64> {
        let of_level = |level: u32| {
            let buckets = (0..1 << level).map(|index| &self.words[self.places.range(level, index)]);
            let blocks: usize = buckets.map(|slots| slots.iter().filter(|word| **word != 0).count()).sum();
            blocks as f64 / (f64::from(self.size(Level(level))) * libm::exp2(level.into()))
        };
        (self.top().0..=self.leaf_level().0).map(of_level).collect()
    }

    /// Asks the processor for a bucket, without waiting for it.
    #[inline]
    pub(super) fn prefetch(&self, level: u32, index: u64) {
        prefetch(&self.words[self.places.range(level, index).start]);
    }

    /// The blocks of a bucket: the one at `index` from the left of a level.
    pub(super) fn bucket(&self, level: u32, index: u64) -> impl Iterator<Item = Option<(BlockId, Leaf)>> {
        self.words[self.places.range(level, index)].iter().map(|word| content(*word))
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
        for (word, into) in self.words[self.places.range(level, index)].iter().zip(headers) {
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

    /// The slots of each subtree below the first level, from the left.
    pub(super) fn subtrees_mut(&mut self) -> Vec<SubtreeSlots<'_>> {
        let places = &self.places;
        let subtrees = 1 << places.top().0;
        let mut all: Vec<_> = (0..subtrees).map(|_| SubtreeSlots { places, parts: Vec::new() }).collect();
        let (mut rest, mut first) = (&mut self.words[..], 0);
        for group_words in places.groups() {
            let (group, behind) = rest.split_at_mut(group_words);
            rest = behind;
            for (subtree, part) in all.iter_mut().zip(group.chunks_exact_mut(group_words / subtrees)) {
                let words = part.len();
                subtree.parts.push((first, part));
                first += words;
            }
        }
        all
    }

    /// All blocks, in no order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (BlockId, Leaf)> {
        self.words.iter().filter_map(|word| content(*word))
    }

    /// Takes a block out of its path; `false` if it is not there.
    pub(crate) fn take(&mut self, block: BlockId, leaf: Leaf) -> bool {
        let searched_block = word(block, leaf);
        for level in (self.top().0..=self.leaf_level().0).rev() {
            let range = self.places.range(level, leaf.0 >> (self.leaf_level().0 - level));
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
        let range = self.places.range(level, index);
        if let Some(written) = &mut self.written {
            if written.len() == MAX_TRACKED {
                written.clear();
                written.push(0..self.words.len());
            }
            written.push(range.clone());
        }
        range
    }
}

/// The slots of a subtree below the first level, for a thread that fills it.
pub(super) struct SubtreeSlots<'a> {
    places: &'a BucketPlaces,
    /// The subtree's part of each group of levels, and the first word of the part.
    parts: Vec<(usize, &'a mut [u64])>,
}

impl SubtreeSlots<'_> {
    /// Puts a block into the bucket of its path on a level; `false` if that is full.
    #[inline]
    pub(super) fn put(&mut self, level: u32, block: BlockId, leaf: Leaf) -> bool {
        let range = self.places.range(level, leaf.0 >> (self.places.leaf_level().0 - level));
        let (first, part) = &mut self.parts[self.places.group(level)];
        let free = part[range.start - *first..range.end - *first].iter_mut().find(|word| **word == 0);
        free.map(|slot| *slot = word(block, leaf)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(slots: &mut Slots, level: u32, block: u64, leaf: u64) -> bool {
        let subtree = leaf >> (slots.leaf_level().0 - slots.top().0);
        slots.subtrees_mut()[subtree as usize].put(level, BlockId(block), Leaf(leaf))
    }

    #[test]
    fn a_copy_that_was_reset_is_equal_to_its_original_whatever_was_done_to_it() {
        let mut original = Slots::new(Level(1), &[1, 2, 3]);
        assert!(put(&mut original, 3, 9, 6) && put(&mut original, 2, 8, 7));
        let mut copy = original.clone();
        copy.track_written();
        for _ in 0..2 {
            copy.replace(1, 1, [Some((BlockId(4), Leaf(5)))].into_iter());
            assert!(copy.take(BlockId(9), Leaf(6)));
            copy.replace(2, 3, [None, Some((BlockId(1), Leaf(6)))].into_iter());
            assert_ne!(copy.words[..], original.words[..]);
            copy.reset(&original);
            assert_eq!(copy.words[..], original.words[..]);
        }
    }

    #[test]
    fn a_bucket_takes_as_many_blocks_as_its_level_says_and_gives_them_back() {
        let mut slots = Slots::new(Level(1), &[1, 2, 3]);
        let (block, leaf) = (BlockId(u64::from(u32::MAX) - 1), Leaf(5));
        assert!(put(&mut slots, 1, block.0, leaf.0) && !put(&mut slots, 1, 0, 4));
        assert!(put(&mut slots, 2, 0, 4) && put(&mut slots, 2, 1, 5));
        assert!(!put(&mut slots, 2, 2, 5));
        assert_eq!(slots.bucket(1, 1).collect::<Vec<_>>(), [Some((block, leaf))]);
        assert_eq!(slots.utilisation(), [0.5, 0.25, 0.0]);
        assert!(slots.take(BlockId(1), Leaf(5)) && !slots.take(BlockId(1), Leaf(5)));
        assert_eq!(slots.utilisation(), [0.5, 0.125, 0.0]);
        slots.replace(2, 2, [None, Some((BlockId(7), Leaf(4)))].into_iter());
        assert_eq!(slots.bucket(2, 2).collect::<Vec<_>>(), [None, Some((BlockId(7), Leaf(4)))]);
    }
}
