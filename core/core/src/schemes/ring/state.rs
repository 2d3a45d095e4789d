//! The state that a Ring ORAM remembers on the trusted side, and its changes that happen at once: no store is asked
//! here.

use super::origins::ReplacedPayloads;
use super::parameters::RingParameters;
use super::slices::Slices;
use crate::oram::OramError;
use crate::permutation::sampling;
use crate::schemes::ring::in_flight::{BatchNumber, InFlight, Placed, Round};
use crate::stash::Stash;
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::tree::bucket_metadata::BucketMetadata;
use crate::tree::eviction_schedule::{EvictionSchedule, Pace};
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
    /// True if the [origins](super::origins) of blocks are noted.
    pub(super) notes_origins: bool,
    pub(super) replaced: ReplacedPayloads,
    pace: Pace,
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
            notes_origins: false,
            replaced: ReplacedPayloads::default(),
            pace: parameters.pace(),
        }
    }

    /// Continues from parts that were brought back. The blocks of the stash are there already.
    pub(super) fn bring_back(
        &mut self,
        metadata: BucketMetadata,
        (schedule, worn): (EvictionSchedule, VecDeque<Bucket>),
        (slices, tree): (&Slices, &Geometry),
    ) {
        let held = slices.held(&schedule, tree);
        let listed_in = |(level, bucket): &(Level, Bucket)| {
            let (level, metadata) = (*level, &metadata);
            let slots = metadata.unread(tree, level, *bucket, true);
            slots.filter_map(move |slot| {
                Some(Placed { block: metadata.block(tree, level, slot)?, level, slot })
            })
        };
        let listed = held.iter().flat_map(listed_in).collect();
        self.in_flight = InFlight::with_held(held.into_iter().map(|(_, bucket)| bucket).collect(), listed);
        (self.metadata, self.schedule, self.worn) = (metadata, schedule, worn);
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
    pub(super) fn pin(&mut self, batch: BatchNumber, (block, leaf): (BlockId, Leaf), tree: &Geometry) {
        if let Some(placed) = self.in_flight.pin(batch, block, leaf) {
            self.metadata.forget(tree, placed.level, placed.slot);
        }
        if let Some(handle) = self.stash.find(block) {
            self.stash.remap(handle, leaf);
        }
    }

    /// Notes that a slot that was read still has the payload of this block, which no access requests.
    pub(super) fn note_origin(&mut self, block: Option<BlockId>, level: Level, slot: Slot, tree: &Geometry) {
        if let Some(block) = block.filter(|_| self.notes_origins) {
            self.metadata.note_origin(tree, level, slot, block);
        }
    }

    /// Forgets the origins of a block of this leaf, in buckets in flight too: an access may write another payload.
    pub(super) fn forget_origins(&mut self, block: BlockId, leaf: Leaf, tree: &Geometry) {
        if !self.notes_origins {
            return;
        }
        for (level, bucket) in tree.path(leaf) {
            self.metadata.forget_origin(tree, level, bucket, block);
            self.replaced.forget(bucket, block);
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

    /// Holds the buckets that were read, with the blocks that came from them. A block that a batch in flight requests
    /// is no longer a block of these buckets.
    pub(super) fn hold(&mut self, blocks: impl Iterator<Item = Placed>, tree: &Geometry) {
        let State { in_flight, metadata, .. } = self;
        let (requested, listed): (Vec<Placed>, Vec<Placed>) =
            blocks.partition(|read| in_flight.pinned_to(read.block).is_some());
        for Placed { level, slot, .. } in requested {
            metadata.forget(tree, level, slot);
        }
        in_flight.hold(listed);
    }

    /// Does WriteBucket, up to the writing: places stash blocks into held buckets on the path to `leaf`, as deep as
    /// they may, each in a random slot.
    pub(super) fn fill_buckets(&mut self, leaf: Leaf, buckets: &[(Level, Bucket)], tree: &Geometry) {
        let State { random, stash, metadata, in_flight, placement, replaced, .. } = self;
        in_flight.release_blocks(buckets);
        let room = |level: Level| {
            let rewritten = buckets.iter().any(|(at, _)| *at == level);
            if rewritten { tree.shape(level).blocks as usize } else { 0 }
        };
        placement.plan(stash, tree, leaf, room, |_, block| in_flight.is_free(block));
        for (level, bucket) in buckets.iter().copied() {
            if self.notes_origins {
                replaced.keep(bucket, metadata.payloads_in(tree, level, bucket));
            }
            metadata.rewrite(tree, level, bucket);
            let mut free: Vec<u32> = (0..tree.shape(level).slots).collect();
            for handle in placement.chosen(level).iter().copied() {
                let index = free.swap_remove(sampling::below(random, free.len()));
                let (slot, block) = (Slot { bucket, index }, stash.block(handle));
                metadata.put(tree, level, slot, block);
                in_flight.place(Placed { block, level, slot });
            }
        }
    }

    /// Begins the rewrite of held buckets, and lays out their plaintext in a buffer of zeros. Returns the name of the
    /// rewrite.
    pub(super) fn begin_rewrite(
        &mut self,
        buckets: &[(Level, Bucket)],
        tree: &Geometry,
        buffer: &mut [u8],
    ) -> Round {
        let State { stash, in_flight, replaced, .. } = self;
        let (round, placed) = in_flight.rewrite(buckets);
        let mut rest = buffer;
        for (level, bucket) in buckets.iter().copied() {
            replaced.drop_bucket(bucket);
            let shape = tree.shape(level);
            let (into, behind) = rest.split_at_mut((shape.slots * shape.slot_bytes) as usize);
            for Placed { block, slot, .. } in placed.iter().filter(|placed| placed.slot.bucket == bucket) {
                let handle = stash.find(*block).expect("a placed block stays until its bucket is written");
                let first = (slot.index * shape.slot_bytes) as usize;
                stash.serialize_block(handle, &mut into[first..][..shape.slot_bytes as usize]);
            }
            rest = behind;
        }
        round
    }

    /// Returns the number of blocks that count against the stash bound, with those that batches in flight will bring.
    /// Those that are listed in a bucket as well do not count: they were there until it was read, or are there once it
    /// is written.
    pub(super) fn resident(&self) -> usize {
        self.stash.len() + self.in_flight.arriving() - self.in_flight.listed()
    }

    /// Returns the number of slices of evictions that are due and have not begun.
    pub(super) fn behind(&self) -> u64 {
        self.schedule.behind(self.pace)
    }

    /// Returns whether more slices are due and not read than one eviction has: no access may come before.
    pub(super) fn is_late(&self) -> bool {
        self.behind() + u64::from(self.in_flight.unfilled) > self.pace.evictions
    }

    /// Returns whether the next batch may need more room than there is. The evictions that the schedule puts first may
    /// make some.
    pub(super) fn needs_emergency(&self, parameters: &RingParameters) -> bool {
        let room = self.resident() + parameters.max_batch as usize <= parameters.stash_bound as usize;
        !room && !self.is_late()
    }
}
