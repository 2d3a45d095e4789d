//! The top of the tree, kept as buckets on the trusted side.
//!
//! A path then reads as few untrusted buckets as with the top levels in the stash, and the stash itself stays small.
//! Hardware searches the stash as a whole, and cannot search thousands of blocks in this way.
//!
//! With an index by block, a block is found without its position. This is the S-Stash of IR-Stash (Raoufi, Zhang, Yang,
//! "IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM", section IV-C). The index is
//! set-associative, so a block may find its set full; it then waits in the stash. Without an index a block is found
//! only by its position. This is the dedicated cache that IR-ORAM is compared with.

use crate::oram::OramError;
use crate::range::{self, OutOfRange};
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::types::{BlockId, Bucket, Leaf, Level};
use alloc::vec;
use alloc::vec::Vec;
use core::error::Error;

/// The shape of a tree top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeTopParameters {
    /// The number of levels in it, starting with the root: 0 to 24, and fewer than the tree has.
    pub levels: u32,
    /// The ways of the index by block: 1 to 64, and no more than the blocks of the top; `None` for no index.
    pub ways: Option<u32>,
}

impl TreeTopParameters {
    /// Checks the ranges, in a tree with these leaves and buckets.
    ///
    /// # Errors
    /// [`OutOfRange`].
    pub(crate) fn check(self, leaf_level: Level, blocks_per_bucket: u32) -> Result<(), OutOfRange> {
        range::check(&[("levels of the tree top", self.levels.into(), 0, leaf_level.0.min(24).into())])?;
        let max = (u64::from(blocks_per_bucket) * ((1 << self.levels) - 1)).clamp(1, 64);
        range::check(&[("ways of the tree top", self.ways.unwrap_or(1).into(), 1, max)])
    }
}

/// The buckets of the top levels. Each entry has the format of untrusted memory: a header and a payload, zeros if it is
/// empty.
pub(super) struct TreeTop {
    levels: u32,
    entry_bytes: usize,
    bucket_bytes: usize,
    first_bucket: Bucket,
    entries: Vec<u8>,
    sets: Option<Sets>,
}

/// The place of an entry: its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(usize);

impl TreeTop {
    /// A top of no levels.
    pub(super) fn none(first_bucket: Bucket) -> Self {
        TreeTop { levels: 0, entry_bytes: 0, bucket_bytes: 0, first_bucket, entries: Vec::new(), sets: None }
    }

    /// An empty top of a tree whose buckets have `blocks_per_bucket` entries there, numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`OutOfRange`].
    pub(super) fn new(
        parameters: TreeTopParameters,
        leaf_level: Level,
        (blocks_per_bucket, block_bytes): (u32, u32),
        first_bucket: Bucket,
    ) -> Result<Self, OutOfRange> {
        parameters.check(leaf_level, blocks_per_bucket)?;
        let TreeTopParameters { levels, ways } = parameters;
        let blocks = blocks_per_bucket as usize * ((1 << levels) - 1);
        let sets = ways.map(|ways| Sets::new(blocks, ways));
        let entry_bytes = HEADER_BYTES + block_bytes as usize;
        let bucket_bytes = blocks_per_bucket as usize * entry_bytes;
        let entries = vec![0; blocks * entry_bytes];
        Ok(TreeTop { levels, entry_bytes, bucket_bytes, first_bucket, entries, sets })
    }

    /// The number of levels.
    pub(super) fn levels(&self) -> u32 {
        self.levels
    }

    /// The bytes that the tree top occupies.
    pub(super) fn bytes(&self) -> usize {
        let ways = self.sets.as_ref().map_or(0, |sets| sets.ways.len());
        self.entries.len() + ways * size_of::<Way>()
    }

