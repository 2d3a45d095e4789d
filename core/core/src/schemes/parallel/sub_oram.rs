//! The part of the memory that belongs to one processor: a subtree, and the stash above it.

use super::parameters::ParallelParameters;
use crate::network::Processor;
use crate::oram::OramError;
use crate::schemes::circuit::eviction::Eviction;
use crate::schemes::circuit::held_path::HeldPath;
use crate::stash::Stash;
use crate::store::Store;
use crate::tree::bucket_buffer::BucketBuffer;
use crate::tree::eviction_schedule::{EvictionSchedule, Pace};
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Leaf, Level};
use alloc::vec::Vec;
use core::error::Error;

/// Two evictions for each round: one in each half of the subtree.
const PACE: Pace = Pace { evictions: 2, accesses: 1 };

/// A processor's subtree and its stash. Its leaves are counted from its own first one.
pub(super) struct SubOram {
    tree: Geometry,
    capacity: u64,
    stash: Stash,
    held: BucketBuffer,
    /// Rounds are its accesses.
    schedule: EvictionSchedule,
    eviction: Eviction,
    /// The paths that are evicted now.
    evicted: Vec<Leaf>,
}

impl SubOram {
    /// The part of a processor, empty.
    pub(super) fn new(parameters: &ParallelParameters, processor: Processor) -> Self {
        let tree = parameters.subtree(processor);
        SubOram {
            capacity: parameters.capacity,
            stash: Stash::new(parameters.block_bytes as usize, tree.leaf_level(), tree.top()),
            held: BucketBuffer::new(parameters.blocks_per_bucket, parameters.block_bytes),
            schedule: EvictionSchedule::default(),
            eviction: Eviction::default(),
            evicted: Vec::new(),
            tree,
        }
    }

    /// Counts a round.
    pub(super) fn begin_round(&mut self) {
        self.schedule.accesses += 1;
    }

    /// Reads the paths to leaves in one operation; none if no leaf is requested.
    pub(super) async fn read<S: Store>(
        &mut self,
        leaves: &[Leaf],
        store: &S,
    ) -> Result<(), OramError<S::Error>> {
        match leaves {
            [] => Ok(()),
            leaves => self.held.read(leaves, store, &self.tree, self.capacity).await,
        }
    }

    /// Takes a block out of the stash or the path to its leaf, which was read.
    pub(super) fn take_out<E: Error + 'static>(
        &mut self,
        block: BlockId,
        leaf: Leaf,
        into: &mut [u8],
    ) -> Result<(), OramError<E>> {
        let Self { tree, stash, held, .. } = self;
        if stash.find(block).is_none() {
            HeldPath { tree, leaf, stash, held }.read_and_rm(block);
        }
        let found = stash.find(block).filter(|handle| stash.leaf(*handle) == leaf);
        let handle = found.ok_or(OramError::Contradiction("a block is not where the position map has it"))?;
        stash.read(handle, into);
        stash.remove(handle);
        Ok(())
    }

    /// Takes a block into the stash, with its new leaf.
    pub(super) fn add_to_stash<E: Error + 'static>(
        &mut self,
        block: BlockId,
        leaf: Leaf,
        payload: &[u8],
    ) -> Result<(), OramError<E>> {
        if self.stash.find(block).is_some() {
            return Err(OramError::Contradiction("a block exists twice"));
        }
        self.stash.insert_with(block, leaf, payload);
        Ok(())
    }

    /// Returns whether the stash has room for a round in which all blocks are routed here.
    pub(super) fn has_room(&self, parameters: &ParallelParameters) -> bool {
        self.stash.len() + parameters.processors as usize <= parameters.stash_bound as usize
    }

    /// Reads the paths that are evicted next: those that are due, or one if there is too little room.
    pub(super) async fn read_evicted<S: Store>(
        &mut self,
        is_crowded: bool,
        store: &S,
    ) -> Result<(), OramError<S::Error>> {
        let due = self.schedule.behind(PACE);
        let emergency = u64::from(due == 0 && is_crowded);
        self.schedule.emergencies += emergency;
        let leaf_level: Level = self.tree.leaf_level();
        self.evicted.clear();
        for _ in 0..due + emergency {
            self.evicted.push(self.schedule.begin(leaf_level));
        }
        match &self.evicted[..] {
            [] => Ok(()),
            leaves => self.held.read(leaves, store, &self.tree, self.capacity).await,
        }
    }

    /// Evicts along the paths that were read for the eviction, and writes all held buckets.
    pub(super) async fn write_evicted<S: Store>(&mut self, store: &S) -> Result<(), OramError<S::Error>> {
        if self.evicted.is_empty() {
            return Ok(());
        }
        let Self { tree, stash, held, eviction, evicted, .. } = self;
        for leaf in evicted.iter().copied() {
            eviction.evict_once_fast(HeldPath { tree, leaf, stash, held });
        }
        Ok(held.write_back(store).await?)
    }

    /// Returns the number of evictions outside of the schedule.
    pub(super) fn emergencies(&self) -> u64 {
        self.schedule.emergencies
    }

    /// Returns the number of blocks in the stash.
    pub(super) fn stash_blocks(&self) -> usize {
        self.stash.len()
    }

    /// The blocks on the trusted side: those of the stash, and of buckets that are held. Leaves are its own.
    #[cfg(feature = "inspect")]
    pub(super) fn inspect(&self) -> Vec<crate::inspect::TrustedBlock> {
        let mut blocks = crate::inspect::stash(&self.stash);
        let held = self.held.blocks();
        blocks.extend(held.map(|(block, leaf, payload)| crate::inspect::TrustedBlock {
            block,
            leaf: Some(leaf),
            payload: payload.to_vec(),
        }));
        blocks
    }

    /// The buckets that are held.
    #[cfg(feature = "inspect")]
    pub(super) fn held_buckets(&self) -> &[crate::types::Bucket] {
        self.held.buckets()
    }

    /// Returns the number of bytes on the trusted side: stash and held buckets.
    pub(super) fn trusted_bytes(&self) -> usize {
        self.stash.bytes() + self.held.bytes()
    }
}
