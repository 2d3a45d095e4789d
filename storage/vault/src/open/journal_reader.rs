//! A standby's reader of the journal in the store. It reads on while the standby repeats what came before, so that the
//! time of an object is when it came, and not when the standby got to it.

use crate::any_store::AnyStore;
use crate::error::VaultError;
use crate::lease::HEARTBEAT_EVERY;
use crate::log::entry::Object;
use crate::log::objects::LogObjects;
use crate::trusted::header::VaultHeader;
use crate::trusted::position::Position;
use ameles_seal::key_ring::KeyRing;
use futures::stream::{self, StreamExt, TryStreamExt};
use std::future::ready;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until};

/// The number of objects that are fetched in parallel while more are known to follow.
const FETCH_AHEAD: u64 = 8;
/// The number of events that wait for the standby.
pub(super) const MAX_WAITING: usize = 32;
/// The time between two fetches while no object comes.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// The time after which the lack of an object needs another explanation than a heartbeat that is late.
const LATE_AFTER: Duration = Duration::from_secs(HEARTBEAT_EVERY.as_secs() + POLL_EVERY.as_secs());

/// The news for a standby, in their order.
pub(super) enum JournalEvent {
    /// The next object.
    Object(Object),
    /// The reader has read everything that there is.
    UpToDate,
    /// No object has come for longer than a heartbeat.
    Late,
    /// No object has come for a lease. The last one came at this time.
    Silent(Instant),
}

/// The reader, at the position of the next object.
pub(super) struct JournalReader {
    pub(super) store: AnyStore,
    pub(super) header: VaultHeader,
    pub(super) ring: KeyRing,
    pub(super) at: Position,
}

impl JournalReader {
    /// Reads on until the standby takes no more events, or until an error. The store may be away meanwhile.
    ///
    /// # Errors
    /// Tampering, and the errors of the store.
    pub(super) async fn run(mut self, events: Sender<JournalEvent>) -> Result<(), VaultError> {
        let lease = self.header.parameters.journal.lease();
        let mut last_object = Instant::now();
        // The number of fetches that have found nothing since.
        let (mut looks, mut told) = (0u64, last_object);
        while !events.is_closed() {
            let asked = Instant::now();
            let found = match self.fetch(if looks == 0 { FETCH_AHEAD } else { 1 }).await {
                Err(error @ VaultError::Unavailable(_)) => {
                    tracing::warn!(%error, "the standby cannot reach the store");
                    sleep(POLL_EVERY).await;
                    continue;
                }
                found => found?,
            };
            let mut news = Vec::new();
            if !found.is_empty() {
                (last_object, looks) = (Instant::now(), 0);
                told = last_object;
                news.extend(found.into_iter().map(|object| self.take(object)));
            } else {
                looks += 1;
                if looks == 1 {
                    news.push(JournalEvent::UpToDate);
                }
                if asked >= last_object + lease {
                    news.push(JournalEvent::Silent(last_object));
                } else if asked > told + LATE_AFTER {
                    told = asked;
                    news.push(JournalEvent::Late);
                }
            }
            for event in news {
                // A standby that has ended needs no news.
                let _ = events.send(event).await;
            }
            if looks > 0 {
                // A fetch at the end of the lease tells whether the gateway is silent.
                let (next, end) = (Instant::now() + POLL_EVERY, last_object + lease);
                sleep_until(if asked < end { next.min(end) } else { next }).await;
            }
        }
        Ok(())
    }

    /// Fetches the next objects, up to the first that is missing.
    async fn fetch(&self, count: u64) -> Result<Vec<Object>, VaultError> {
        let objects = LogObjects { blobs: &self.store, header: &self.header, ring: &self.ring };
        let reads = (0..count).map(|nth| objects.read(self.at.after(nth)));
        let fetched = stream::iter(reads).buffered(FETCH_AHEAD as usize);
        let found = fetched.try_take_while(|object| ready(Ok(object.is_some())));
        let mut found: Vec<Object> = found.try_filter_map(|object| ready(Ok(object))).try_collect().await?;
        // Objects behind the end of a journal are void.
        let end = found.iter().position(|object| matches!(object, Object::End(_)));
        found.truncate(end.map_or(found.len(), |end| end + 1));
        Ok(found)
    }

    fn take(&mut self, object: Object) -> JournalEvent {
        self.at = object.position_after(self.at);
        JournalEvent::Object(object)
    }
}
