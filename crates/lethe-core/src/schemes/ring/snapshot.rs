//! The snapshot that a Ring ORAM is put down as, and the check that such a snapshot agrees with itself.

use super::{RingOram, RingParameters, RingParametersError};
use crate::bucket_metadata::BucketMetadata;
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::resumable::{Resumable, SnapshotError};
use crate::stash::StashSnapshot;
use crate::store::Store;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::tree::geometry::Geometry;
use crate::words::{BlockId, Bucket, Leaf};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::RngCore;

/// The trusted state of a Ring ORAM between two steps, all that a later process needs to go on.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct RingSnapshot {
    parameters: RingParameters,
    positions: Positions,
    stash: StashSnapshot,
    metadata: BucketMetadata,
    schedule: EvictionSchedule,
    worn: VecDeque<Bucket>,
}

/// The reason why there is no snapshot of a Ring ORAM now, or it cannot go on from one.
pub type RingSnapshotError = SnapshotError<RingParametersError>;

impl<S: Store, R: RngCore> Resumable<R> for RingOram<S, FlatPositionMap<S::Error>, R> {
    type Store = S;
    type Snapshot = RingSnapshot;
    type ParametersError = RingParametersError;

    /// Takes the trusted state. While [`must_idle`](crate::oram::Oram::must_idle) is false, at most
    /// `stash_bound - max_batch` blocks are in its stash.
    fn snapshot(&self) -> Result<RingSnapshot, RingSnapshotError> {
        if self.condition.is_torn() {
            return Err(SnapshotError::Torn);
        }
        let state = self.state.borrow();
        let is_quiet = self.access_turns.is_free() && self.idle_turns.is_free();
        if !is_quiet || state.in_flight.rewrites() > 0 {
            return Err(SnapshotError::InFlight);
        }
        Ok(RingSnapshot {
            parameters: self.parameters.clone(),
            positions: self.positions.snapshot(),
            stash: state.stash.snapshot(),
            metadata: state.metadata.clone(),
            schedule: state.schedule,
            worn: state.worn.clone(),
        })
    }

    /// Refuses a snapshot that contradicts itself: every mapped block must be in one place, on the path that it is
    /// mapped to, and the counts of reads must be those of the slots.
    fn restore(snapshot: RingSnapshot, store: S, random: R) -> Result<Self, RingSnapshotError> {
        let parameters = snapshot.parameters.clone();
        parameters.validate()?;
        if !snapshot.agrees(&parameters.geometry()) {
            return Err(SnapshotError::Mismatch);
        }
        let positions = FlatPositionMap::new(snapshot.positions);
        let ring = RingOram::new(parameters, store, positions, random)?;
        {
            let mut state = ring.state.borrow_mut();
            if !state.stash.restore(&snapshot.stash) {
                return Err(SnapshotError::Mismatch);
            }
            state.metadata = snapshot.metadata;
            state.schedule = snapshot.schedule;
            state.worn = snapshot.worn;
        }
        Ok(ring)
    }

    fn reseed(&self, random: R) {
        RingOram::reseed(self, random);
    }

    fn stash_blocks(&self) -> usize {
        RingOram::stash_blocks(self)
    }

    fn trusted_bytes(&self) -> usize {
        RingOram::trusted_bytes(self)
    }
}

impl RingSnapshot {
    /// Tells whether its parts agree with one another.
    fn agrees(&self, tree: &Geometry) -> bool {
        let parameters = &self.parameters;
        let sizes = self.positions.blocks() == parameters.capacity
            && self.metadata.fits(tree, parameters.capacity)
            && self.schedule.emergencies <= self.schedule.evictions;
        sizes && self.reads_agree(tree) && self.blocks_agree(tree)
    }

    /// Tells whether each bucket's count of reads is that of its slots, and just the worn ones are to be reshuffled.
    fn reads_agree(&self, tree: &Geometry) -> bool {
        let most = self.parameters.reads;
        let before = self.parameters.reads_before_reshuffle();
        let mut worn: Vec<Bucket> = self.worn.iter().copied().collect();
        worn.sort_unstable();
        let mut found = Vec::new();
        for (level, bucket) in tree.all_buckets() {
            let reads = self.metadata.reads(tree, bucket);
            let unread = |real| self.metadata.unread(tree, level, bucket, real).count() as u32;
            if reads > most || reads + unread(true) + unread(false) != tree.shape(level).slots {
                return false;
            }
            if reads > before {
                found.push(bucket);
            }
        }
        worn == found
    }

    /// Tells whether every mapped block, and no other, stands in one place, which is on its path.
    fn blocks_agree(&self, tree: &Geometry) -> bool {
        let mut leaves: Vec<Option<Leaf>> =
            (0..self.positions.blocks()).map(|block| self.positions.get(BlockId(block))).collect();
        // Each block that is met is struck out: it must not be met again, and no block must be left.
        let mut strike = |block: BlockId| leaves.get_mut(block.0 as usize).and_then(Option::take);
        let in_stash =
            self.stash.blocks().all(|(block, leaf)| leaf.0 < tree.leaves() && strike(block) == Some(leaf));
        let in_tree = tree.all_buckets().all(|(level, bucket)| {
            self.metadata.unread(tree, level, bucket, true).all(|slot| {
                let leaf = self.metadata.block(tree, level, slot).and_then(&mut strike);
                leaf.is_some_and(|leaf| leaf.0 < tree.leaves() && tree.bucket(level, leaf) == bucket)
            })
        });
        in_stash && in_tree && leaves.iter().all(Option::is_none)
    }
}
