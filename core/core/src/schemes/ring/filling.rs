//! A Ring ORAM that has blocks from the beginning. Every block gets a uniform leaf. Buckets are written once, in the
//! order of their numbers, which reveals nothing.
//!
//! There are two ways. [`redraw`](RingFilling::redraw) restores a vault whose old positions must not be read again. It
//! writes only the buckets that exist. The blocks come to their places as in a vault that accessed each of them once
//! and then made dummies. They wait in the stash until an eviction of the public schedule passes. So the stash is that
//! of a vault after a possible sequence of requests. The bound of the stash holds for every sequence, so it holds here
//! and afterwards. (If each block went as deep as possible, the lowest existing buckets would overflow. Such a bucket
//! would also take all blocks of its missing child, up to A instead of A/2.)
//!
//! [`draw`](RingFilling::draw) writes a full tree. Each block goes as deep as there is room. A block that finds no room
//! on its path waits in the stash. Usually there is no such block. Leaf buckets have room for their share and three
//! standard deviations of it, and the levels above them are empty.
//!
//! Both take no more memory than the tables that they make: until a bucket is written, its part of the metadata lists
//! its blocks.

use super::RingParameters;
use super::incremental::Rest;
use super::redraw::{RingProgress, RingRedraw};
use super::slices::Slices;
use super::validate::Agreement;
use crate::permutation::sampling;
use crate::position_map::flat::Positions;
use crate::tree::bucket_metadata::BucketMetadata;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Bucket, Leaf, Level, Slot};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;
use rand_core::RngCore;

/// See the module.
pub struct RingFilling<R> {
    tree: Geometry,
    positions: Positions,
    /// The blocks of a bucket that was not placed are in its first slots, in the order in which they came.
    metadata: BucketMetadata,
    stash: Vec<BlockId>,
    /// The number of reads of a bucket that come before a reshuffle.
    max_reads: u32,
    schedule: EvictionSchedule,
    random: R,
}

/// The trusted state of a Ring ORAM that was filled: for
/// [`IncrementalSnapshot::resume`](crate::snapshot::incremental::IncrementalSnapshot), and for
/// [`over_filled_store`](super::RingOram::over_filled_store).
#[derive(Clone)]
pub struct FilledRing {
    /// The tables of words: the positions, a word for each block; and the metadata.
    pub tables: Vec<Vec<u32>>,
    /// The rest.
    pub rest: Vec<u8>,
    /// The blocks of the stash.
    pub stash: Vec<BlockId>,
}

impl<R: RngCore> RingFilling<R> {
    /// Draws a leaf for each block that `is_mapped`, and a bucket on its path.
    pub fn draw(
        parameters: &RingParameters,
        mut is_mapped: impl FnMut(BlockId) -> bool,
        mut random: R,
    ) -> Self {
        let tree = parameters.geometry();
        let mut positions = Positions::new(parameters.capacity);
        let (mut metadata, mut stash) = (BucketMetadata::new(&tree), Vec::new());
        for block in (0..parameters.capacity).map(BlockId).filter(|block| is_mapped(*block)) {
            let leaf = sampling::leaf_of_64_bits(&mut random, &tree);
            positions.replace(block, leaf);
            let with_room = tree.path(leaf).rev().find_map(|(level, bucket)| {
                let index = metadata.unread(&tree, level, bucket, true).count() as u32;
                (index < tree.shape(level).blocks).then_some((level, Slot { bucket, index }))
            });
            match with_room {
                Some((level, slot)) => metadata.put(&tree, level, slot, block),
                None => stash.push(block),
            }
        }
        RingFilling {
            tree,
            positions,
            metadata,
            stash,
            max_reads: parameters.reads_before_reshuffle(),
            schedule: EvictionSchedule::default(),
            random,
        }
    }

    /// Draws a leaf for each block that `is_mapped`, and makes the evictions of the plan. `None` if there are more
    /// blocks than the plan has accesses.
    pub fn redraw(plan: &RingRedraw, mut is_mapped: impl FnMut(BlockId) -> bool, random: R) -> Option<Self> {
        let (parameters, RingProgress(end)) = (&plan.parameters, plan.progress);
        let (tree, slices) = (parameters.geometry(), Slices::of(parameters));
        // If the count of accesses began again, whole rounds of evictions have gone before.
        let round = u64::from(parameters.eviction_rate) << parameters.leaf_level.0;
        let rounds = plan.repeated.saturating_sub(end.accesses).div_ceil(round);
        let pace = parameters.pace();
        let accesses = end.accesses + rounds * round - plan.repeated;
        let first = EvictionSchedule { accesses, begun: end.emergencies, ..end };
        let mut filling = RingFilling {
            positions: Positions::new(parameters.capacity),
            metadata: BucketMetadata::new(&tree),
            stash: Vec::new(),
            max_reads: parameters.reads_before_reshuffle(),
            // Before the first of these accesses, every eviction was made.
            schedule: EvictionSchedule { begun: first.begun + first.behind(pace), ..first },
            random,
            tree,
        };
        let mut waiting: Vec<Vec<BlockId>> = vec![Vec::new(); filling.tree.subtrees()];
        let mut blocks = (0..parameters.capacity).map(BlockId).filter(|block| is_mapped(*block));
        for _ in 0..plan.repeated {
            // A dummy has a leaf, too: as many are drawn for any number of blocks.
            let leaf = sampling::leaf_of_64_bits(&mut filling.random, &filling.tree);
            if let Some(block) = blocks.next() {
                filling.positions.replace(block, leaf);
                waiting[filling.tree.subtree(leaf)].push(block);
            }
            filling.schedule.accesses += 1;
            while filling.schedule.behind(pace) > 0 {
                let eviction = slices.fills(slices.turn(filling.schedule.begun));
                filling.schedule.begun += 1;
                if let Some(path) = eviction.map(|eviction| slices.path(eviction)) {
                    filling.evict(path, &mut waiting[filling.tree.subtree(path)]);
                }
            }
        }
        if blocks.next().is_some() {
            return None;
        }
        (filling.schedule, filling.stash) = (end, waiting.concat());
        filling.hold(&slices.held(&end, &filling.tree));
        Some(filling)
    }

