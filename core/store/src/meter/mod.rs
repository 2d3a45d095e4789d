//! A counter of all traffic: requests by kind, bytes each way, bytes stored.

mod prices;

pub use prices::{Bill, PriceError, PriceTable, Prices};

use crate::blobs::{Blob, BlobError, Blobs, Inventory};
use crate::requests::range_requests;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The number of names on one page of a list, as in S3.
const PAGE: u64 = 1000;

/// The counts of a meter. The provider knows all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The number of range requests for slots.
    pub slot_reads: u64,
    /// The number of bucket versions written, one request each.
    pub bucket_writes: u64,
    /// The number of bucket versions removed. A provider may take many in one request; each is counted.
    pub bucket_deletes: u64,
    /// The number of blobs read.
    pub blob_reads: u64,
    /// The number of blobs written, or tried to be created.
    pub blob_writes: u64,
    /// The number of blobs removed.
    pub blob_deletes: u64,
    /// The number of list requests, one for each page of 1000 names.
    pub lists: u64,
    /// The number of bytes of payload sent up, also by requests that failed. Names and headers are not counted.
    pub bytes_up: u64,
    /// The number of bytes of payload that came down. Names and headers are not counted.
    pub bytes_down: u64,
    /// The number of bytes stored now, as far as they were written or listed through here.
    pub stored_bytes: u64,
    /// The number of objects stored now, as far as they were written or listed through here.
    pub stored_objects: u64,
    /// The maximum number of bytes that were stored at a time.
    pub max_stored_bytes: u64,
}

impl Usage {
    /// Adds these counts to earlier ones. Stored bytes and objects are as these counts say.
    pub fn added_to(&self, earlier: &Usage) -> Usage {
        let (mut sum, mut earlier) = (*self, *earlier);
        sum.traffic().into_iter().zip(earlier.traffic()).for_each(|(sum, earlier)| *sum += *earlier);
        sum.max_stored_bytes = sum.max_stored_bytes.max(earlier.max_stored_bytes);
        sum
    }

    /// All requests that read: ranges of slots and blobs.
    pub fn gets(&self) -> u64 {
        self.slot_reads + self.blob_reads
    }

    /// All requests that write.
    pub fn puts(&self) -> u64 {
        self.bucket_writes + self.blob_writes
    }

    /// All removals.
    pub fn deletes(&self) -> u64 {
        self.bucket_deletes + self.blob_deletes
    }

    /// All requests.
    pub fn requests(&self) -> u64 {
        self.gets() + self.puts() + self.deletes() + self.lists
    }

    /// Returns the traffic since an earlier reading of the same meter. Stored bytes and objects stay as they are now.
    pub fn since(&self, earlier: &Usage) -> Usage {
        let (mut since, mut earlier) = (*self, *earlier);
        since.traffic().into_iter().zip(earlier.traffic()).for_each(|(since, earlier)| *since -= *earlier);
        since
    }

    /// The counts that grow with every request.
    fn traffic(&mut self) -> [&mut u64; 9] {
        [
            &mut self.slot_reads,
            &mut self.bucket_writes,
            &mut self.bucket_deletes,
            &mut self.blob_reads,
            &mut self.blob_writes,
            &mut self.blob_deletes,
            &mut self.lists,
            &mut self.bytes_up,
            &mut self.bytes_down,
        ]
    }
}

#[derive(Debug, Default)]
struct Counted {
    usage: Usage,
    buckets: HashMap<BucketVersion, u64>,
    blobs: HashMap<String, u64>,
}

impl Counted {
    fn add(&mut self, before: Option<u64>, bytes: u64) {
        let usage = &mut self.usage;
        usage.stored_objects += u64::from(before.is_none());
        usage.stored_bytes = usage.stored_bytes - before.unwrap_or(0) + bytes;
        usage.max_stored_bytes = usage.max_stored_bytes.max(usage.stored_bytes);
    }

    fn add_bucket(&mut self, version: BucketVersion, bytes: u64) {
        let before = self.buckets.insert(version, bytes);
        self.add(before, bytes);
    }

    fn add_blob(&mut self, name: &str, bytes: u64) {
        let before = self.blobs.insert(name.to_owned(), bytes);
        self.add(before, bytes);
    }

    fn remove(&mut self, before: Option<u64>) {
        self.usage.stored_objects -= u64::from(before.is_some());
        self.usage.stored_bytes -= before.unwrap_or(0);
    }
}

