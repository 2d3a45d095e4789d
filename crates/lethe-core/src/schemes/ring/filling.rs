//! A Ring ORAM that is full from the beginning: every block gets a uniform leaf and goes as deep as there is room, and
//! every bucket is written once, in the order of their numbers.
//!
//! It brings a vault back whose old positions must not be read by any more: the new ones are drawn here, and the order of
//! the writes says nothing. What finds no room on its path waits in the stash, as a rule no block at all: leaf buckets have
//! room for their share and three standard deviations of it, and the levels above them are empty.

use super::RingParameters;
use crate::bucket_metadata::BucketMetadata;
use crate::draw;
use crate::position_map::flat::Positions;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::tree::geometry::Geometry;
use crate::words::{BlockId, Bucket, Leaf, Level, Slot};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use rand_core::RngCore;

/// See the module.
pub struct RingFilling<R> {
    tree: Geometry,
    positions: Positions,
    metadata: BucketMetadata,
    /// The blocks of each bucket.
    buckets: Vec<Vec<u32>>,
    stash: Vec<BlockId>,
    random: R,
}

/// The trusted state of a Ring ORAM that was filled: for [`Incremental::take_up`](crate::incremental::Incremental).
pub struct FilledRing {
    /// The tables of words.
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
        let (mut buckets, mut stash) = (vec![Vec::new(); tree.buckets() as usize], Vec::new());
        for block in (0..parameters.capacity).map(BlockId).filter(|block| is_mapped(*block)) {
            let leaf = draw::leaf_of_64_bits(&mut random, &tree);
            positions.replace(block, leaf);
            let room = |(level, bucket): &(Level, Bucket)| {
                buckets[bucket.0 as usize].len() < tree.shape(*level).blocks as usize
            };
            match tree.path(leaf).rev().find(room) {
                Some((_, bucket)) => buckets[bucket.0 as usize].push(block.0 as u32),
                None => stash.push(block),
            }
        }
        let metadata = BucketMetadata::new(&tree);
        RingFilling { tree, positions, metadata, buckets, stash, random }
    }

    /// All buckets, in the order of their numbers.
    pub fn buckets(&self) -> impl Iterator<Item = (Level, Bucket)> + use<R> {
        self.tree.all_buckets().collect::<Vec<_>>().into_iter()
    }

    /// Draws a slot of a bucket for each of its blocks. Each bucket once.
    pub fn place(&mut self, level: Level, bucket: Bucket) -> Vec<(Slot, BlockId, Leaf)> {
        self.metadata.rewrite(&self.tree, level, bucket);
        let mut free: Vec<u32> = (0..self.tree.shape(level).slots).collect();
        let blocks = core::mem::take(&mut self.buckets[bucket.0 as usize]);
        let place = |block: u32| {
            let index = free.swap_remove(draw::below(&mut self.random, free.len()));
            let (slot, block) = (Slot { bucket, index }, BlockId(block.into()));
            self.metadata.put(&self.tree, level, slot, block);
            let leaf = self.positions.get(block).expect("a block that is placed is mapped");
            (slot, block, leaf)
        };
        blocks.into_iter().map(place).collect()
    }

    /// Ends: every bucket was written.
    pub fn finish(self) -> FilledRing {
        let RingFilling { positions, metadata, stash, .. } = self;
        let [slots, written] = metadata.into_tables();
        let tables = vec![positions.into_words(), slots, written];
        let rest: (EvictionSchedule, VecDeque<Bucket>) = Default::default();
        let rest = borsh::to_vec(&rest).expect("memory takes every write");
        FilledRing { tables, rest, stash }
    }
}
