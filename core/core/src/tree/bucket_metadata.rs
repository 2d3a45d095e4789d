//! The block in each slot of each bucket, and the slots that were read since their bucket was written.
//!
//! Ring ORAM (Ren et al. 2015, section 3.1) stores this with each bucket. Here it stays on the trusted side, 4 bytes
//! for each slot. This saves a round trip and the requests.

use crate::snapshot::bit_table::BitTable;
use crate::snapshot::word_table::WordTable;
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Bucket, Level, Slot};
use alloc::vec;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::ops::Range;

const READ: u32 = 1 << 31;

/// The largest number of blocks that the words of the metadata can name.
pub const MAX_BLOCKS: u64 = (1 << 31) - 1;

/// The metadata of all buckets of a tree. A word is block + 1, or 0 for a dummy; its top bit says "read since written".
/// A slot that was read has 0 besides that bit, unless it is noted as the origin of its block.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub struct BucketMetadata {
    slots: WordTable,
    reads: Vec<u32>,
    /// A bit for each bucket.
    written: BitTable,
}

impl BucketMetadata {
    /// Creates the metadata of a tree to which nothing was written.
    pub fn new(tree: &Geometry) -> Self {
        let buckets = tree.buckets() as usize;
        BucketMetadata {
            slots: WordTable::zeros(tree.layout().slots() as usize),
            reads: vec![0; buckets],
            written: BitTable::zeros(buckets),
        }
    }

    /// The sizes of its two tables, in words: one for each slot, one for each 32 buckets.
    pub(crate) fn tables(tree: &Geometry) -> [u64; 2] {
        [tree.layout().slots(), BitTable::words_for(tree.buckets())]
    }

    /// The metadata with these tables, of the sizes that [`tables`](Self::tables) gives. The counts of reads follow
    /// from the slots.
    pub(crate) fn from_tables(tree: &Geometry, slots: Vec<u32>, written: Vec<u32>) -> Self {
        let count = |words: &[u32]| words.iter().filter(|word| **word & READ != 0).count() as u32;
        let reads =
            tree.all_buckets().map(|(level, bucket)| count(&slots[range(tree, level, bucket)])).collect();
        BucketMetadata {
            slots: WordTable::of(slots),
            reads,
            written: BitTable::of(tree.buckets() as usize, WordTable::of(written)),
        }
    }

    /// Returns the two tables, to be changed or copied.
    pub(crate) fn tables_mut(&mut self) -> [&mut WordTable; 2] {
        [&mut self.slots, &mut self.written.words]
    }

    /// Returns the two tables: the slots, and a bit for each bucket that was ever written.
    pub(crate) fn into_tables(self) -> [Vec<u32>; 2] {
        [self.slots.into_words(), self.written.words.into_words()]
    }

    /// Returns whether it has the size that this tree needs and names only blocks below `capacity`.
    pub fn fits(&self, tree: &Geometry, capacity: u64) -> bool {
        let buckets = tree.buckets() as usize;
        self.slots.words().len() as u64 == tree.layout().slots()
            && self.reads.len() == buckets
            && self.written.len() == buckets
            && self.slots.words().iter().all(|word| u64::from(word & !READ) <= capacity)
    }

    /// The bytes that the map occupies on the trusted side.
    pub fn bytes(&self) -> usize {
        let words = self.slots.words().len() + self.reads.len() + self.written.words.words().len();
        words * size_of::<u32>()
    }

    /// Returns the number of slots read since the bucket was written. Public.
    pub fn reads(&self, tree: &Geometry, bucket: Bucket) -> u32 {
        self.reads[nth(tree, bucket)]
    }

    /// Returns whether the bucket was ever written. Public.
    pub fn is_written(&self, tree: &Geometry, bucket: Bucket) -> bool {
        self.written.get(nth(tree, bucket))
    }

    /// The slot that holds a block, if it was not read since.
    pub fn find(&self, tree: &Geometry, level: Level, bucket: Bucket, block: BlockId) -> Option<Slot> {
        let word = block.0 as u32 + 1;
        let index = self.slots.words()[range(tree, level, bucket)].iter().position(|at| *at == word)?;
        Some(Slot { bucket, index: index as u32 })
    }

