//! The snapshot that a Path ORAM is written as.

use super::{PathOram, PathParameters, PathParametersError};
use crate::position_map::PositionMap;
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::snapshot::full::{FullSnapshot, SnapshotError};
use crate::stash::StashSnapshot;
use crate::store::Store;
use crate::types::{Bucket, Leaf};
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::RngCore;

/// The state that a Path ORAM must remember in addition to its position map, its parameters and the store.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct PathSnapshot {
    stash: StashSnapshot,
    held: Vec<Leaf>,
}

/// The whole state that a Path ORAM with a flat position map must remember.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct FlatPathSnapshot {
    parameters: PathParameters,
    positions: Positions,
    path: PathSnapshot,
}

/// The reason why a Path ORAM cannot be saved now, or cannot continue from a snapshot.
pub type PathSnapshotError = SnapshotError<PathParametersError>;

/// A Path ORAM over any position map, which is saved and restored at the same time.
impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> PathOram<S, P, R> {
    /// A Path ORAM that continues from a snapshot, over the store and the position map as they were when it was taken.
    ///
    /// # Errors
    /// [`PathSnapshotError::Parameters`], [`PathSnapshotError::Mismatch`].
    pub fn restore(
        parameters: PathParameters,
        first_bucket: Bucket,
        store: S,
        positions: P,
        random: R,
        snapshot: &PathSnapshot,
    ) -> Result<Self, PathSnapshotError> {
        let oram = Self::new(parameters, first_bucket, store, positions, random)?;
        {
            let mut state = oram.state.borrow_mut();
            let known = snapshot.stash.blocks().all(|(block, _)| block.0 < oram.parameters.capacity)
                && snapshot.held.iter().all(|path| path.0 < oram.tree.leaves())
                && snapshot.stash.blocks().count() <= oram.parameters.stash_bound as usize;
            if !known || !state.stash.restore(&snapshot.stash) {
                return Err(PathSnapshotError::Mismatch);
            }
            state.held.extend_from_slice(&snapshot.held);
        }
        Ok(oram)
    }

    /// The stash, and the paths that are held. The position map has a snapshot of its own, to be taken at the same
    /// time. A tree top of buckets is set down before.
    ///
    /// # Errors
    /// [`PathSnapshotError::InFlight`], if there are blocks in a tree top too; [`PathSnapshotError::Poisoned`].
    pub fn snapshot(&self) -> Result<PathSnapshot, PathSnapshotError> {
        self.poison_flag.check_at_rest([&self.lock, &self.write_back_lock])?;
        let state = self.state.borrow();
        if state.tree_top.blocks().next().is_some() {
            return Err(PathSnapshotError::InFlight);
        }
        Ok(PathSnapshot { stash: state.stash.snapshot(), held: state.held.clone() })
    }
}

/// A Path ORAM whose buckets are numbered from 0.
impl<S: Store, R: RngCore> FullSnapshot<R> for PathOram<S, FlatPositionMap<S::Error>, R> {
    type Store = S;
    type Snapshot = FlatPathSnapshot;
    type ParametersError = PathParametersError;

    fn snapshot(&self) -> Result<FlatPathSnapshot, PathSnapshotError> {
        debug_assert_eq!(self.tree.first_bucket(), Bucket(0), "its buckets are numbered from 0");
        let path = PathOram::snapshot(self)?;
        let (parameters, positions) = (self.parameters.clone(), self.positions.snapshot());
        Ok(FlatPathSnapshot { parameters, positions, path })
    }

    fn restore(snapshot: FlatPathSnapshot, store: S, random: R) -> Result<Self, PathSnapshotError> {
        let FlatPathSnapshot { parameters, positions, path } = snapshot;
        if positions.blocks() != parameters.capacity {
            return Err(SnapshotError::Mismatch);
        }
        let positions = FlatPositionMap::new(positions);
        PathOram::restore(parameters, Bucket(0), store, positions, random, &path)
    }

    fn reseed(&self, random: R) {
        PathOram::reseed(self, random);
    }

    fn stash_blocks(&self) -> usize {
        PathOram::stash_blocks(self)
    }

    fn trusted_bytes(&self) -> usize {
        PathOram::trusted_bytes(self)
    }
}
