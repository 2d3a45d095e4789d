//! The check that the parts of a Ring ORAM's trusted state agree with one another: before it continues from them.

use super::RingParameters;
use super::slices::Slices;
use crate::position_map::flat::Positions;
use crate::tree::bucket_metadata::BucketMetadata;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Bucket, Leaf, Level};
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

/// The parts of a state without the stash.
pub(super) struct Agreement<'a> {
    pub(super) parameters: &'a RingParameters,
    pub(super) tree: &'a Geometry,
    pub(super) positions: &'a Positions,
    pub(super) metadata: &'a BucketMetadata,
    pub(super) schedule: &'a EvictionSchedule,
    pub(super) worn: &'a VecDeque<Bucket>,
}

impl Agreement<'_> {
    /// Returns whether the parts agree with one another, and with a stash that holds these blocks.
    pub(super) fn holds(&self, stash: impl Iterator<Item = (BlockId, Leaf)>) -> bool {
        let has_positions = self.positions.blocks() == self.parameters.capacity;
        has_positions && self.is_in_range() && self.reads_agree() && self.blocks_agree(stash)
    }

    /// Returns whether the metadata are for such a tree, and the schedule is possible.
    pub(super) fn is_in_range(&self) -> bool {
        self.metadata.fits(self.tree, self.parameters.capacity)
            && self.schedule.emergencies <= self.schedule.begun
    }

    /// Returns whether each bucket's count of reads matches its slots, and whether exactly the worn buckets are to be
    /// reshuffled.
    pub(super) fn reads_agree(&self) -> bool {
        let (tree, metadata) = (self.tree, self.metadata);
        let max = self.parameters.reads;
        let before = self.parameters.reads_before_reshuffle();
        let mut worn: Vec<Bucket> = self.worn.iter().copied().collect();
        worn.sort_unstable();
        let mut found = Vec::new();
        for (level, bucket) in tree.all_buckets() {
            let reads = metadata.reads(tree, bucket);
            let unread = |real| metadata.unread(tree, level, bucket, real).count() as u32;
            if reads > max || reads + unread(true) + unread(false) != tree.shape(level).slots {
                return false;
            }
            if reads > before {
                found.push(bucket);
            }
        }
        worn == found
    }

    /// Returns whether every mapped block, and no other, is in one place, which is on its path. The blocks of held
    /// buckets are in the stash as well.
    fn blocks_agree(&self, mut stash: impl Iterator<Item = (BlockId, Leaf)>) -> bool {
        let (tree, positions) = (self.tree, self.positions);
        let held = Slices::of(self.parameters).held(self.schedule, tree);
        let Some(mut listed) = self.listed_in(&held) else { return false };
        // A bit for each block that was met: it must not be met again, and none that is mapped must be left.
        let mut met = vec![0u64; positions.blocks().div_ceil(64) as usize];
        let mut left = positions.words().iter().filter(|word| **word != 0).count();
        let mut meet = |block: BlockId| {
            if block.0 >= positions.blocks() || met[block.0 as usize / 64] >> (block.0 % 64) & 1 == 1 {
                return None;
            }
            met[block.0 as usize / 64] |= 1 << (block.0 % 64);
            let leaf = positions.get(block).filter(|leaf| leaf.0 < tree.leaves())?;
            left -= 1;
            Some(leaf)
        };
        let in_stash = stash.all(|(block, leaf)| {
            listed.remove(&block);
            meet(block) == Some(leaf)
        });
        let mut others = tree.all_buckets().filter(|bucket| !held.contains(bucket));
        let in_tree = others.all(|(level, bucket)| {
            self.metadata.unread(tree, level, bucket, true).all(|slot| {
                let leaf = self.metadata.block(tree, level, slot).and_then(&mut meet);
                leaf.is_some_and(|leaf| tree.bucket(level, leaf) == bucket)
            })
        });
        in_stash && in_tree && left == 0 && listed.is_empty()
    }

    /// The blocks that these buckets list. `None` if one is listed twice, or off its path.
    fn listed_in(&self, buckets: &[(Level, Bucket)]) -> Option<BTreeSet<BlockId>> {
        let mut listed = BTreeSet::new();
        for (level, bucket) in buckets.iter().copied() {
            for slot in self.metadata.unread(self.tree, level, bucket, true) {
                let block = self.metadata.block(self.tree, level, slot)?;
                let leaf = self.positions.get(block).filter(|leaf| leaf.0 < self.tree.leaves())?;
                if self.tree.bucket(level, leaf) != bucket || !listed.insert(block) {
                    return None;
                }
            }
        }
        Some(listed)
    }
}
