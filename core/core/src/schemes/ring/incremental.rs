//! The trusted state of a Ring ORAM, written as changes. Positions, slots and the buckets that were ever written are
//! its tables of words. The schedule and the worn buckets are the rest.

use super::origins::ReplacedPayloads;
use super::slices::Slices;
use super::snapshot::RingSnapshotError;
use super::validate::Agreement;
use super::{RingOram, RingParameters};
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::snapshot::full::SnapshotError;
use crate::snapshot::incremental::{BlockPlace, IncrementalSnapshot, Origins, Parts};
use crate::snapshot::word_table::WordTable;
use crate::stash::Stash;
use crate::store::Store;
use crate::tree::bucket_metadata::BucketMetadata;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::types::{BlockId, Bucket};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefMut;
use core::mem;
use rand_core::RngCore;

/// The rest of the state: the schedule, the buckets to be reshuffled, and the words of
/// [`ReplacedPayloads`] if they are known.
pub(super) type Rest = (EvictionSchedule, VecDeque<Bucket>, Vec<u32>);

impl<S: Store, R: RngCore> IncrementalSnapshot<R> for RingOram<S, FlatPositionMap<S::Error>, R> {
    type Parameters = RingParameters;

    fn tables(parameters: &RingParameters) -> Vec<u64> {
        let [slots, written] = BucketMetadata::tables(&parameters.geometry());
        vec![parameters.capacity, slots, written]
    }

    fn visit_tables(&self, visit: &mut dyn FnMut(&mut WordTable)) {
        visit(&mut self.positions.table());
        self.state.borrow_mut().metadata.tables_mut().into_iter().for_each(visit);
    }

    fn check_at_rest(&self) -> Result<(), SnapshotError<Self::ParametersError>> {
        RingOram::check_at_rest(self)
    }

    fn rest(&self) -> Vec<u8> {
        let state = self.state.borrow();
        let filled = self.slices.filled(&state.schedule, &self.tree);
        let replaced =
            if state.notes_origins { state.replaced.words(filled, &self.tree) } else { Vec::new() };
        borsh::to_vec(&(state.schedule, &state.worn, replaced)).expect("memory takes every write")
    }

    fn stash(&self) -> Option<RefMut<'_, Stash>> {
        Some(RefMut::map(self.state.borrow_mut(), |state| &mut state.stash))
    }

    fn locate(&self, block: BlockId) -> Option<BlockPlace> {
        let Some(leaf) = self.positions.with_positions(|positions| positions.get(block)) else {
            return Some(BlockPlace::Nowhere);
        };
        let state = self.state.borrow();
        if state.stash.find(block).is_some() {
            return Some(BlockPlace::Stash);
        }
        let find = |(level, bucket)| state.metadata.find(&self.tree, level, bucket, block);
        self.tree.path(leaf).find_map(find).map(BlockPlace::Slot)
    }

    fn note_origins(&self) {
        self.state.borrow_mut().notes_origins = true;
    }

    fn origins(&self) -> Origins {
        let state = self.state.borrow();
        state.replaced.origins(&state.metadata, &state.schedule, (&self.slices, &self.tree))
    }

    fn origins_of(parameters: &RingParameters, tables: &[Vec<u32>], rest: &[u8]) -> Option<Origins> {
        let (tree, slices) = (parameters.geometry(), Slices::of(parameters));
        let [_, slots, written] = tables else { return None };
        if BucketMetadata::tables(&tree) != [slots.len() as u64, written.len() as u64] {
            return None;
        }
        let metadata = BucketMetadata::from_tables(&tree, slots.clone(), written.clone());
        let (schedule, _, words): Rest = borsh::from_slice(rest).ok()?;
        let filled = slices.filled(&schedule, &tree);
        let replaced = ReplacedPayloads::from_words(&words, filled, (&tree, parameters.capacity))?;
        Some(replaced.origins(&metadata, &schedule, (&slices, &tree)))
    }

    fn max_blocks_in(&self, buckets: &[Bucket]) -> usize {
        buckets.iter().map(|bucket| self.tree.shape(self.tree.level_of(*bucket)).blocks as usize).sum()
    }

    /// Refuses a state that contradicts itself, as
    /// [`FullSnapshot::restore`](crate::snapshot::full::FullSnapshot::restore) does.
    fn resume(
        parameters: RingParameters,
        mut parts: Parts<'_>,
        store: S,
        random: R,
    ) -> Result<Self, RingSnapshotError> {
        parameters.validate()?;
        let (tree, sizes) = (parameters.geometry(), Self::tables(&parameters));
        if !parts.tables.iter().map(|table| table.len() as u64).eq(sizes) {
            return Err(SnapshotError::Mismatch);
        }
        let mut tables = mem::take(&mut parts.tables).into_iter();
        let mut table = || tables.next().unwrap_or_default();
        let positions = Positions::from_words(table());
        let metadata = BucketMetadata::from_tables(&tree, table(), table());
        let (schedule, worn, replaced): Rest = parts.read_rest()?;
        let filled = Slices::of(&parameters).filled(&schedule, &tree).collect::<Vec<_>>();
        let replaced =
            ReplacedPayloads::from_words(&replaced, filled.into_iter(), (&tree, parameters.capacity));
        let replaced = replaced.ok_or(SnapshotError::Mismatch)?;
        let ring = RingOram::new(parameters, store, FlatPositionMap::new(positions), random)?;
        {
            let state = &mut *ring.state.borrow_mut();
            let stash = &mut state.stash;
            let filled = ring.positions.with_positions(|positions| parts.fill_stash(stash, positions));
            let agrees = ring.positions.with_positions(|positions| {
                let (metadata, schedule, worn) = (&metadata, &schedule, &worn);
                let stash = &state.stash;
                Agreement { parameters: &ring.parameters, tree: &tree, positions, metadata, schedule, worn }
                    .holds(stash.iter().map(|handle| (stash.block(handle), stash.leaf(handle))))
            });
            if !filled || !agrees {
                return Err(SnapshotError::Mismatch);
            }
            state.bring_back(metadata, (schedule, worn), (&ring.slices, &ring.tree));
            state.replaced = replaced;
        }
        Ok(ring)
    }
}
