//! The trusted state of a Path ORAM, written as changes: positions are its words, the paths that it holds the rest.

use super::snapshot::PathSnapshotError;
use super::{PathOram, PathParameters, PathParametersError};
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::snapshot::full::SnapshotError;
use crate::snapshot::incremental::{Changes, IncrementalSnapshot, Parts, changed_words};
use crate::stash::Stash;
use crate::store::Store;
use crate::types::{Bucket, Leaf};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefMut;
use core::ops::Range;
use rand_core::RngCore;

/// A Path ORAM whose buckets are numbered from 0.
impl<S: Store, R: RngCore> IncrementalSnapshot<R> for PathOram<S, FlatPositionMap<S::Error>, R> {
    type Store = S;
    type Parameters = PathParameters;
    type ParametersError = PathParametersError;

    fn tables(parameters: &PathParameters) -> Vec<u64> {
        vec![parameters.capacity]
    }

    fn track_changes(&self) {
        self.positions.table().track_changes();
        self.state.borrow_mut().stash.track_changes();
    }

    fn take_changes(&self) -> Result<Changes, PathSnapshotError> {
        self.check_at_rest()?;
        let words = changed_words([(self.parameters.capacity, self.positions.table().take_changes())]);
        Ok(Changes { words, stash: self.state.borrow_mut().stash.take_changes() })
    }

    fn copy_words(&self, words: Range<u64>, into: &mut Vec<u32>) {
        self.positions.table().copy(0, &words, into);
    }

    fn hold_words(&self) {
        self.positions.table().hold();
    }

    fn copy_held_words(&self, words: Range<u64>, into: &mut Vec<u32>) {
        self.positions.table().copy_held(0, &words, into);
    }

    fn rest(&self) -> Vec<u8> {
        borsh::to_vec(&self.state.borrow().held).expect("memory takes every write")
    }

    fn stash(&self) -> Option<RefMut<'_, Stash>> {
        Some(RefMut::map(self.state.borrow_mut(), |state| &mut state.stash))
    }

    fn max_blocks_in(&self, buckets: &[Bucket]) -> usize {
        buckets.len() * self.parameters.blocks_per_bucket as usize
    }

    fn resume(
        parameters: PathParameters,
        parts: Parts<'_>,
        store: S,
        random: R,
    ) -> Result<Self, PathSnapshotError> {
        let Parts { mut tables, rest, order, payloads, payload_source } = parts;
        let (Some(words), true) = (tables.pop(), tables.is_empty()) else {
            return Err(SnapshotError::Mismatch);
        };
        let positions = Positions::from_words(words);
        let held: Vec<Leaf> = borsh::from_slice(rest).map_err(|_| SnapshotError::Mismatch)?;
        if positions.blocks() != parameters.capacity {
            return Err(SnapshotError::Mismatch);
        }
        let path = PathOram::new(parameters, Bucket(0), store, FlatPositionMap::new(positions), random)?;
        {
            let state = &mut *path.state.borrow_mut();
            if let Some(payload_source) = payload_source {
                state.stash.set_payload_source(payload_source);
            }
            let filled =
                path.positions.with_positions(|positions| state.stash.refill(order, payloads, positions));
            let fits = state.stash.len() <= path.parameters.stash_bound as usize
                && held.iter().all(|path_held| path_held.0 < path.tree.leaves());
            if !filled || !fits {
                return Err(SnapshotError::Mismatch);
            }
            state.held = held;
        }
        Ok(path)
    }
}
