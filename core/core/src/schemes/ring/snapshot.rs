//! The snapshot that a Ring ORAM is written as.

use super::validate::Agreement;
use super::{RingOram, RingParameters, RingParametersError};
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::snapshot::full::{FullSnapshot, SnapshotError};
use crate::stash::StashSnapshot;
use crate::store::Store;
use crate::tree::bucket_metadata::BucketMetadata;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::types::Bucket;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::RngCore;

/// The trusted state of a Ring ORAM between two steps, all that a later process needs to continue.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct RingSnapshot {
    parameters: RingParameters,
    positions: Positions,
    stash: StashSnapshot,
    metadata: Box<BucketMetadata>,
    schedule: EvictionSchedule,
    worn: VecDeque<Bucket>,
}

/// The reason why there is no snapshot of a Ring ORAM now, or it cannot continue from one.
pub type RingSnapshotError = SnapshotError<RingParametersError>;

impl<S: Store, R: RngCore> FullSnapshot<R> for RingOram<S, FlatPositionMap<S::Error>, R> {
    type Store = S;
    type Snapshot = RingSnapshot;
    type ParametersError = RingParametersError;

    /// Takes the trusted state. While [`must_step`](crate::oram::Oram::must_step) is false, at most
    /// `stash_bound - max_batch` blocks are in its stash, and those of held buckets.
    fn snapshot(&self) -> Result<RingSnapshot, RingSnapshotError> {
        self.check_at_rest()?;
        let state = self.state.borrow();
        Ok(RingSnapshot {
            parameters: self.parameters.clone(),
            positions: self.positions.snapshot(),
            stash: state.stash.snapshot(),
            metadata: Box::new(state.metadata.clone()),
            schedule: state.schedule,
            worn: state.worn.clone(),
        })
    }

    /// Refuses a snapshot that contradicts itself. Every mapped block must be in one place, on the path that it is
    /// mapped to. The counts of reads must be those of the slots.
    fn restore(snapshot: RingSnapshot, store: S, random: R) -> Result<Self, RingSnapshotError> {
        let parameters = snapshot.parameters.clone();
        parameters.validate()?;
        let agreement = Agreement {
            parameters: &parameters,
            tree: &parameters.geometry(),
            positions: &snapshot.positions,
            metadata: &snapshot.metadata,
            schedule: &snapshot.schedule,
            worn: &snapshot.worn,
        };
        if !agreement.holds(snapshot.stash.blocks()) {
            return Err(SnapshotError::Mismatch);
        }
        let positions = FlatPositionMap::new(snapshot.positions);
        let ring = RingOram::new(parameters, store, positions, random)?;
        {
            let mut state = ring.state.borrow_mut();
            if !state.stash.restore(&snapshot.stash) {
                return Err(SnapshotError::Mismatch);
            }
            let schedule = (snapshot.schedule, snapshot.worn);
            state.bring_back(*snapshot.metadata, schedule, (&ring.slices, &ring.tree));
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

impl<S, P, R> RingOram<S, P, R> {
    /// Refuses while something is in flight, and after an operation that failed or was dropped half-way.
    pub(super) fn check_at_rest(&self) -> Result<(), RingSnapshotError> {
        self.poison_flag.check_at_rest([&self.access_lock, &self.step_lock])?;
        if self.state.borrow().in_flight.is_empty() { Ok(()) } else { Err(SnapshotError::InFlight) }
    }
}
