//! The heartbeats of an opening. The session makes them later.

use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::lease::Lease;
use crate::log::NEXT_OBJECT_NOTE;
use crate::log::objects::LogObjects;
use crate::session::{Identity, Log};
use crate::trusted::disk::TrustedDisk;
use ameles_store::Blobs;
use futures::future::{Either, select};
use std::pin::pin;
use tokio::time::sleep_until;

/// The parts of an opening that make its heartbeats.
pub(super) struct Heartbeats<'a, B> {
    pub(super) objects: &'a LogObjects<'a, B>,
    pub(super) identity: &'a Identity,
    disk: &'a TrustedDisk,
    entropy: &'a mut Entropy,
    lease: &'a Lease,
    next_record: u64,
}

impl<'a, B: Blobs> Heartbeats<'a, B> {
    /// The heartbeats of an opening with this lease. `next_record` is the number of the next record of its journal.
    pub(super) fn new(
        objects: &'a LogObjects<'a, B>,
        (identity, disk, entropy): (&'a Identity, &'a TrustedDisk, &'a mut Entropy),
        (lease, next_record): (&'a Lease, u64),
    ) -> Self {
        Heartbeats { objects, identity, disk, entropy, lease, next_record }
    }

    /// Does the work of an opening. Meanwhile it creates a log object whenever one is due, so that no standby takes the
    /// vault over.
    ///
    /// # Errors
    /// The errors of the work, [`VaultError::Displaced`], and the errors of disk and store.
    pub(super) async fn beside<T>(
        &mut self,
        log: &mut Log,
        work: impl Future<Output = Result<T, VaultError>>,
    ) -> Result<T, VaultError> {
        let mut work = pin!(work);
        loop {
            let Some(due) = log.next_heartbeat() else { return work.await };
            if let Either::Left((done, _)) = select(work.as_mut(), pin!(sleep_until(due))).await {
                return done;
            }
            match select(work.as_mut(), pin!(self.beat(log))).await {
                Either::Left((done, beating)) => {
                    beating.await?;
                    return done;
                }
                Either::Right((beaten, _)) => beaten?,
            }
        }
    }

    /// Creates an object without records.
    async fn beat(&mut self, log: &mut Log) -> Result<(), VaultError> {
        // An opening does nothing but ask the store.
        log.on_store_answered();
        let (at, sealed) = log.build_heartbeat(self.next_record, self.identity, self.entropy)?;
        self.disk.set_meta(NEXT_OBJECT_NOTE, &log.note().encode())?;
        let since = self.lease.now();
        self.objects.create(at, &sealed).await?;
        if let Some(since) = log.on_logged(at, since).since {
            self.lease.renew(since);
        }
        Ok(())
    }
}