    /// The slots not read yet that hold a block (`real`) or a dummy.
    pub fn unread(
        &self,
        tree: &Geometry,
        level: Level,
        bucket: Bucket,
        real: bool,
    ) -> impl Iterator<Item = Slot> + '_ {
        let words = &self.slots.words()[range(tree, level, bucket)];
        words.iter().enumerate().filter_map(move |(index, word)| {
            (word & READ == 0 && (*word != 0) == real).then_some(Slot { bucket, index: index as u32 })
        })
    }

    /// The block in a slot.
    pub fn block(&self, tree: &Geometry, level: Level, slot: Slot) -> Option<BlockId> {
        let word = self.slots.words()[range(tree, level, slot.bucket).start + slot.index as usize] & !READ;
        word.checked_sub(1).map(|block| BlockId(block.into()))
    }

    /// Marks a slot as read: it is a read dummy from now on. Returns the block that was in it.
    pub fn read(&mut self, tree: &Geometry, level: Level, slot: Slot) -> Option<BlockId> {
        let block = self.block(tree, level, slot);
        self.set(tree, level, slot, READ);
        self.reads[nth(tree, slot.bucket)] += 1;
        block
    }

    /// Notes that a slot that was read still has the current payload of a block.
    pub(crate) fn note_origin(&mut self, tree: &Geometry, level: Level, slot: Slot, block: BlockId) {
        self.set(tree, level, slot, origin_of(block));
    }

    /// Notes that no slot of a bucket that was read has the current payload of a block.
    pub(crate) fn forget_origin(&mut self, tree: &Geometry, level: Level, bucket: Bucket, block: BlockId) {
        for place in range(tree, level, bucket) {
            if self.slots.words()[place] == origin_of(block) {
                self.slots.set(place, READ);
            }
        }
    }

    /// The slots that were read and still have the current payload of a block, with the block.
    pub(crate) fn origins(&self, tree: &Geometry) -> impl Iterator<Item = (BlockId, Slot)> {
        tree.all_buckets().flat_map(move |(level, bucket)| {
            let words = self.slots.words()[range(tree, level, bucket)].iter();
            (0..)
                .zip(words)
                .filter(|(_, word)| **word > READ)
                .map(move |(index, word)| (BlockId(u64::from(word & !READ) - 1), Slot { bucket, index }))
        })
    }

    /// Returns a word for each slot of a bucket: block + 1 if the slot has the current payload of a block, or else 0.
    pub(crate) fn payloads_in(&self, tree: &Geometry, level: Level, bucket: Bucket) -> Vec<u32> {
        self.slots.words()[range(tree, level, bucket)].iter().map(|word| word & !READ).collect()
    }

    /// Makes a slot an unread dummy from now on: its block was taken elsewhere before the slot was read.
    pub fn forget(&mut self, tree: &Geometry, level: Level, slot: Slot) {
        self.set(tree, level, slot, 0);
    }

    /// Begins the rewriting of a bucket: all slots are unread dummies until blocks are put in.
    pub fn rewrite(&mut self, tree: &Geometry, level: Level, bucket: Bucket) {
        let nth = nth(tree, bucket);
        self.slots.clear(range(tree, level, bucket));
        self.reads[nth] = 0;
        if !self.is_written(tree, bucket) {
            self.written.set(nth);
        }
    }

    /// Puts a block into a slot of a bucket that is being rewritten.
    pub fn put(&mut self, tree: &Geometry, level: Level, slot: Slot, block: BlockId) {
        self.set(tree, level, slot, block.0 as u32 + 1);
    }

    fn set(&mut self, tree: &Geometry, level: Level, slot: Slot, word: u32) {
        let place = range(tree, level, slot.bucket).start + slot.index as usize;
        self.slots.set(place, word);
    }
}

/// The word of a slot that was read and still has the current payload of a block.
fn origin_of(block: BlockId) -> u32 {
    READ | (block.0 as u32 + 1)
}

fn nth(tree: &Geometry, bucket: Bucket) -> usize {
    (bucket.0 - tree.first_bucket().0) as usize
}

fn range(tree: &Geometry, level: Level, bucket: Bucket) -> Range<usize> {
    let slots = tree.shape(level).slots as usize;
    let start = tree.slots_above(level) as usize + (bucket.0 - tree.first_of(level).0) as usize * slots;
    start..start + slots
}
