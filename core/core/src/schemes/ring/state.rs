//! The state that a Ring ORAM remembers on the trusted side, and its changes that happen at once: no store is asked
//! here.

use super::parameters::RingParameters;
use crate::oram::OramError;
use crate::permutation::sampling;
use crate::schemes::ring::in_flight::{InFlight, Placed};
use crate::stash::{Handle, Stash};
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::tree::bucket_metadata::BucketMetadata;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::tree::geometry::Geometry;
use crate::tree::placement::Placement;
use crate::types::{BlockId, Bucket, Leaf, Level, Slot};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use rand_core::RngCore;

/// The trusted state without the position map.
pub(super) struct State<R> {
    pub(super) random: R,
    pub(super) stash: Stash,
    pub(super) metadata: BucketMetadata,
    pub(super) schedule: EvictionSchedule,
    /// The buckets read often enough to be reshuffled early.
    pub(super) worn: VecDeque<Bucket>,
    pub(super) in_flight: InFlight,
    pub(super) placement: Placement,
}

impl<R: RngCore> State<R> {
    /// The state of a Ring ORAM at its beginning, whose blocks are where the metadata have them.
    pub(super) fn new(parameters: &RingParameters, metadata: BucketMetadata, random: R) -> Self {
        State {
            random,
            stash: Stash::new(parameters.block_bytes as usize, parameters.leaf_level, parameters.top),
            metadata,
            schedule: EvictionSchedule::default(),
            worn: VecDeque::new(),
            in_flight: InFlight::none(),
            placement: Placement::default(),
        }
    }

    /// Does GetBlockOffset. It returns the block's own slot if the block is here, otherwise a random unread dummy. If
    /// the bucket has fewer dummies than S and none is left, it returns a random unread block.
    pub(super) fn get_block_offset(
        &mut self,
        wanted: Option<BlockId>,
        level: Level,
        bucket: Bucket,
        tree: &Geometry,
    ) -> Slot {
        if let Some(slot) = wanted.and_then(|block| self.metadata.find(tree, level, bucket, block)) {
            return slot;
        }
        let dummies = self.metadata.unread(tree, level, bucket, false).count();
        let real = dummies == 0;
        let among = if real { self.metadata.unread(tree, level, bucket, true).count() } else { dummies };
        let nth = sampling::below(&mut self.random, among);
        self.metadata.unread(tree, level, bucket, real).nth(nth).expect("S reads always find an unread slot")
    }

    /// Pins a block that the batch will need: it gets its new leaf now, and stays in the stash until it is served.
    pub(super) fn pin(&mut self, block: BlockId, leaf: Leaf, tree: &Geometry) {
        if let Some(placed) = self.in_flight.pin(block, leaf) {
            self.metadata.forget(tree, placed.level, placed.slot);
        }
        if let Some(handle) = self.stash.find(block) {
            self.stash.remap(handle, leaf);
        }
    }

    /// Takes a block back that a rewrite in flight has placed: it is in the stash and nowhere else, with its leaf.
    pub(super) fn take_back(&mut self, block: BlockId, tree: &Geometry) {
        if let Some(placed) = self.in_flight.take_back(block) {
            self.metadata.forget(tree, placed.level, placed.slot);
        }
    }

    /// Takes a block that was read into the stash. A block that the batch in flight requests already has a new leaf.
    pub(super) fn add_to_stash<E: core::error::Error + 'static>(
        &mut self,
        expected: BlockId,
        slot: &[u8],
        tree: &Geometry,
    ) -> Result<(), OramError<E>> {
        let Some((block, leaf)) = block_header::read(slot) else {
            return Err(OramError::Contradiction("a slot holds a dummy where a block must be"));
        };
        if block != expected || leaf.0 >= tree.leaves() || self.stash.find(block).is_some() {
            return Err(OramError::Contradiction("a slot holds another block than it must"));
        }
        let leaf = self.in_flight.pinned_to(block).unwrap_or(leaf);
        self.stash.insert_with(block, leaf, &slot[HEADER_BYTES..]);
        Ok(())
    }

    /// Lays a bucket's plaintext out, each block in a random slot, and says where they were placed.
    pub(super) fn fill_buckets(
        &mut self,
        chosen: &[Handle],
        level: Level,
        bucket: Bucket,
        tree: &Geometry,
        into: &mut [u8],
        placed: &mut Vec<Placed>,
    ) {
        let slot_bytes = tree.shape(level).slot_bytes as usize;
        let mut free: Vec<u32> = (0..tree.shape(level).slots).collect();
        for handle in chosen.iter().copied() {
            let index = free.swap_remove(sampling::below(&mut self.random, free.len()));
            let (slot, block) = (Slot { bucket, index }, self.stash.block(handle));
            self.stash.serialize_block(handle, &mut into[index as usize * slot_bytes..][..slot_bytes]);
            self.metadata.put(tree, level, slot, block);
            placed.push(Placed { block, level, slot });
        }
    }

    /// Returns the number of blocks that count against the stash bound: those that only wait for a write to complete do
    /// not.
    pub(super) fn resident(&self) -> usize {
        self.stash.len() - self.in_flight.placed()
    }

    /// Returns whether more than one scheduled eviction has not filled its buckets: no access may come before.
    pub(super) fn is_late(&self, parameters: &RingParameters) -> bool {
        self.schedule.behind(parameters.pace()) + u64::from(self.in_flight.unfilled) > 1
    }

    /// Returns whether the next batch may need more room than there is. The evictions that the schedule puts first may
    /// make some.
    pub(super) fn needs_emergency(&self, parameters: &RingParameters) -> bool {
        let room = self.resident() + parameters.max_batch as usize <= parameters.stash_bound as usize;
        !room && !self.is_late(parameters)
    }
}