    /// The blocks in the tree top.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (BlockId, Leaf)> {
        self.entries.chunks_exact(self.entry_bytes.max(1)).filter_map(block_header::read)
    }

    /// Takes all blocks of a bucket out.
    pub(super) fn empty(&mut self, bucket: Bucket, mut take: impl FnMut(BlockId, Leaf, &[u8])) {
        let start = self.start(bucket);
        let entries = &mut self.entries[start..start + self.bucket_bytes];
        for entry in entries.chunks_exact(self.entry_bytes) {
            if let Some((block, leaf)) = block_header::read(entry) {
                take(block, leaf, &entry[HEADER_BYTES..]);
                if let Some(sets) = &mut self.sets {
                    sets.release(block);
                }
            }
        }
        entries.fill(0);
    }

    /// Returns the number of bytes of all entries.
    pub(super) fn entries_bytes(&self) -> usize {
        self.entries.len()
    }

    /// Takes all blocks out, as the entries of all buckets.
    pub(super) fn empty_all(&mut self) -> Vec<u8> {
        if let Some(sets) = &mut self.sets {
            sets.ways.fill(Way::default());
        }
        let empty = vec![0; self.entries.len()];
        core::mem::replace(&mut self.entries, empty)
    }

    /// Fills an empty top with the entries of all `buckets`, each of whose blocks `is_sound` accepts.
    ///
    /// # Errors
    /// The error of `is_sound`; [`OramError::Contradiction`] if a block has no place in the index.
    pub(super) fn fill<E: Error + 'static>(
        &mut self,
        buckets: &[Bucket],
        bytes: &[u8],
        is_sound: impl Fn(BlockId, Leaf, Bucket) -> Result<(), OramError<E>>,
    ) -> Result<(), OramError<E>> {
        for (bucket, entries) in buckets.iter().zip(bytes.chunks_exact(self.bucket_bytes)) {
            for (nth, entry) in entries.chunks_exact(self.entry_bytes).enumerate() {
                let Some((block, leaf)) = block_header::read(entry) else { continue };
                is_sound(block, leaf, *bucket)?;
                if !self.reserve(block) {
                    return Err(OramError::Contradiction(
                        "a block of the tree top has no place in its index",
                    ));
                }
                self.put(*bucket, nth, block).copy_from_slice(entry);
            }
        }
        Ok(())
    }

    /// Reserves the room that a block needs in the index; `false` if its set is full. Afterwards the caller puts the
    /// block in a bucket.
    pub(super) fn reserve(&mut self, block: BlockId) -> bool {
        self.sets.as_mut().is_none_or(|sets| sets.reserve(block))
    }

    /// The times that a block found its set of the index full.
    pub(super) fn refusals(&self) -> u64 {
        self.sets.as_ref().map_or(0, |sets| sets.refusals)
    }

    /// The entry of an empty bucket for its `nth` block, for which room in the index is reserved.
    pub(super) fn put(&mut self, bucket: Bucket, nth: usize, block: BlockId) -> &mut [u8] {
        let start = self.start(bucket) + nth * self.entry_bytes;
        if let Some(sets) = &mut self.sets {
            sets.point(block, Entry(start));
        }
        &mut self.entries[start..start + self.entry_bytes]
    }

    /// Puts a block, whose path has these buckets, into the first of them that has room; `false` if there is none.
    pub(super) fn put_in(
        &mut self,
        buckets: impl Iterator<Item = Bucket>,
        block: BlockId,
        leaf: Leaf,
    ) -> bool {
        let is_empty = |at: &usize| block_header::read(&self.entries[*at..]).is_none();
        let entries = buckets.map(|bucket| (bucket, self.start(bucket))).find_map(|(bucket, start)| {
            let mut entries = (start..start + self.bucket_bytes).step_by(self.entry_bytes);
            entries.position(|at| is_empty(&at)).map(|nth| (bucket, nth))
        });
        let Some((bucket, nth)) = entries.filter(|_| self.reserve(block)) else { return false };
        let entry = self.put(bucket, nth, block);
        entry.fill(0);
        block_header::write(entry, block, leaf);
        true
    }

    /// Finds a block by its number only: the index has to be there.
    pub(super) fn find(&self, block: BlockId) -> Option<Entry> {
        self.sets.as_ref()?.find(block)
    }

    /// Finds a block in these buckets, which are those of its path.
    pub(super) fn find_in(&self, buckets: impl Iterator<Item = Bucket>, block: BlockId) -> Option<Entry> {
        for start in buckets.map(|bucket| self.start(bucket)) {
            let mut entries = self.entries[start..start + self.bucket_bytes].chunks_exact(self.entry_bytes);
            if let Some(nth) = entries.position(|entry| block_header::is_of(entry, block)) {
                return Some(Entry(start + nth * self.entry_bytes));
            }
        }
        None
    }

    /// The level of an entry.
    pub(super) fn level(&self, Entry(at): Entry) -> Level {
        Level((at / self.bucket_bytes + 1).ilog2())
    }

    /// The payload at an entry.
    pub(super) fn payload_mut(&mut self, Entry(at): Entry) -> &mut [u8] {
        &mut self.entries[at + HEADER_BYTES..at + self.entry_bytes]
    }

    /// Takes the block at an entry out. Returns its leaf.
    pub(super) fn take(&mut self, Entry(at): Entry, take: impl FnOnce(&mut [u8])) -> Option<Leaf> {
        let entry = &mut self.entries[at..at + self.entry_bytes];
        let (block, leaf) = block_header::read(entry)?;
        take(&mut entry[HEADER_BYTES..]);
        entry.fill(0);
        if let Some(sets) = &mut self.sets {
            sets.release(block);
        }
        Some(leaf)
    }

    fn start(&self, bucket: Bucket) -> usize {
        (bucket.0 - self.first_bucket.0) as usize * self.bucket_bytes
    }
}

/// The index by block: sets of a few ways.
struct Sets {
    ways: Vec<Way>,
    per_set: usize,
    refusals: u64,
}

/// A block of the index, as its number and one, and the first byte of its entry; zeros if there is none.
#[derive(Clone, Copy, Default)]
struct Way {
    block: u64,
    entry: usize,
}

