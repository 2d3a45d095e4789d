//! A store with limited room.

use crate::support::forward::forward_blob_reads;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_store::{BlobError, Blobs, VersionedMemory, forward_inventory};
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::time::Duration;

/// A store with limited room. Clones share it.
#[derive(Clone)]
pub(super) struct LimitedStore {
    memory: VersionedMemory,
    pub(super) room: Rc<StoreLimits>,
}

/// The limits and faults of a store.
#[derive(Default)]
pub(super) struct StoreLimits {
    /// The buckets that still fit; `None` for no limit.
    pub(super) left: Cell<Option<usize>>,
    /// A blob whose name starts so finds the store full, once.
    pub(super) ends_at: RefCell<Option<&'static str>>,
    /// Deletions are accepted, but never arrive.
    pub(super) loses_deletions: Cell<bool>,
    /// The time that a deletion takes, in tokio's time.
    pub(super) deletion_takes: Cell<Duration>,
    /// A blob whose name starts with this is stored, but the request is never answered.
    pub(super) answers_nothing_to: Cell<Option<&'static str>>,
    /// Something else takes the room that deletions free.
    pub(super) stays_full: Cell<bool>,
    /// The events so far, in order.
    pub(super) events: RefCell<Vec<StoreEvent>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StoreEvent {
    /// A write of this object found no room.
    Refused(String),
    /// The vault deleted this many buckets.
    Deleted(usize),
}

impl StoreLimits {
    fn full(&self, what: &str) -> UntrustedError {
        self.events.borrow_mut().push(StoreEvent::Refused(what.into()));
        UntrustedError::Refused(Box::new(io::Error::from(ErrorKind::StorageFull)))
    }

    /// Returns the events since the last call.
    pub(super) fn take_events(&self) -> Vec<StoreEvent> {
        self.events.take()
    }
}

impl LimitedStore {
    pub(super) fn new(layout: Layout) -> Self {
        LimitedStore { memory: VersionedMemory::new(layout), room: Rc::default() }
    }

    /// A copy of the store as it is now.
    pub(super) fn copy(&self) -> VersionedMemory {
        let copy = VersionedMemory::new(Untrusted::layout(self).clone());
        copy.restore(&self.memory.snapshot());
        copy
    }

    fn holds(&self, of: &BucketVersion) -> bool {
        self.memory.bucket(*of).is_some()
    }

    fn take_blob(&self, name: &str) -> Result<(), BlobError> {
        let mut ends_at = self.room.ends_at.borrow_mut();
        if ends_at.is_some_and(|end| name.starts_with(end)) {
            *ends_at = None;
            self.room.left.set(Some(0));
        }
        if self.room.left.get() == Some(0) { Err(BlobError::Store(self.room.full(name))) } else { Ok(()) }
    }
}

impl Untrusted for LimitedStore {
    fn layout(&self) -> &Layout {
        Untrusted::layout(&self.memory)
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.memory.read(places, into).await
    }

    /// Stores the buckets that fit, one after the other.
    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        for (of, bytes) in split_buckets(Untrusted::layout(self), buckets, from) {
            if !self.holds(&of) {
                let left = self.room.left.get();
                if left == Some(0) {
                    return Err(self.room.full(&format!("{of:?}")));
                }
                self.room.left.set(left.map(|left| left - 1));
            }
            self.memory.write(&[of], bytes).await?;
        }
        Ok(())
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        if self.room.loses_deletions.get() {
            return std::future::pending().await;
        }
        tokio::time::sleep(self.room.deletion_takes.get()).await;
        let held = buckets.iter().filter(|of| self.holds(of)).count();
        self.room.events.borrow_mut().push(StoreEvent::Deleted(held));
        let freed = if self.room.stays_full.get() { 0 } else { held };
        self.room.left.set(self.room.left.get().map(|left| left + freed));
        self.memory.delete(buckets).await
    }
}

impl Blobs for LimitedStore {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.take_blob(name)?;
        self.memory.put(name, bytes).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.take_blob(name)?;
        let is_new = self.memory.put_if_absent(name, bytes).await?;
        if self.room.answers_nothing_to.get().is_some_and(|prefix| name.starts_with(prefix)) {
            return std::future::pending().await;
        }
        Ok(is_new)
    }

    forward_blob_reads!(memory);

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        Blobs::remove(&self.memory, name).await
    }
}

forward_inventory!([] LimitedStore, memory);
