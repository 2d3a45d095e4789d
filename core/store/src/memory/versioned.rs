//! The store for tests: it keeps all versions of every bucket, and can be tampered with.

use super::blob_map::BlobMap;
use crate::blobs::{Blob, BlobError, Blobs, Inventory};
use crate::requests::version_of;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Bytes, Version};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Untrusted memory that keeps every version until it is deleted, and can be tampered with.
///
/// A clone is another handle on the same memory, so a test can keep one, let a vault crash with the other, and reopen.
///
/// The tampering methods panic if the contents that they should change do not exist: a test that tampers with nothing
/// proves nothing.
#[derive(Clone, Debug)]
pub struct VersionedMemory {
    layout: Arc<Layout>,
    state: Arc<Mutex<Snapshot>>,
}

/// A copy of everything that a [`VersionedMemory`] held.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    buckets: BTreeMap<BucketVersion, Vec<u8>>,
    blobs: BlobMap,
}

impl VersionedMemory {
    /// Memory of this shape, with nothing written. `layout` holds sealed sizes.
    pub fn new(layout: Layout) -> Self {
        VersionedMemory { layout: Arc::new(layout), state: Arc::default() }
    }

    /// This memory under another layout: a vault learns its layout from a blob that is there before.
    pub fn with_layout(&self, layout: Layout) -> Self {
        VersionedMemory { layout: Arc::new(layout), state: self.state.clone() }
    }

    fn state(&self) -> MutexGuard<'_, Snapshot> {
        self.state.lock().expect("no holder of the memory panicked")
    }

    /// A copy of everything.
    pub fn snapshot(&self) -> Snapshot {
        self.state().clone()
    }

    /// Rolls the whole store back (or forward) to a snapshot.
    pub fn restore(&self, snapshot: &Snapshot) {
        *self.state() = snapshot.clone();
    }

    /// All bucket versions, sorted.
    pub fn bucket_versions(&self) -> Vec<BucketVersion> {
        self.state().buckets.keys().copied().collect()
    }

    /// The versions of one bucket, oldest first.
    pub fn versions(&self, bucket: Bucket) -> Vec<Version> {
        let first = BucketVersion { bucket, version: Version::NEVER };
        self.state()
            .buckets
            .range(first..)
            .take_while(|(held, _)| held.bucket == bucket)
            .map(|(held, _)| held.version)
            .collect()
    }

    /// The sealed bytes of a bucket version, if the version exists.
    pub fn bucket(&self, of: BucketVersion) -> Option<Vec<u8>> {
        self.state().buckets.get(&of).cloned()
    }

    fn tamper(&self, of: BucketVersion, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        let bytes = state
            .buckets
            .get_mut(&of)
            .unwrap_or_else(|| panic!("{} {} is not there to tamper with", of.bucket, of.version));
        change(bytes);
    }

    /// Flips all bits of `mask` in the byte at `at`.
    ///
    /// # Panics
    /// If there is no such byte, or if `mask` is 0.
    pub fn flip(&self, of: BucketVersion, at: usize, mask: u8) {
        assert_ne!(mask, 0, "a mask of 0 changes nothing");
        self.tamper(of, |bytes| bytes[at] ^= mask);
    }

    /// Exchanges the bytes of two bucket versions.
    ///
    /// # Panics
    /// If either version does not exist.
    pub fn swap(&self, one: BucketVersion, other: BucketVersion) {
        let first = self.bucket(one).expect("the first bucket is there to swap");
        let second = self.bucket(other).expect("the second bucket is there to swap");
        self.replace(one, second);
        self.replace(other, first);
    }

    /// Puts other bytes in the place of a bucket version: those of an older version make a replay.
    ///
    /// # Panics
    /// If it does not exist.
    pub fn replace(&self, of: BucketVersion, bytes: Vec<u8>) {
        self.tamper(of, |held| *held = bytes);
    }

    /// Shows the bytes of version `old` of a bucket as its version `new`.
    ///
    /// # Panics
    /// If either version does not exist.
    pub fn replay(&self, bucket: Bucket, old: Version, new: Version) {
        let bytes =
            self.bucket(BucketVersion { bucket, version: old }).expect("the old version is there to replay");
        self.replace(BucketVersion { bucket, version: new }, bytes);
    }

    /// Cuts a bucket version down to `len` bytes.
    ///
    /// # Panics
    /// If the version does not exist, or is not longer than `len`.
    pub fn truncate(&self, of: BucketVersion, len: usize) {
        self.tamper(of, |bytes| {
            assert!(len < bytes.len(), "cutting {} bytes to {len} changes nothing", bytes.len());
            bytes.truncate(len);
        });
    }

    /// Removes a bucket version.
    ///
    /// # Panics
    /// If it does not exist.
    pub fn remove(&self, of: BucketVersion) {
        self.state()
            .buckets
            .remove(&of)
            .unwrap_or_else(|| panic!("{} {} is not there to remove", of.bucket, of.version));
    }

    /// Changes a blob's bytes.
    ///
    /// # Panics
    /// If it does not exist.
    pub fn tamper_blob(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        let bytes = state
            .blobs
            .bytes_mut(name)
            .unwrap_or_else(|| panic!("blob {name:?} is not there to tamper with"));
        change(bytes);
    }
}

impl Untrusted for VersionedMemory {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        let state = self.state();
        let mut rest = into;
        for place in places {
            let of = version_of(place);
            let bytes = state.buckets.get(&of).ok_or(UntrustedError::Missing(of))?;
            let len = self.layout.slot_bytes(place.slot);
            let from = place.slot.index as usize * len;
            let slot = bytes.get(from..from + len).ok_or(UntrustedError::Truncated(of))?;
            let (part, after) = rest.split_at_mut(len);
            part.copy_from_slice(slot);
            rest = after;
        }
        assert!(rest.is_empty(), "the buffer must be exactly the wanted slots' lengths");
        Ok(())
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let mut state = self.state();
        let mut taken = None;
        for (written, bytes) in split_buckets(&self.layout, buckets, from) {
            let held = state.buckets.entry(written).or_insert_with(|| bytes.to_vec());
            taken = taken.or((held != bytes).then_some(written));
        }
        taken.map_or(Ok(()), |taken| Err(UntrustedError::Taken(taken)))
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        let mut state = self.state();
        for deleted in buckets {
            state.buckets.remove(deleted);
        }
        Ok(())
    }
}

impl Blobs for VersionedMemory {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.state().blobs.put(name, bytes)
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.state().blobs.put_if_absent(name, bytes)
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.state().blobs.get(name, max)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        Ok(self.state().blobs.list(prefix))
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.state().blobs.remove(name)
    }
}

impl Inventory for VersionedMemory {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        for (held, bytes) in &self.state().buckets {
            found(*held, Bytes(bytes.len() as u64));
        }
        Ok(0)
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        Ok(0)
    }
}
