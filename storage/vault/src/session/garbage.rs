//! Bucket versions that were replaced, and the times at which they may go.

use super::Session;
use super::checkpoints::Shipping;
use super::dispatcher::Event;
use super::key_change::KeyChange;
use crate::error::VaultError;
use crate::log::entry::is_end;
use crate::session::pace::{Instants, LocalWork, next_instant};
use crate::store::VaultStore;
use crate::store_room::StoreRoom;
use crate::trusted::checkpoint::{Garbage, ShippedCheckpoint};
use crate::trusted::position::{PREFIX, Position};
use ameles_core::store::{BucketVersion, Untrusted};
use ameles_store::Blobs;
use futures::future::try_join_all;
use std::sync::Arc;
use tokio::time::Instant;

/// Objects of the journal in the store that are deleted at a time.
const AT_ONCE: usize = 32;

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

impl<U: VaultStore> Session<U> {
    /// Deletes versions that neither the checkpoint on the disk nor the one in the store needs. Called when one of
    /// the two has just become durable, or the last deletion has ended: public times.
    pub(super) fn collect_garbage(&mut self) {
        if self.checkpoints.shipping == Shipping::Idle {
            self.delete_unneeded(Some(self.checkpoints.number));
        }
    }

    /// Deletes what can go when something finds no room in the store, a public time. It may be a checkpoint on its way that
    /// does, so that one is not waited for; nor is the first one of an opening, which comes after what was left in flight.
    pub(super) fn free_store_space(&mut self) {
        if self.checkpoints.shipping != Shipping::HeldBack {
            self.delete_unneeded(self.checkpoints.needed_from());
        }
    }

    /// Has deletions tell this room.
    pub(crate) fn set_store_room(&mut self, room: Arc<StoreRoom>) {
        self.garbage.room = room;
    }

    /// Deletes the versions that were replaced before the checkpoint of this number and that the one in the store does not
    /// need, and orphans.
    fn delete_unneeded(&mut self, number: Option<u64>) {
        if self.garbage.is_deleting {
            return;
        }
        // No version was replaced before the first one.
        let unneeded = self.garbage.take_unneeded(number.unwrap_or(0), &self.checkpoints.shipped);
        let log_objects = self.garbage.log_objects.take();
        if unneeded.is_empty() && log_objects.is_none() {
            return;
        }
        let (store, identity, instants) =
            (self.engine.sealed.clone(), self.identity.clone(), self.dispatcher.instants());
        self.garbage.set_deleting(true);
        let request = Box::pin(async move {
            let deleting = async {
                // A displaced gateway must not delete what its successor may still need.
                identity.claims(store.untrusted()).check(identity.epoch).await?;
                if !unneeded.is_empty() {
                    next_instant(instants).await;
                    Untrusted::delete(store.untrusted(), &unneeded).await?;
                }
                match log_objects {
                    Some(before) => delete_objects(store.untrusted(), before, instants).await,
                    None => Ok(()),
                }
            };
            Event::Deleted(deleting.await)
        });
        self.dispatcher.send(LocalWork::Step, Instant::now(), request);
    }
}

/// Deletes the objects of the journal in the store before this one. An end stays: whoever wrote that journal may still be
/// there, and would go on if its next name were free.
async fn delete_objects<B: Blobs>(
    blobs: &B,
    before: Position,
    instants: Option<Instants>,
) -> Result<(), VaultError> {
    next_instant(instants).await;
    let mut names = blobs.list(PREFIX).await?;
    names.retain(|blob| !is_end(blob.size.0) && Position::of(&blob.name).is_some_and(|at| at < before));
    for chunk in names.chunks(AT_ONCE) {
        next_instant(instants).await;
        try_join_all(chunk.iter().map(|blob| blobs.remove(&blob.name))).await?;
    }
    Ok(())
}
