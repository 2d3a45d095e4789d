//! The steps of a session that delete what nothing needs.

use crate::error::VaultError;
use crate::log::entry::is_end;
use crate::session::Session;
use crate::session::checkpoints::Shipping;
use crate::session::event::Event;
use crate::session::pace::{Instants, LocalWork, next_instant};
use crate::store::VaultStore;
use crate::store_space::StoreSpace;
use crate::trusted::checkpoint::{PREFIX as CHECKPOINTS, parse_blob_name};
use crate::trusted::position::{PAYLOAD_PREFIX, PREFIX, Position};
use crate::trusted::shipped_piece_name::{PREFIX as PIECES, parse_piece_name};
use ameles_core::store::Untrusted;
use ameles_store::{Blob, Blobs};
use futures::future::try_join_all;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::time::Instant;

/// Log objects that are deleted in parallel.
const AT_ONCE: usize = 32;

impl<U: VaultStore> Session<U> {
    /// Deletes versions that neither the checkpoint on the disk nor the one in the store needs. Called when one of the
    /// two has just become durable, or when the last deletion has ended. These times are public.
    pub(in crate::session) fn collect_garbage(&mut self) {
        if self.checkpoints.shipping == Shipping::Idle {
            self.delete_unneeded(Some(self.checkpoints.number));
        }
    }

    /// Deletes what it can when a write finds no room in the store, which is a public time. A running upload is not
    /// waited for, since it may be what finds no room. Nor does it wait for the first checkpoint of an opening, which
    /// comes after the pending steps.
    pub(in crate::session) fn free_store_space(&mut self) {
        if self.checkpoints.shipping != Shipping::HeldBack {
            self.delete_unneeded(self.checkpoints.needed_from());
        }
    }

    /// Sets the space that deletions report to.
    pub(crate) fn set_store_space(&mut self, space: Arc<StoreSpace>) {
        self.garbage.space = space;
    }

    /// Deletes orphans, and versions that were replaced before the checkpoint of this number and that the one in the
    /// store does not need.
    fn delete_unneeded(&mut self, number: Option<u64>) {
        if self.garbage.is_deleting {
            return;
        }
        // Number 0 keeps everything: no version was replaced before the first checkpoint.
        let mut number = number.unwrap_or(0);
        let journal = self.identity.header.parameters.journal;
        if journal.has_heartbeats() {
            // A standby may still repeat reads from before the checkpoint in the store.
            number = number.min(self.checkpoints.shipped_before());
        } else if journal.announces() {
            // A restore repeats all reads since the checkpoint in the store.
            number = number.min(self.checkpoints.shipped.number);
        }
        let unneeded = self.garbage.take_unneeded(number, &self.checkpoints.shipped);
        let log_objects = self.garbage.log_objects.take();
        let checkpoints =
            self.garbage.checkpoints.take().map(|newest| (newest, self.checkpoints.sent.names()));
        if unneeded.is_empty() && log_objects.is_none() && checkpoints.is_none() {
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
                if let Some((newest, kept)) = checkpoints {
                    delete_checkpoints(store.untrusted(), (newest, &kept), instants).await?;
                }
                match log_objects {
                    Some(before) => {
                        let has_payload_objects = journal.has_payload_objects();
                        delete_objects(store.untrusted(), (before, has_payload_objects), instants).await
                    }
                    None => Ok(()),
                }
            };
            Event::Deleted(deleting.await)
        });
        self.dispatcher.send(LocalWork::Step, Instant::now(), request);
    }
}

/// Deletes the checkpoints before this one, and the pieces that no checkpoint names any more.
async fn delete_checkpoints<B: Blobs>(
    blobs: &B,
    (newest, kept): ((u32, u64), &BTreeSet<String>),
    instants: Option<Instants>,
) -> Result<(), VaultError> {
    let is_older = |order: Option<(u32, u64)>| order.is_some_and(|order| order < newest);
    for (prefix, order) in [(CHECKPOINTS, parse_blob_name as fn(&str) -> _), (PIECES, parse_piece_name)] {
        next_instant(instants).await;
        for older in blobs.list(prefix).await? {
            if is_older(order(&older.name)) && !kept.contains(&older.name) {
                next_instant(instants).await;
                blobs.remove(&older.name).await?;
            }
        }
    }
    Ok(())
}

/// Deletes the log objects before this one, and then their payloads. End markers stay: the gateway that wrote that journal may still be running,
/// and would continue if its next name were free.
async fn delete_objects<B: Blobs>(
    blobs: &B,
    (before, has_payload_objects): (Position, bool),
    instants: Option<Instants>,
) -> Result<(), VaultError> {
    // A list is a request that others need not see.
    let prefixes = if has_payload_objects { 2 } else { 1 };
    let is_needed = |at: Option<Position>| at.is_none_or(|at| at >= before);
    for (prefix, position) in
        [(PREFIX, Position::of as fn(&str) -> _), (PAYLOAD_PREFIX, Position::of_payloads)]
            .into_iter()
            .take(prefixes)
    {
        next_instant(instants).await;
        let mut names = blobs.list(prefix).await?;
        let stays = |blob: &Blob| prefix == PREFIX && is_end(blob.size.0);
        names.retain(|blob| !is_needed(position(&blob.name)) && !stays(blob));
        for chunk in names.chunks(AT_ONCE) {
            next_instant(instants).await;
            try_join_all(chunk.iter().map(|blob| blobs.remove(&blob.name))).await?;
        }
    }
    Ok(())
}
