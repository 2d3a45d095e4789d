//! The store's side: what is checked when a request takes effect, for every sender and however late it comes.

use super::violation::Violation;
use crate::support::forward::forward_blob_reads;
use crate::support::master;
use crate::support::shipped_contents::{self, ShippedContents};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Version};
use ameles_seal::blob::sealed_bytes;
use ameles_store::{BlobError, Blobs, VersionedMemory, forward_inventory};
use ameles_vault::VaultHeader;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// The memory, and the checks before it. Clones share both.
#[derive(Clone)]
pub struct CheckedStore {
    memory: VersionedMemory,
    header: Rc<VaultHeader>,
    violation: Violation,
    history: Rc<RefCell<History>>,
}

#[derive(Default)]
struct History {
    /// The contents that were sealed under each nonce, forever. The version identifies its epoch's key and its counter.
    sealed: HashMap<Version, (Bucket, u64)>,
    /// The buckets that each checkpoint in the store needs, and its pieces.
    checkpoints: BTreeMap<(u32, u64), Needed>,
    /// The pieces in the store.
    pieces: BTreeSet<String>,
    /// The accesses of every checkpoint that has landed. Each checkpoint continues one of them, or the empty vault.
    landed: BTreeSet<u64>,
}

/// The objects that a restore from a checkpoint reads.
struct Needed {
    buckets: BTreeSet<BucketVersion>,
    pieces: Vec<String>,
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl CheckedStore {
    pub fn new(header: VaultHeader, violation: Violation) -> Self {
        let memory = VersionedMemory::new(header.parameters.layout());
        CheckedStore { memory, header: Rc::new(header), violation, history: Rc::default() }
    }

    /// The memory itself.
    pub fn memory(&self) -> &VersionedMemory {
        &self.memory
    }

    /// The buckets that the newest checkpoint in the store needs; empty if there is none.
    pub fn needed(&self) -> BTreeSet<BucketVersion> {
        let history = self.history.borrow();
        history.checkpoints.values().next_back().map(|needed| needed.buckets.clone()).unwrap_or_default()
    }

    /// The epochs and numbers of the checkpoints in the store.
    pub fn checkpoints(&self) -> Vec<(u32, u64)> {
        self.history.borrow().checkpoints.keys().copied().collect()
    }

    /// Returns whether a journal has been begun here.
    pub async fn has_journal(&self) -> bool {
        !self.memory.list("log/").await.expect("memory does not fail").is_empty()
    }

    async fn checkpoint_landed(&self, number: (u32, u64), name: &str) {
        let found = ShippedContents::find(&self.header, name, &self.memory, &master()).await;
        let mut history = self.history.borrow_mut();
        let Some(ShippedContents { needed, pieces, sent, head, .. }) = found else {
            // It came late, after a newer gateway had removed its pieces.
            let newest = history.checkpoints.keys().next_back();
            self.violation.check(newest.is_some_and(|newest| *newest > number), || {
                format!("checkpoint {number:?} is the newest in the store, and a piece of it is not there")
            });
            return;
        };
        history.checkpoints.insert(number, Needed { buckets: needed, pieces });
        let (overhead, bytes) = (sealed_bytes(0) * sent.len(), sent.iter().sum::<usize>());
        let has_size_after = |since: u64| {
            let expected = match head.rows.is_whole {
                // More rows may have changed than there is room for.
                true => self.header.parameters.shipped_size_with_all_rows(since),
                false => self.header.parameters.shipped_size(since),
            };
            bytes as u64 == expected.bytes + overhead as u64 && sent.len() as u64 == expected.pieces
        };
        let bases = history.landed.iter().chain([&0]).filter(|base| **base <= head.accesses);
        let has_size = bases.into_iter().any(|base| has_size_after(head.accesses - base));
        self.violation.check(has_size, || {
            format!("checkpoint {number:?} has {bytes} bytes, which is no size of its accesses")
        });
        history.landed.insert(head.accesses);
        drop(history);
        self.newest_can_be_restored();
    }

    fn newest_can_spare(&self, buckets: &[BucketVersion]) {
        let history = self.history.borrow();
        if let Some((number, needed)) = history.checkpoints.last_key_value() {
            let lost = buckets.iter().find(|gone| needed.buckets.contains(gone));
            self.violation.check(lost.is_none(), || {
                format!(
                    "checkpoint {number:?} is the newest in the store, and {lost:?} that it needs was deleted"
                )
            });
        }
    }

    fn newest_can_be_restored(&self) {
        let history = self.history.borrow();
        if let Some((number, needed)) = history.checkpoints.last_key_value() {
            let piece = needed.pieces.iter().find(|piece| !history.pieces.contains(*piece));
            self.violation.check(piece.is_none(), || {
                format!("checkpoint {number:?} is the newest in the store, and {piece:?} is not there")
            });
            let gone = needed.buckets.iter().find(|needed| self.memory.bucket(**needed).is_none());
            self.violation.check(gone.is_none(), || {
                format!("checkpoint {number:?} is the newest in the store, and {gone:?} that it needs is not there")
            });
        }
    }
}

impl Untrusted for CheckedStore {
    fn layout(&self) -> &Layout {
        self.memory.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.memory.read(places, into).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        for (BucketVersion { bucket, version }, bytes) in split_buckets(self.layout(), buckets, from) {
            let this = (bucket, digest(bytes));
            let first = *self.history.borrow_mut().sealed.entry(version).or_insert(this);
            self.violation.check(first == this, || {
                format!("two texts under one nonce: {version} sealed {} and then {bucket}", first.0)
            });
        }
        self.memory.write(buckets, from).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.newest_can_spare(buckets);
        Untrusted::delete(&self.memory, buckets).await
    }
}

impl Blobs for CheckedStore {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.memory.put(name, bytes).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        let is_new = self.memory.put_if_absent(name, bytes).await?;
        if is_new && name.starts_with("piece/") {
            self.history.borrow_mut().pieces.insert(name.to_owned());
        }
        if let Some(number) = shipped_contents::order(name).filter(|_| is_new) {
            self.checkpoint_landed(number, name).await;
        }
        Ok(is_new)
    }

    forward_blob_reads!(memory);

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        Blobs::remove(&self.memory, name).await?;
        if let Some(number) = shipped_contents::order(name) {
            self.history.borrow_mut().checkpoints.remove(&number);
        }
        self.history.borrow_mut().pieces.remove(name);
        self.newest_can_be_restored();
        Ok(())
    }
}

forward_inventory!([] CheckedStore, memory);