    /// Takes the blocks of held buckets into the stash as well. A bucket that no eviction has written yet is placed
    /// now, since the restore does not write it.
    fn hold(&mut self, held: &[(Level, Bucket)]) {
        for (level, bucket) in held.iter().copied() {
            let placed = self.place(level, bucket);
            self.stash.extend(placed.into_iter().map(|(_, block, _)| block));
        }
    }

    /// Does EvictPath with the blocks that wait for this path's subtree: those of the path's buckets, and the waiting
    /// ones, go as deep as they may.
    fn evict(&mut self, path: Leaf, waiting: &mut Vec<BlockId>) {
        let RingFilling { tree, positions, metadata, .. } = self;
        for (level, bucket) in tree.path(path) {
            let listed = metadata.unread(tree, level, bucket, true);
            waiting.extend(listed.filter_map(|slot| metadata.block(tree, level, slot)));
            metadata.rewrite(tree, level, bucket);
        }
        let deepest = |block: BlockId| {
            let leaf = positions.get(block).expect("a block that waits is mapped");
            tree.deepest_common(leaf, path)
        };
        waiting.sort_by_key(|block| deepest(*block));
        for (level, bucket) in tree.path(path).rev() {
            for index in 0..tree.shape(level).blocks {
                let Some(block) = waiting.pop_if(|block| deepest(*block) >= level) else { break };
                metadata.put(tree, level, Slot { bucket, index }, block);
            }
        }
    }

    /// All buckets, in the order of their numbers.
    pub fn buckets(&self) -> impl Iterator<Item = (Level, Bucket)> + use<R> {
        let tree = self.tree.clone();
        tree.levels().flat_map(move |level| {
            let first = tree.first_of(level).0;
            (first..first + (1 << level.0)).map(move |bucket| (level, Bucket(bucket)))
        })
    }

    /// Draws a slot of a bucket for each of its blocks. The last draw counts.
    pub fn place(&mut self, level: Level, bucket: Bucket) -> Vec<(Slot, BlockId, Leaf)> {
        let listed = self.metadata.unread(&self.tree, level, bucket, true);
        let blocks: Vec<BlockId> =
            listed.filter_map(|slot| self.metadata.block(&self.tree, level, slot)).collect();
        self.metadata.rewrite(&self.tree, level, bucket);
        let mut free: Vec<u32> = (0..self.tree.shape(level).slots).collect();
        let place = |block: BlockId| {
            let index = free.swap_remove(sampling::below(&mut self.random, free.len()));
            let slot = Slot { bucket, index };
            self.metadata.put(&self.tree, level, slot, block);
            let leaf = self.positions.get(block).expect("a block that is placed is mapped");
            (slot, block, leaf)
        };
        blocks.into_iter().map(place).collect()
    }

    /// Reads this many random dummies of a placed bucket, as accesses to other blocks would have done. Simulations that
    /// begin with a tree in use need this. It reads fewer dummies if the bucket has fewer, or if the bucket would have
    /// to be reshuffled.
    pub fn read_dummies(&mut self, level: Level, bucket: Bucket, reads: u32) {
        for _ in 0..reads.min(self.max_reads) {
            let dummies: Vec<Slot> = self.metadata.unread(&self.tree, level, bucket, false).collect();
            if dummies.is_empty() {
                return;
            }
            let slot = dummies[sampling::below(&mut self.random, dummies.len())];
            self.metadata.read(&self.tree, level, slot);
        }
    }

    /// Ends: every bucket that exists was written.
    pub fn finish(self) -> FilledRing {
        let RingFilling { positions, metadata, stash, schedule, .. } = self;
        let [slots, written] = metadata.into_tables();
        let tables = vec![positions.into_words(), slots, written];
        let rest: Rest = (schedule, VecDeque::new(), Vec::new());
        let rest = borsh::to_vec(&rest).expect("memory takes every write");
        FilledRing { tables, rest, stash }
    }
}

impl FilledRing {
    /// Takes the positions out, for a front end that keeps them.
    pub fn take_positions(&mut self) -> Positions {
        Positions::from_words(self.tables.first_mut().map(mem::take).unwrap_or_default())
    }

    /// The metadata, the schedule and the buckets to be reshuffled; `None` if they do not fit the parameters. The
    /// positions are not checked.
    pub(super) fn into_parts(
        self,
        parameters: &RingParameters,
    ) -> Option<(BucketMetadata, EvictionSchedule, VecDeque<Bucket>)> {
        let [_, slots, written]: [Vec<u32>; 3] = self.tables.try_into().ok()?;
        let (schedule, worn, _): Rest = borsh::from_slice(&self.rest).ok()?;
        let tree = &parameters.geometry();
        if BucketMetadata::tables(tree) != [slots.len() as u64, written.len() as u64] {
            return None;
        }
        let metadata = BucketMetadata::from_tables(tree, slots, written);
        let agreement = Agreement {
            parameters,
            tree,
            positions: &Positions::new(0),
            metadata: &metadata,
            schedule: &schedule,
            worn: &worn,
        };
        // No eviction has begun, so no bucket is held.
        let agrees = agreement.is_in_range() && agreement.reads_agree() && schedule.begun == 0;
        agrees.then_some((metadata, schedule, worn))
    }
}
