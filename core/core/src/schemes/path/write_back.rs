//! The write-back of the paths that are held: lines 10 to 15 of Path ORAM.

use super::{PathOram, State, Writing};
use crate::position_map::PositionMap;
use crate::store::Store;
use crate::tree::placement::FillOrder;
use crate::types::{Bucket, Level};
use core::mem;
use rand_core::RngCore;

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> PathOram<S, P, R> {
    /// Fills paths in another order from now on.
    pub fn set_fill_order(&self, order: FillOrder) {
        self.state.borrow_mut().placement.set_order(order);
    }

    /// Lines 10 to 15 for all held paths but those that are kept, up to the writing itself. `None` if there are none.
    pub(super) fn place(&self) -> Option<Writing> {
        let state = &mut *self.state.borrow_mut();
        if state.held.len() <= state.kept {
            return None;
        }
        let mut writing = mem::take(&mut state.spare_writing);
        let kept = state.held.split_off(state.held.len() - state.kept);
        mem::swap(&mut state.in_flight, &mut state.held);
        state.held.extend(kept);
        writing.buckets.clear();
        writing.bytes.clear();
        for nth in 0..state.in_flight.len() {
            if state.has_siblings {
                self.place_siblings(state, state.in_flight[nth], &mut writing);
            }
            let path = &state.in_flight[nth];
            // The last path through a bucket fills it: by then all that could go deeper has gone.
            let later = self.shared_levels(*path, &state.in_flight[nth + 1..]);
            let later = later.max(self.shared_levels(*path, &state.held));
            let first = self.tree.top().0 + later as u32;
            let room = |level: Level| {
                if level.0 < first { 0 } else { self.tree.shape(level).blocks as usize }
            };
            let trusted = state.tree_top.levels();
            let may_go = |level: Level, block| level.0 >= trusted || state.tree_top.reserve(block);
            state.placement.plan(&state.stash, &self.tree, *path, room, may_go);
            for level in self.tree.levels().take(trusted as usize).skip(later) {
                let bucket = self.tree.bucket(level, *path);
                for (nth, handle) in state.placement.chosen(level).iter().enumerate() {
                    let entry = state.tree_top.put(bucket, nth, state.stash.block(*handle));
                    state.stash.serialize_block(*handle, entry);
                    state.stash.remove(*handle);
                }
            }
            let path = *path;
            for level in self.tree.levels().skip(later.max(trusted as usize)) {
                self.fill_bucket(state, (level, self.tree.bucket(level, path)), &mut writing);
            }
        }
        Some(writing)
    }

    /// Fills a bucket with the blocks that were chosen for its level.
    pub(super) fn fill_bucket(
        &self,
        state: &mut State<R>,
        (level, bucket): (Level, Bucket),
        writing: &mut Writing,
    ) {
        writing.buckets.push(bucket);
        let start = writing.bytes.len();
        writing.bytes.resize(start + self.bucket_bytes(level), 0);
        let entries = writing.bytes[start..].chunks_exact_mut(self.entry_bytes());
        for (handle, entry) in state.placement.chosen(level).iter().zip(entries) {
            state.stash.serialize_block(*handle, entry);
            state.stash.remove(*handle);
        }
    }

    /// Ends a write-back: its buckets may be read again.
    pub(super) fn written(&self, writing: Writing) {
        let mut state = self.state.borrow_mut();
        state.in_flight.clear();
        state.spare_writing = writing;
        self.poison_flag.wake_waiters();
    }
}
