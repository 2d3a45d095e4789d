//! The origins of blocks in the stash: slots of untrusted memory that still have their current payloads.
//!
//! An access that finds no dummy in a bucket reads another block. The block comes to the stash, and its payload stays in
//! the slot until an eviction rewrites the bucket. So an owner who copies the stash elsewhere needs no copy of such a
//! payload. The [metadata](BucketMetadata) note the block in the slot that was read. An access to the block forgets its
//! origins: it may write another payload.
//!
//! The blocks of [held](super::slices) buckets are in the stash, and in slots of the store. Until an eviction has placed its
//! blocks, the metadata list them. Afterwards the metadata list the placed blocks, and what the store has is kept here until
//! the bucket is written.
//!
//! All origins of a block are on its path, because only an access changes its leaf.

use super::slices::Slices;
use crate::snapshot::incremental::Origins;
use crate::tree::bucket_metadata::BucketMetadata;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Bucket, Level, Slot};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// The contents, in the store, of the buckets that an eviction has filled and not written: a word for each slot, as
/// [`payloads_in`](BucketMetadata::payloads_in) returns it.
#[derive(Debug, Default)]
pub(super) struct ReplacedPayloads(BTreeMap<Bucket, Vec<u32>>);

impl ReplacedPayloads {
    /// Keeps the payloads of a bucket that is about to be filled.
    pub(super) fn keep(&mut self, bucket: Bucket, payloads: Vec<u32>) {
        self.0.insert(bucket, payloads);
    }

    /// Forgets the payloads of a bucket that is about to be written.
    pub(super) fn drop_bucket(&mut self, bucket: Bucket) {
        self.0.remove(&bucket);
    }

    /// Forgets the payload of a block.
    pub(super) fn forget(&mut self, bucket: Bucket, block: BlockId) {
        let kept = self.0.get_mut(&bucket).into_iter().flatten();
        kept.filter(|word| **word == block.0 as u32 + 1).for_each(|word| *word = 0);
    }

    /// The words of these buckets, one after the other: as many for any requests.
    pub(super) fn words(&self, filled: impl Iterator<Item = (Level, Bucket)>, tree: &Geometry) -> Vec<u32> {
        let mut words = Vec::new();
        for (level, bucket) in filled {
            let slots = tree.shape(level).slots as usize;
            match self.0.get(&bucket) {
                Some(kept) => words.extend_from_slice(kept),
                None => words.extend(vec![0; slots]),
            }
        }
        words
    }

    /// The payloads with these words. No words mean that none are known. `None` if the words do not fit the buckets.
    pub(super) fn from_words(
        words: &[u32],
        filled: impl Iterator<Item = (Level, Bucket)>,
        (tree, capacity): (&Geometry, u64),
    ) -> Option<Self> {
        let (mut kept, mut rest) = (BTreeMap::new(), words);
        if words.is_empty() {
            return Some(ReplacedPayloads(kept));
        }
        for (level, bucket) in filled {
            let (own, behind) = rest.split_at_checked(tree.shape(level).slots as usize)?;
            kept.insert(bucket, own.to_vec());
            rest = behind;
        }
        let is_known = |word: &u32| u64::from(*word) <= capacity;
        (rest.is_empty() && words.iter().all(is_known)).then_some(ReplacedPayloads(kept))
    }

    /// The origins of all blocks between two steps.
    pub(super) fn origins(
        &self,
        metadata: &BucketMetadata,
        schedule: &EvictionSchedule,
        (slices, tree): (&Slices, &Geometry),
    ) -> Origins {
        let mut slots: Vec<(BlockId, Slot)> = metadata.origins(tree).collect();
        let unfilled = slices.unfilled(schedule, tree);
        let listed = unfilled.map(|(level, bucket)| (bucket, metadata.payloads_in(tree, level, bucket)));
        let replaced = self.0.iter().map(|(bucket, words)| (*bucket, words.clone()));
        for (bucket, words) in listed.chain(replaced) {
            let named = (0..).zip(words).filter_map(|(index, word)| Some((index, word.checked_sub(1)?)));
            slots.extend(named.map(|(index, block)| (BlockId(block.into()), Slot { bucket, index })));
        }
        let read: u64 = tree.all_buckets().map(|(_, bucket)| u64::from(metadata.reads(tree, bucket))).sum();
        let held = slices.held(schedule, tree);
        let of_held: u64 = held.iter().map(|(level, _)| u64::from(tree.shape(*level).slots)).sum();
        Origins { slots, max: read + of_held }
    }
}
