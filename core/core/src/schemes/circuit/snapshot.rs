//! The beginning of a Circuit ORAM, its snapshots, and the return from them.

use super::{CircuitOram, CircuitParameters, PACE, State, Work};
use crate::concurrency::exclusive::Exclusive;
use crate::position_map::PositionMap;
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::snapshot::full::{FullSnapshot, SnapshotError};
use crate::stash::{Stash, StashSnapshot};
use crate::store::Store;
use crate::tree::bucket_buffer::{BucketBuffer, HeldSnapshot};
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::tree::planning::HalfFullTreeError;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::RefCell;
use rand_core::RngCore;

/// The trusted state of a Circuit ORAM between two steps.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct CircuitSnapshot {
    parameters: CircuitParameters,
    positions: Positions,
    stash: StashSnapshot,
    held: HeldSnapshot,
    schedule: EvictionSchedule,
}

/// The reason why a Circuit ORAM cannot be saved now, or cannot continue from a snapshot.
pub type CircuitSnapshotError = SnapshotError<HalfFullTreeError>;

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> CircuitOram<S, P, R> {
    /// An empty Circuit ORAM: a store that was never written, a position map in which nothing is mapped. Its buckets
    /// are numbered from 0.
    ///
    /// # Errors
    /// [`HalfFullTreeError`].
    pub fn new(
        parameters: CircuitParameters,
        store: S,
        positions: P,
        random: R,
    ) -> Result<Self, HalfFullTreeError> {
        parameters.validate()?;
        let stash = Stash::new(parameters.block_bytes as usize, parameters.leaf_level, parameters.top);
        let held = BucketBuffer::new(parameters.blocks_per_bucket, parameters.block_bytes);
        let (work, schedule) = (Work { held, ..Work::default() }, EvictionSchedule::default());
        let (tree, exclusive) = (parameters.geometry(), Exclusive::default());
        let state = RefCell::new(State { random, stash, schedule, work });
        Ok(CircuitOram { parameters, tree, store, positions, exclusive, state })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &CircuitParameters {
        &self.parameters
    }
}

impl<S: Store, R: RngCore> FullSnapshot<R> for CircuitOram<S, FlatPositionMap<S::Error>, R> {
    type Store = S;
    type Snapshot = CircuitSnapshot;
    type ParametersError = HalfFullTreeError;

    fn snapshot(&self) -> Result<CircuitSnapshot, CircuitSnapshotError> {
        self.exclusive.check_at_rest()?;
        let state = self.state.borrow();
        Ok(CircuitSnapshot {
            parameters: self.parameters.clone(),
            positions: self.positions.snapshot(),
            stash: state.stash.snapshot(),
            held: state.work.held.snapshot(),
            schedule: state.schedule,
        })
    }

    /// Refuses a snapshot that contradicts itself. Every block in the stash or in a held bucket must have the leaf that
    /// it is mapped to, and be in one place.
    fn restore(snapshot: CircuitSnapshot, store: S, random: R) -> Result<Self, CircuitSnapshotError> {
        let CircuitSnapshot { parameters, positions, stash, held, schedule } = snapshot;
        let oram = CircuitOram::new(parameters, store, FlatPositionMap::new(positions.clone()), random)?;
        {
            let state = &mut *oram.state.borrow_mut();
            let capacity = oram.parameters.capacity;
            let is_mapped = |(block, leaf)| positions.get(block) == Some(leaf);
            let max_due = 4 * u64::from(oram.parameters.max_batch);
            let fits = positions.blocks() == capacity
                && schedule.emergencies <= schedule.begun
                && schedule.behind(PACE) <= max_due
                && stash.blocks().count() <= oram.parameters.stash_bound as usize
                && stash.blocks().all(|(block, leaf)| block.0 < capacity && is_mapped((block, leaf)))
                && state.stash.restore(&stash)
                && state.work.held.restore(held, &oram.tree, capacity, |(block, leaf)| {
                    is_mapped((block, leaf)) && state.stash.find(block).is_none()
                });
            if !fits {
                return Err(SnapshotError::Mismatch);
            }
            state.schedule = schedule;
        }
        Ok(oram)
    }

    fn reseed(&self, random: R) {
        self.state.borrow_mut().random = random;
    }

    fn stash_blocks(&self) -> usize {
        self.state.borrow().stash.len()
    }

    /// Stash with the trusted top, held buckets, position map.
    fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        state.stash.bytes() + state.work.held.bytes() + self.positions.trusted_bytes()
    }
}