/// A handle that reads a meter.
#[derive(Clone, Debug, Default)]
pub struct MeterReader {
    counted: Arc<Mutex<Counted>>,
}

impl MeterReader {
    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().expect("no holder of the meter panicked")
    }

    /// The counts so far.
    pub fn usage(&self) -> Usage {
        self.lock().usage
    }
}

/// A store that counts the traffic to the store below.
///
/// It holds the size of each stored object, which takes about 50 bytes for each.
#[derive(Debug)]
pub struct Meter<S> {
    inner: S,
    reader: MeterReader,
}

impl<S> Meter<S> {
    /// Counts the traffic to `inner`, from zero.
    pub fn new(inner: S) -> Self {
        Meter { inner, reader: MeterReader::default() }
    }

    /// A handle that reads it.
    pub fn reader(&self) -> MeterReader {
        self.reader.clone()
    }

    /// The store below.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn count(&self, change: impl FnOnce(&mut Usage)) {
        change(&mut self.reader.lock().usage);
    }
}

impl<S: Blobs + Inventory> Meter<S> {
    /// Counts the objects that exist already. The lists that this takes are counted too.
    ///
    /// # Errors
    /// The errors of the lists.
    pub async fn count_existing(&self) -> Result<(), BlobError> {
        self.list("").await?;
        self.list_bucket_versions(&mut |_, _| {}).await?;
        Ok(())
    }
}

impl<S: Untrusted> Untrusted for Meter<S> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.count(|usage| usage.slot_reads += range_requests(places).len() as u64);
        let len = into.len() as u64;
        self.inner.read(places, into).await?;
        self.count(|usage| usage.bytes_down += len);
        Ok(())
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        self.count(|usage| {
            usage.bucket_writes += buckets.len() as u64;
            usage.bytes_up += from.len() as u64;
        });
        self.inner.write(buckets, from).await?;
        let mut counted = self.reader.lock();
        for written in buckets {
            counted.add_bucket(*written, self.layout().bucket_bytes(written.bucket) as u64);
        }
        Ok(())
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.count(|usage| usage.bucket_deletes += buckets.len() as u64);
        self.inner.delete(buckets).await?;
        let mut counted = self.reader.lock();
        for deleted in buckets {
            let before = counted.buckets.remove(deleted);
            counted.remove(before);
        }
        Ok(())
    }
}

impl<S: Blobs> Blobs for Meter<S> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.count(|usage| {
            usage.blob_writes += 1;
            usage.bytes_up += bytes.len() as u64;
        });
        self.inner.put(name, bytes).await?;
        self.reader.lock().add_blob(name, bytes.len() as u64);
        Ok(())
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.count(|usage| {
            usage.blob_writes += 1;
            usage.bytes_up += bytes.len() as u64;
        });
        let created = self.inner.put_if_absent(name, bytes).await?;
        if created {
            self.reader.lock().add_blob(name, bytes.len() as u64);
        }
        Ok(created)
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.count(|usage| usage.blob_reads += 1);
        let found = self.inner.get(name, max).await?;
        let len = found.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.count(|usage| usage.bytes_down += len);
        Ok(found)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        let listed = self.inner.list(prefix).await;
        let names = listed.as_ref().map_or(0, |blobs| blobs.len() as u64);
        self.count(|usage| usage.lists += names.div_ceil(PAGE).max(1));
        let blobs = listed?;
        let mut counted = self.reader.lock();
        for blob in &blobs {
            counted.add_blob(&blob.name, blob.size.0);
        }
        Ok(blobs)
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.count(|usage| usage.blob_deletes += 1);
        self.inner.remove(name).await?;
        let mut counted = self.reader.lock();
        let before = counted.blobs.remove(name);
        counted.remove(before);
        Ok(())
    }
}

impl<S: Inventory> Inventory for Meter<S> {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        let mut names = 0;
        let unknown = self
            .inner
            .list_bucket_versions(&mut |version, size| {
                names += 1;
                self.reader.lock().add_bucket(version, size.0);
                found(version, size);
            })
            .await;
        names += unknown.as_ref().map_or(0, |unknown| *unknown);
        self.count(|usage| usage.lists += names.div_ceil(PAGE).max(1));
        unknown
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.inner.sweep_unfinished().await
    }
}
