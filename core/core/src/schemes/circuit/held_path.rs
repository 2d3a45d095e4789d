//! A path as Circuit ORAM sees it: the stash and the held buckets below it, numbered from the stash down.

use crate::stash::{Handle, Stash};
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::tree::bucket_buffer::{BucketBuffer, Entry};
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Bucket, Leaf, Level};
use alloc::vec::Vec;

/// The path to a leaf: position 0 is the stash, position 1 the uppermost bucket in untrusted memory. All its buckets
/// are held.
pub(crate) struct HeldPath<'a> {
    pub(crate) tree: &'a Geometry,
    pub(crate) leaf: Leaf,
    pub(crate) stash: &'a mut Stash,
    pub(crate) held: &'a mut BucketBuffer,
}

/// The place of a block.
enum At {
    Stash(Handle),
    Bucket(Entry),
}

impl HeldPath<'_> {
    /// The position of the leaf's bucket.
    pub(crate) fn last(&self) -> usize {
        (self.tree.leaf_level().0 + 1 - self.tree.top().0) as usize
    }

    /// Does ReadAndRm: moves a block of this leaf from its bucket to the stash, if it is in a bucket.
    pub(crate) fn read_and_rm(&mut self, block: BlockId) {
        let buckets = (1..=self.last()).map(|position| self.bucket(position));
        if let Some((_, entry)) = self.held.find(buckets, (block, self.leaf)) {
            let bytes = self.held.entry_mut(entry);
            self.stash.insert_with(block, self.leaf, &bytes[HEADER_BYTES..]);
            bytes.fill(0);
        }
    }

    /// The deepest position where any block at a position may stand.
    pub(crate) fn deepest_level(&self, position: usize) -> Option<usize> {
        self.deepest(position).map(|(level, _)| level)
    }

    /// Returns whether another block fits there; the stash has room always.
    pub(crate) fn has_empty_slot(&self, position: usize) -> bool {
        position == 0 || self.empty_slot(position).is_some()
    }

    /// Takes away the block that may go deepest, header and payload.
    ///
    /// # Panics
    /// If no block is there.
    pub(crate) fn remove_deepest(&mut self, position: usize, hold: &mut Vec<u8>) {
        let (_, at) = self.deepest(position).expect("a block is taken from where one was seen");
        hold.resize(self.held.entry_bytes(), 0);
        match at {
            At::Stash(handle) => {
                self.stash.serialize_block(handle, hold);
                self.stash.remove(handle);
            }
            At::Bucket(entry) => {
                let bytes = self.held.entry_mut(entry);
                hold.copy_from_slice(bytes);
                bytes.fill(0);
            }
        }
    }

    /// Places a block into the bucket at a position.
    ///
    /// # Panics
    /// If it is full.
    pub(crate) fn place(&mut self, position: usize, towrite: &[u8]) {
        let leaf = block_header::read(towrite).map(|(_, leaf)| leaf);
        debug_assert!(leaf.is_some_and(|leaf| self.depth(leaf) >= position), "a block stays on its path");
        let entry = self.empty_slot(position).expect("a block goes to where there is room");
        self.held.entry_mut(entry).copy_from_slice(towrite);
    }

    fn bucket(&self, position: usize) -> Bucket {
        self.tree.bucket(Level(self.tree.top().0 + position as u32 - 1), self.leaf)
    }

    fn empty_slot(&self, position: usize) -> Option<Entry> {
        self.held.entries(self.bucket(position)).find(|entry| self.held.header(*entry).is_none())
    }

    /// The deepest position where a block of this leaf may stand.
    fn depth(&self, leaf: Leaf) -> usize {
        (self.tree.deepest_common(leaf, self.leaf).0 + 1 - self.tree.top().0) as usize
    }

    /// The first of the blocks at a position that may go deepest.
    fn deepest(&self, position: usize) -> Option<(usize, At)> {
        let mut deepest: Option<(usize, At)> = None;
        let mut see = |leaf: Leaf, at: At| {
            let depth = self.depth(leaf);
            if deepest.as_ref().is_none_or(|(before, _)| depth > *before) {
                deepest = Some((depth, at));
            }
        };
        if position == 0 {
            for handle in self.stash.subtree(self.tree.subtree(self.leaf)) {
                see(self.stash.leaf(handle), At::Stash(handle));
            }
        } else {
            for entry in self.held.entries(self.bucket(position)) {
                if let Some((_, leaf)) = self.held.header(entry) {
                    see(leaf, At::Bucket(entry));
                }
            }
        }
        deepest
    }
}
