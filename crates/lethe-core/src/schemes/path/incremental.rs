//! The trusted state of a Path ORAM, written down bit by bit: positions are its words, the paths that it holds the rest.

use super::snapshot::PathSnapshotError;
use super::{PathOram, PathParameters, PathParametersError};
use crate::incremental::{Changes, Incremental, Parts, changed_words, copy_part};
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::resumable::SnapshotError;
use crate::store::Store;
use crate::words::{BlockId, Bucket, Leaf};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use rand_core::RngCore;

/// A Path ORAM whose buckets are numbered from 0.
impl<S: Store, R: RngCore> Incremental<R> for PathOram<S, FlatPositionMap<S::Error>, R> {
    type Store = S;
    type Parameters = PathParameters;
    type ParametersError = PathParametersError;

    fn tables(parameters: &PathParameters) -> Vec<u64> {
        vec![parameters.capacity]
    }

    fn watch(&self) {
        self.positions.watch();
        self.state.borrow_mut().stash.watch();
    }

    fn take_changes(&self) -> Result<Changes, PathSnapshotError> {
        self.check_at_rest()?;
        let words = changed_words([(self.parameters.capacity, self.positions.take_changes())]);
        Ok(Changes { words, stash: self.state.borrow_mut().stash.take_changes() })
    }

    fn copy_words(&self, words: Range<u64>, into: &mut Vec<u32>) {
        self.positions.look(|positions| copy_part(positions.words(), 0, &words, into));
    }

    fn rest(&self) -> Vec<u8> {
        borsh::to_vec(&self.state.borrow().held).expect("memory takes every write")
    }

    fn look_at(&self, block: BlockId, look: &mut dyn FnMut(&[u8])) {
        let stash = &self.state.borrow().stash;
        stash.look_at(stash.find(block).expect("only blocks of the stash are looked at"), look);
    }

    fn stash_order(&self) -> Vec<BlockId> {
        self.state.borrow().stash.order()
    }

    fn is_elsewhere(&self, block: BlockId) -> bool {
        self.state.borrow().stash.is_elsewhere(block)
    }

    fn bring(&self, block: BlockId, payload: &[u8]) {
        self.state.borrow_mut().stash.bring(block, payload);
    }

    fn let_go(&self) {
        self.state.borrow_mut().stash.let_go();
    }

    fn most_blocks_in(&self, buckets: &[Bucket]) -> usize {
        buckets.len() * self.parameters.blocks_per_bucket as usize
    }

    fn take_up(
        parameters: PathParameters,
        parts: Parts<'_>,
        store: S,
        random: R,
    ) -> Result<Self, PathSnapshotError> {
        let Parts { mut tables, rest, order, payloads, keeper } = parts;
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
            if let Some(keeper) = keeper {
                state.stash.keep_with(keeper);
            }
            let filled = path.positions.look(|positions| state.stash.refill(order, payloads, positions));
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
