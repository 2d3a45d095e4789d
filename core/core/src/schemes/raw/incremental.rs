//! The trusted state of a RAW ORAM, written as changes: positions are its words, the headers that it holds and the
//! schedule the rest.

use super::snapshot::{Progress, RawSnapshotError};
use super::{RawOram, RawParameters, RawParametersError};
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::snapshot::full::SnapshotError;
use crate::snapshot::incremental::{Changes, IncrementalSnapshot, Parts, changed_words};
use crate::stash::Stash;
use crate::store::Store;
use crate::types::Bucket;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefMut;
use core::ops::Range;
use rand_core::RngCore;

/// A RAW ORAM whose buckets are numbered from 0.
impl<S: Store, R: RngCore> IncrementalSnapshot<R> for RawOram<S, FlatPositionMap<S::Error>, R> {
    type Store = S;
    type Parameters = RawParameters;
    type ParametersError = RawParametersError;

    fn tables(parameters: &RawParameters) -> Vec<u64> {
        vec![parameters.capacity]
    }

    fn track_changes(&self) {
        self.positions.table().track_changes();
        self.state.borrow_mut().stash.track_changes();
    }

    fn take_changes(&self) -> Result<Changes, RawSnapshotError> {
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
        parts: Parts<'_>,
        store: S,
        random: R,
    ) -> Result<Self, RawSnapshotError> {
        let Parts { mut tables, rest, order, payloads, payload_source } = parts;
        let (Some(words), true) = (tables.pop(), tables.is_empty()) else {
            return Err(SnapshotError::Mismatch);
        };
        let positions = Positions::from_words(words);
        let progress: Progress = borsh::from_slice(rest).map_err(|_| SnapshotError::Mismatch)?;
        if positions.blocks() != parameters.capacity {
            return Err(SnapshotError::Mismatch);
        }
        let oram = RawOram::new(parameters, Bucket(0), store, FlatPositionMap::new(positions), random)?;
        {
            let state = &mut *oram.state.borrow_mut();
            if let Some(payload_source) = payload_source {
                state.stash.set_payload_source(payload_source);
            }
            let fits = oram.positions.with_positions(|positions| {
                state.stash.refill(order, payloads, positions) && oram.go_on(progress, state, positions)
            });
            if !fits {
                return Err(SnapshotError::Mismatch);
            }
        }
        Ok(oram)
    }
}