impl Sets {
    /// Makes the smallest power of two of sets that gives each of `blocks` blocks a way.
    fn new(blocks: usize, per_set: u32) -> Self {
        let per_set = per_set as usize;
        let sets = blocks.div_ceil(per_set).next_power_of_two();
        Sets { ways: vec![Way::default(); sets * per_set], per_set, refusals: 0 }
    }

    fn set(&self, block: BlockId) -> core::ops::Range<usize> {
        let sets = self.ways.len() / self.per_set;
        // The upper half of the product depends on all bits of the number.
        let set = (block.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (sets - 1);
        set * self.per_set..(set + 1) * self.per_set
    }

    fn way(&mut self, block: BlockId, holds: u64) -> Option<&mut Way> {
        let set = self.set(block);
        self.ways[set].iter_mut().find(|way| way.block == holds)
    }

    fn reserve(&mut self, block: BlockId) -> bool {
        let Some(way) = self.way(block, 0) else {
            self.refusals += 1;
            return false;
        };
        way.block = block.0 + 1;
        true
    }

    fn point(&mut self, block: BlockId, entry: Entry) {
        self.way(block, block.0 + 1).expect("a place is reserved").entry = entry.0;
    }

    fn find(&self, block: BlockId) -> Option<Entry> {
        let mut set = self.ways[self.set(block)].iter();
        set.find(|way| way.block == block.0 + 1).map(|way| Entry(way.entry))
    }

    fn release(&mut self, block: BlockId) {
        *self.way(block, block.0 + 1).expect("a block of the top is in its index") = Way::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three levels of buckets of two blocks of a byte.
    fn top(ways: Option<u32>) -> TreeTop {
        TreeTop::new(TreeTopParameters { levels: 3, ways }, Level(5), (2, 1), Bucket(10)).unwrap()
    }

    fn put(top: &mut TreeTop, bucket: u64, nth: usize, block: u64) -> bool {
        let is_reserved = top.reserve(BlockId(block));
        if is_reserved {
            let entry = top.put(Bucket(bucket), nth, BlockId(block));
            block_header::write(entry, BlockId(block), Leaf(block));
            entry[HEADER_BYTES] = block as u8;
        }
        is_reserved
    }

    #[test]
    fn a_block_is_found_by_its_number_with_an_index_and_by_its_path_without() {
        for ways in [None, Some(4)] {
            let mut top = top(ways);
            assert!(put(&mut top, 12, 1, 7) && put(&mut top, 10, 0, 8));
            assert_eq!(top.find(BlockId(7)).is_some(), ways.is_some());
            let path = || [10, 12].into_iter().map(Bucket);
            let found = top.find_in(path(), BlockId(7)).unwrap();
            assert_eq!((top.level(found), top.payload_mut(found)), (Level(1), &mut [7][..]));
            assert_eq!(top.find_in(path(), BlockId(9)), None);
            assert_eq!(top.take(found, |payload| assert_eq!(payload, [7])), Some(Leaf(7)));
            assert_eq!((top.find(BlockId(7)), top.find_in(path(), BlockId(7))), (None, None));
            assert_eq!(top.blocks().count(), 1);
        }
    }

    #[test]
    fn a_bucket_that_is_emptied_gives_its_blocks_and_their_places_of_the_index() {
        let mut top = top(Some(1));
        assert!(put(&mut top, 11, 0, 1));
        assert!(!top.reserve(BlockId(1)), "its set of one way is full");
        assert_eq!(top.refusals(), 1);
        let mut taken = Vec::new();
        top.empty(Bucket(11), |block, leaf, payload| taken.push((block, leaf, payload.to_vec())));
        assert_eq!(taken, [(BlockId(1), Leaf(1), vec![1])]);
        assert!(top.reserve(BlockId(1)));
    }

    #[test]
    fn a_block_is_put_into_the_first_bucket_of_its_path_that_has_room() {
        let mut top = top(Some(8));
        let mut put_in = |block| top.put_in([12, 10].into_iter().map(Bucket), BlockId(block), Leaf(block));
        assert_eq!([1, 2, 3, 4, 5].map(&mut put_in), [true, true, true, true, false]);
        let level = |block| top.level(top.find(BlockId(block)).unwrap());
        assert_eq!([1, 2, 3, 4].map(level), [1, 1, 0, 0].map(Level));
    }

    #[test]
    fn a_top_that_is_no_top_is_refused() {
        let new = |levels, ways| {
            let error = TreeTop::new(TreeTopParameters { levels, ways }, Level(5), (2, 1), Bucket(0)).err();
            error.map(|error| error.name)
        };
        assert_eq!(new(6, None), Some("levels of the tree top"));
        assert_eq!([new(3, Some(0)), new(3, Some(65))], [Some("ways of the tree top"); 2]);
        assert_eq!([new(5, None), new(0, None), new(5, Some(62))], [None; 3]);
    }
}
