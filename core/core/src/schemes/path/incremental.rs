//! The trusted state of a Path ORAM, written as changes. Its words are the positions; the rest is the held paths.

use super::snapshot::PathSnapshotError;
use super::{PathOram, PathParameters};
use crate::position_map::flat::FlatPositionMap;
use crate::snapshot::full::SnapshotError;
use crate::snapshot::incremental::{BlockPlace, IncrementalSnapshot, Parts};
use crate::snapshot::word_table::WordTable;
use crate::stash::Stash;
use crate::store::Store;
use crate::types::{BlockId, Bucket, Leaf};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefMut;
use rand_core::RngCore;

/// A Path ORAM whose buckets are numbered from 0.
impl<S: Store, R: RngCore> IncrementalSnapshot<R> for PathOram<S, FlatPositionMap<S::Error>, R> {
    type Parameters = PathParameters;

    fn tables(parameters: &PathParameters) -> Vec<u64> {
        vec![parameters.capacity]
    }

    fn visit_tables(&self, visit: &mut dyn FnMut(&mut WordTable)) {
        visit(&mut self.positions.table());
    }

    fn check_at_rest(&self) -> Result<(), SnapshotError<Self::ParametersError>> {
        self.poison_flag.check_at_rest([&self.lock, &self.write_back_lock])
    }

    fn rest(&self) -> Vec<u8> {
        borsh::to_vec(&self.state.borrow().held).expect("memory takes every write")
    }

    fn stash(&self) -> Option<RefMut<'_, Stash>> {
        Some(RefMut::map(self.state.borrow_mut(), |state| &mut state.stash))
    }

    /// Only where a block is not: no bucket has metadata.
    fn locate(&self, block: BlockId) -> Option<BlockPlace> {
        let leaf = self.positions.with_positions(|positions| positions.get(block));
        leaf.is_none().then_some(BlockPlace::Nowhere)
    }

    fn max_blocks_in(&self, buckets: &[Bucket]) -> usize {
        buckets.len() * self.parameters.blocks_per_bucket as usize
    }

    fn resume(
        parameters: PathParameters,
        mut parts: Parts<'_>,
        store: S,
        random: R,
    ) -> Result<Self, PathSnapshotError> {
        let positions = parts.take_only_positions(parameters.capacity)?;
        let held: Vec<Leaf> = parts.read_rest()?;
        let path = PathOram::new(parameters, Bucket(0), store, FlatPositionMap::new(positions), random)?;
        {
            let state = &mut *path.state.borrow_mut();
            let stash = &mut state.stash;
            let filled = path.positions.with_positions(|positions| parts.fill_stash(stash, positions));
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
