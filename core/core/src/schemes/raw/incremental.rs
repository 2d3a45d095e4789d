//! The trusted state of a RAW ORAM, written as changes. Its words are the positions. The rest is the headers that it
//! holds, and the schedule.

use super::snapshot::{Progress, RawSnapshotError};
use super::{RawOram, RawParameters};
use crate::position_map::flat::FlatPositionMap;
use crate::snapshot::full::SnapshotError;
use crate::snapshot::incremental::{IncrementalSnapshot, Parts};
use crate::snapshot::word_table::WordTable;
use crate::stash::Stash;
use crate::store::Store;
use crate::types::Bucket;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefMut;
use rand_core::RngCore;

/// A RAW ORAM whose buckets are numbered from 0.
impl<S: Store, R: RngCore> IncrementalSnapshot<R> for RawOram<S, FlatPositionMap<S::Error>, R> {
    type Parameters = RawParameters;

    fn tables(parameters: &RawParameters) -> Vec<u64> {
        vec![parameters.capacity]
    }

    fn visit_tables(&self, visit: &mut dyn FnMut(&mut WordTable)) {
        visit(&mut self.positions.table());
    }

    fn check_at_rest(&self) -> Result<(), SnapshotError<Self::ParametersError>> {
        self.exclusive.check_at_rest()
    }

    fn rest(&self) -> Vec<u8> {
        borsh::to_vec(&self.progress()).expect("memory takes every write")
    }

    fn stash(&self) -> Option<RefMut<'_, Stash>> {
        Some(RefMut::map(self.state.borrow_mut(), |state| &mut state.stash))
    }

    /// Headers by themselves take none.
    fn max_blocks_in(&self, buckets: &[Bucket]) -> usize {
        let first_body = self.trees.bodies.first_bucket();
        let bodies = buckets.iter().filter(|bucket| **bucket >= first_body).count();
        bodies * self.parameters.blocks_per_bucket as usize
    }

    fn resume(
        parameters: RawParameters,
        mut parts: Parts<'_>,
        store: S,
        random: R,
    ) -> Result<Self, RawSnapshotError> {
        let positions = parts.take_only_positions(parameters.capacity)?;
        let progress: Progress = parts.read_rest()?;
        let oram = RawOram::new(parameters, Bucket(0), store, FlatPositionMap::new(positions), random)?;
        {
            let state = &mut *oram.state.borrow_mut();
            let fits = oram.positions.with_positions(|positions| {
                parts.fill_stash(&mut state.stash, positions)
                    && oram.restore_progress(progress, state, positions)
            });
            if !fits {
                return Err(SnapshotError::Mismatch);
            }
        }
        Ok(oram)
    }
}
