//! Bucket versions that were replaced, and the times at which they may go.

use super::Session;
use super::checkpoints::Shipping;
use super::key_change::KeyChange;
use super::outbox::Event;
use crate::session::pace::{Local, next_instant};
use crate::store::VaultStore;
use crate::trusted::checkpoint::{Garbage, Shipped};
use lethe_core::store::{BucketVersion, Untrusted};
use tokio::time::Instant;

/// See the module.
pub(super) struct Replaced {
    garbage: Vec<Garbage>,
    /// The versions that an earlier opening left behind and that are not needed.
    orphans: Vec<BucketVersion>,
    deleting: bool,
    /// The change of the vault's key, while one is under way: it replaces what the earlier key opens.
    pub(super) change: Option<KeyChange>,
}

impl Replaced {
    pub(super) fn new(garbage: Vec<Garbage>, orphans: Vec<BucketVersion>, change: Option<KeyChange>) -> Self {
        Replaced { garbage, orphans, deleting: false, change }
    }

    /// Notes versions that were replaced after the checkpoint of this number.
    pub(super) fn add(&mut self, replaced: Vec<BucketVersion>, after: u64) {
        self.garbage.extend(replaced.into_iter().map(|at| Garbage::new(at, after)));
    }

    /// All that wait, for a checkpoint.
    pub(super) fn garbage(&self) -> &[Garbage] {
        &self.garbage
    }

    /// Tells whether a version waits that is of an epoch up to this one, or an orphan of any.
    pub(super) fn holds_up_to(&self, epoch: u32) -> bool {
        !self.orphans.is_empty() || self.garbage.iter().any(|garbage| garbage.version.epoch <= epoch)
    }

    /// Tells whether a deletion is under way.
    pub(super) fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// Notes that a deletion has ended.
    pub(super) fn deleted(&mut self) {
        self.deleting = false;
    }

    /// Takes the versions that neither the checkpoint of this number on the disk nor the shipped one needs.
    fn take_unneeded(&mut self, number: u64, shipped: &Shipped) -> Vec<BucketVersion> {
        let is_needed = |garbage: &Garbage| {
            let by_disk = garbage.after >= number;
            let is_older = (garbage.version.epoch, garbage.version.counter) <= shipped.newest;
            by_disk || (is_older && garbage.after >= shipped.number)
        };
        let gone = self.garbage.extract_if(.., |garbage| !is_needed(garbage));
        let mut gone: Vec<BucketVersion> = gone.map(Garbage::written).collect();
        gone.append(&mut self.orphans);
        gone
    }
}

impl<U: VaultStore> Session<U> {
    /// Deletes versions that neither the checkpoint on the disk nor the one in the store needs. Called when one of
    /// the two has just become durable, or the last deletion has ended: public times.
    pub(super) fn collect_garbage(&mut self) {
        if self.replaced.deleting || self.checkpoints.shipping != Shipping::Idle {
            return;
        }
        let gone = self.replaced.take_unneeded(self.checkpoints.number, &self.checkpoints.shipped);
        if gone.is_empty() {
            return;
        }
        let (store, identity, instants) =
            (self.engine.sealed.clone(), self.identity.clone(), self.outbox.instants());
        self.replaced.deleting = true;
        let request = Box::pin(async move {
            let deleting = async {
                // A displaced gateway must not delete what its successor may still need.
                identity.claims(store.untrusted()).check(identity.epoch).await?;
                next_instant(instants).await;
                Untrusted::delete(store.untrusted(), &gone).await?;
                Ok(())
            };
            Event::Deleted(deleting.await)
        });
        self.outbox.send(Local::Step, Instant::now(), request);
    }
}
