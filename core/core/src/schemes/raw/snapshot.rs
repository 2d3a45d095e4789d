//! The beginning of a RAW ORAM, its snapshots, and the return from them.

use super::{RawOram, RawParameters, State, Work};
use crate::concurrency::exclusive::Exclusive;
use crate::position_map::PositionMap;
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::snapshot::full::{FullSnapshot, SnapshotError};
use crate::stash::{Stash, StashSnapshot};
use crate::store::Store;
use crate::tree::bucket_buffer::{BucketBuffer, HeldSnapshot};
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::tree::placement::FillOrder;
use crate::tree::planning::HalfFullTreeError;
use crate::types::{BlockId, Bucket};
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::RefCell;
use rand_core::RngCore;

/// The trusted state of a RAW ORAM between two steps.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct RawSnapshot {
    parameters: RawParameters,
    positions: Positions,
    stash: StashSnapshot,
    progress: Progress,
}

/// The trusted state without positions and stash. All but the contents of headers is public.
#[derive(BorshSerialize, BorshDeserialize)]
pub(super) struct Progress {
    /// The headers that are held, each without the blocks that were taken.
    held: HeldSnapshot,
    unwritten: u64,
    schedule: EvictionSchedule,
}

/// The reason why a RAW ORAM cannot be saved now, or cannot continue from a snapshot.
pub type RawSnapshotError = SnapshotError<HalfFullTreeError>;

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> RawOram<S, P, R> {
    /// An empty RAW ORAM: a store that was never written, a position map in which nothing is mapped. Its buckets are
    /// numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`HalfFullTreeError`].
    pub fn new(
        parameters: RawParameters,
        first_bucket: Bucket,
        store: S,
        positions: P,
        random: R,
    ) -> Result<Self, HalfFullTreeError> {
        parameters.validate()?;
        let stash = Stash::new(parameters.block_bytes as usize, parameters.leaf_level, parameters.top);
        // A header is a bucket whose blocks have no bytes.
        let held = BucketBuffer::new(parameters.blocks_per_bucket, 0);
        let (work, schedule) = (Work { held, ..Work::default() }, EvictionSchedule::default());
        let (trees, exclusive) = (parameters.trees(first_bucket), Exclusive::default());
        let state = RefCell::new(State { random, stash, schedule, unwritten: 0, work });
        Ok(RawOram { parameters, trees, store, positions, exclusive, state })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &RawParameters {
        &self.parameters
    }

    /// The position map.
    pub fn positions(&self) -> &P {
        &self.positions
    }

    /// Returns the number of blocks in the stash now, the trusted top included. Secret: it depends on the requests.
    pub fn stash_blocks(&self) -> usize {
        self.state.borrow().stash.len()
    }

    /// Returns the number of evictions begun so far: G in the paper. Public.
    pub fn evictions(&self) -> u64 {
        self.state.borrow().schedule.begun
    }

    /// Fills the paths of evictions in another order from now on.
    pub fn set_fill_order(&self, order: FillOrder) {
        self.state.borrow_mut().work.placement.set_order(order);
    }

    /// The state without positions and stash.
    pub(super) fn progress(&self) -> Progress {
        let State { work, unwritten, schedule, .. } = &*self.state.borrow();
        Progress { held: work.held.snapshot(), unwritten: *unwritten, schedule: *schedule }
    }

    /// Continues from this progress, once the stash is filled. Returns `false` if the progress contradicts the stash or
    /// the positions.
    #[must_use]
    pub(super) fn restore_progress(
        &self,
        progress: Progress,
        state: &mut State<R>,
        positions: &Positions,
    ) -> bool {
        let Progress { held, unwritten, schedule } = progress;
        let State { stash, work, .. } = state;
        (state.unwritten, state.schedule) = (unwritten, schedule);
        self.parameters.is_schedule(&schedule, unwritten)
            && stash.len() <= self.parameters.stash_bound as usize
            && work.held.restore(held, &self.trees.headers, self.parameters.capacity, |(block, leaf)| {
                positions.get(block) == Some(leaf) && stash.find(block).is_none()
            })
            && work.held.is_empty() == (unwritten == 0)
    }

    /// Returns the number of bytes on the trusted side: stash with the trusted top, held headers, a path in transit,
    /// position map.
    pub fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        let Work { held, reading, .. } = &state.work;
        state.stash.bytes() + held.bytes() + reading.capacity() + self.positions.trusted_bytes()
    }
}

/// A RAW ORAM whose buckets are numbered from 0.
impl<S: Store, R: RngCore> FullSnapshot<R> for RawOram<S, FlatPositionMap<S::Error>, R> {
    type Store = S;
    type Snapshot = RawSnapshot;
    type ParametersError = HalfFullTreeError;

    fn snapshot(&self) -> Result<RawSnapshot, RawSnapshotError> {
        debug_assert_eq!(self.trees.headers.first_bucket(), Bucket(0), "its buckets are numbered from 0");
        self.exclusive.check_at_rest()?;
        let (parameters, positions) = (self.parameters.clone(), self.positions.snapshot());
        let stash = self.state.borrow().stash.snapshot();
        Ok(RawSnapshot { parameters, positions, stash, progress: self.progress() })
    }

    /// Refuses a snapshot that contradicts itself. Every block in the stash or in a held header must have the leaf that
    /// it is mapped to, and be in one place.
    fn restore(snapshot: RawSnapshot, store: S, random: R) -> Result<Self, RawSnapshotError> {
        let RawSnapshot { parameters, positions, stash, progress } = snapshot;
        let oram =
            RawOram::new(parameters, Bucket(0), store, FlatPositionMap::new(positions.clone()), random)?;
        {
            let state = &mut *oram.state.borrow_mut();
            let is_sound = |(block, leaf): (BlockId, _)| {
                block.0 < positions.blocks() && positions.get(block) == Some(leaf)
            };
            let fits = positions.blocks() == oram.parameters.capacity
                && stash.blocks().all(is_sound)
                && state.stash.restore(&stash)
                && oram.restore_progress(progress, state, &positions);
            if !fits {
                return Err(SnapshotError::Mismatch);
            }
        }
        Ok(oram)
    }

    fn reseed(&self, random: R) {
        self.state.borrow_mut().random = random;
    }

    fn stash_blocks(&self) -> usize {
        RawOram::stash_blocks(self)
    }

    fn trusted_bytes(&self) -> usize {
        RawOram::trusted_bytes(self)
    }
}
