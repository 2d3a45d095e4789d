//! Bucket versions that were replaced, and the times at which they may go.

mod steps;

use super::key_change::KeyChange;
use crate::store_room::StoreRoom;
use crate::trusted::checkpoint::{Garbage, ShippedCheckpoint};
use crate::trusted::position::Position;
use ameles_core::store::BucketVersion;
use std::sync::Arc;

/// See the module.
pub(super) struct GarbageCollector {
    garbage: Vec<Garbage>,
    /// The versions that an earlier opening left behind and that are not needed.
    orphans: Vec<BucketVersion>,
    is_deleting: bool,
    /// The first object of the journal in the store that is needed, when those before it are to be deleted.
    log_objects: Option<Position>,
    /// The change of the vault's key, while one is under way: it replaces what the earlier key opens.
    pub(super) change: Option<KeyChange>,
    /// The room that is made by what is deleted.
    room: Arc<StoreRoom>,
}

impl GarbageCollector {
    pub(super) fn new(garbage: Vec<Garbage>, orphans: Vec<BucketVersion>, change: Option<KeyChange>) -> Self {
        GarbageCollector {
            garbage,
            orphans,
            is_deleting: false,
            log_objects: None,
            change,
            room: Arc::default(),
        }
    }

    /// Notes versions that were replaced after the checkpoint of this number.
    pub(super) fn add(&mut self, replaced: Vec<BucketVersion>, after: u64) {
        self.garbage.extend(replaced.into_iter().map(|at| Garbage::new(at, after)));
    }

    /// Notes that the objects of the journal in the store before this one are in a shipped checkpoint.
    pub(super) fn add_log_objects(&mut self, before: Option<Position>) {
        self.log_objects = before;
    }

    /// All that wait, for a checkpoint.
    pub(super) fn versions(&self) -> &[Garbage] {
        &self.garbage
    }

    /// Tells whether a version waits that is of an epoch up to this one, or an orphan of any, or objects of the journal in
    /// the store.
    pub(super) fn holds_up_to(&self, epoch: u32) -> bool {
        let has_others = !self.orphans.is_empty() || self.log_objects.is_some();
        has_others || self.garbage.iter().any(|garbage| garbage.version.epoch <= epoch)
    }

    /// Tells whether a deletion is under way.
    pub(super) fn is_deleting(&self) -> bool {
        self.is_deleting
    }

    /// Notes that a deletion has begun, or has ended.
    pub(super) fn set_deleting(&mut self, is_deleting: bool) {
        self.is_deleting = is_deleting;
        self.room.set_freeing(is_deleting);
    }

    /// Waits until something that was to be written has found no room in the store.
    pub(super) async fn store_lacks_room(&self) {
        self.room.wait_until_full().await;
    }

    /// Takes the versions that neither the checkpoint of this number on the disk nor the shipped one needs.
    fn take_unneeded(&mut self, number: u64, shipped: &ShippedCheckpoint) -> Vec<BucketVersion> {
        let unneeded = self.garbage.extract_if(.., |garbage| !garbage.is_needed(number, shipped));
        let mut unneeded: Vec<BucketVersion> = unneeded.map(Garbage::written).collect();
        unneeded.append(&mut self.orphans);
        unneeded
    }
}
