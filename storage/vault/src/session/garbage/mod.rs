//! Bucket versions and log objects that were replaced, and when they may be deleted.

mod steps;

use super::key_change::KeyChange;
use crate::store_space::StoreSpace;
use crate::trusted::checkpoint::{Garbage, ShippedCheckpoint};
use crate::trusted::position::Position;
use ameles_core::store::BucketVersion;
use std::sync::Arc;

/// The replaced objects that are still in the store.
pub(super) struct GarbageCollector {
    garbage: Vec<Garbage>,
    /// The versions that an earlier opening left in the store and that nothing needs.
    orphans: Vec<BucketVersion>,
    is_deleting: bool,
    /// The first log object that is still needed, if those before it must be deleted.
    log_objects: Option<Position>,
    /// The newest checkpoint in the store, if older ones must be deleted.
    checkpoints: Option<(u32, u64)>,
    /// The change of the vault's key, while it runs. It replaces the versions that the earlier key opens.
    pub(super) change: Option<KeyChange>,
    /// The space in the store, which deletions free.
    space: Arc<StoreSpace>,
}

impl GarbageCollector {
    pub(super) fn new(garbage: Vec<Garbage>, orphans: Vec<BucketVersion>, change: Option<KeyChange>) -> Self {
        GarbageCollector {
            garbage,
            orphans,
            is_deleting: false,
            log_objects: None,
            checkpoints: None,
            change,
            space: Arc::default(),
        }
    }

    /// Adds versions that were replaced after the checkpoint of this number.
    pub(super) fn add(&mut self, replaced: Vec<BucketVersion>, after: u64) {
        self.garbage.extend(replaced.into_iter().map(|at| Garbage::new(at, after)));
    }

    /// Records that a shipped checkpoint holds the log objects before this one.
    pub(super) fn add_log_objects(&mut self, before: Option<Position>) {
        self.log_objects = before;
    }

    /// Records that the checkpoints before this one are no longer needed, but for the pieces that it names.
    pub(super) fn add_checkpoints_before(&mut self, shipped: ShippedCheckpoint) {
        self.checkpoints = Some((shipped.epoch, shipped.number));
    }

    /// The replaced versions that still exist, for a checkpoint.
    pub(super) fn versions(&self) -> &[Garbage] {
        &self.garbage
    }

    /// Returns whether something is left to delete: a replaced version of an epoch up to `epoch`, an orphan of any
    /// epoch, log objects or checkpoints.
    pub(super) fn holds_up_to(&self, epoch: u32) -> bool {
        let has_others = !self.orphans.is_empty() || self.log_objects.is_some() || self.checkpoints.is_some();
        has_others || self.garbage.iter().any(|garbage| garbage.version.epoch <= epoch)
    }

    /// Returns whether a deletion is running.
    pub(super) fn is_deleting(&self) -> bool {
        self.is_deleting
    }

    /// Records whether a deletion is running.
    pub(super) fn set_deleting(&mut self, is_deleting: bool) {
        self.is_deleting = is_deleting;
        self.space.set_freeing(is_deleting);
    }

    /// Waits until a write finds no room in the store.
    pub(super) async fn store_lacks_space(&self) {
        self.space.wait_until_full().await;
    }

    /// Takes the versions that neither checkpoint needs: the one of this number on the disk, and the shipped one.
    fn take_unneeded(&mut self, number: u64, shipped: &ShippedCheckpoint) -> Vec<BucketVersion> {
        let unneeded = self.garbage.extract_if(.., |garbage| !garbage.is_needed(number, shipped));
        let mut unneeded: Vec<BucketVersion> = unneeded.map(Garbage::written).collect();
        unneeded.append(&mut self.orphans);
        unneeded
    }
}
