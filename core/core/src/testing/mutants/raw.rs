//! Mistakes of a scheme whose accesses read a path and take one block of it.

use super::super::trace_store::{TraceStore, TraceStoreError};
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::store::Store;
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::types::{BlockId, Bucket, Slot};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

/// The block that a batch of one requests, as a mutant announces it to its store.
pub type TargetBlock = Rc<Cell<Option<BlockId>>>;

/// An ORAM that announces the target block to its store.
pub struct AnnouncesTarget<O> {
    oram: O,
    target: TargetBlock,
}

impl<O> AnnouncesTarget<O> {
    /// An ORAM over a store that shares `target`.
    pub fn new(oram: O, target: TargetBlock) -> Self {
        AnnouncesTarget { oram, target }
    }
}

/// An ORAM that runs its pending steps only when this many blocks are in its stash, or when it must.
pub struct WaitsUntilFull<O> {
    oram: O,
    stash_blocks: fn(&O) -> usize,
    full: usize,
}

impl<O> WaitsUntilFull<O> {
    /// An ORAM whose stash counts as full with this many blocks.
    pub fn new(oram: O, stash_blocks: fn(&O) -> usize, full: usize) -> Self {
        WaitsUntilFull { oram, stash_blocks, full }
    }
}

wraps!([O: Oram] AnnouncesTarget<O>, O::Error, oram, mutant, batch => {
    mutant.target.set(if let [access] = batch { access.block() } else { None });
    let outcome = mutant.oram.access(batch).await;
    mutant.target.set(None);
    outcome
});

wraps!([O: Oram] WaitsUntilFull<O>, O::Error, oram, mutant, batch => mutant.oram.access(batch).await; pending_steps => {
    let is_full = (mutant.stash_blocks)(&mutant.oram) >= mutant.full;
    if is_full || mutant.oram.must_step() { mutant.oram.pending_steps() } else { 0 }
});

/// A store of headers, and bodies behind them. It reads no bucket below the bucket whose header names the wanted block.
pub struct StopsAtTarget<'a> {
    store: &'a TraceStore,
    headers: u64,
    target: TargetBlock,
}

impl<'a> StopsAtTarget<'a> {
    /// A store whose first `headers` buckets are headers.
    pub fn new(store: &'a TraceStore, headers: u64, target: TargetBlock) -> Self {
        StopsAtTarget { store, headers, target }
    }

    /// The number of slots up to the end of the bucket that holds the block.
    fn end(&self, slots: &[Slot], bytes: &[u8], target: BlockId) -> usize {
        let mut at = 0;
        for (nth, slot) in slots.iter().enumerate() {
            let here = &bytes[at..][..self.store.layout().slot_bytes(*slot)];
            at += here.len();
            let mut named = here.chunks_exact(HEADER_BYTES).filter_map(block_header::read);
            if slot.bucket.0 < self.headers && named.any(|(block, _)| block == target) {
                let body = slots[nth + 1..].iter().take_while(|slot| slot.bucket.0 >= self.headers);
                return nth + 1 + body.count();
            }
        }
        slots.len()
    }
}

impl Store for StopsAtTarget<'_> {
    type Error = TraceStoreError;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), TraceStoreError> {
        let Some(target) = self.target.get() else { return self.store.read(slots, into).await };
        self.store.record(false);
        self.store.read(slots, into).await?;
        self.store.record(true);
        let read = &slots[..self.end(slots, into, target)];
        let bytes = read.iter().map(|slot| self.store.layout().slot_bytes(*slot)).sum();
        self.store.read(read, &mut vec![0; bytes]).await
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), TraceStoreError> {
        self.store.write(buckets, from).await
    }
}

/// A store that exchanges the two halves of each tree. A scheme over it has another order of evictions, and is
/// otherwise the same.
pub struct SwapsHalves<'a> {
    store: &'a TraceStore,
    /// The number of buckets of a tree.
    buckets: u64,
    /// The level of the first bucket.
    top: u32,
}

impl<'a> SwapsHalves<'a> {
    /// A store of trees of this many buckets each, from a level down.
    pub fn new(store: &'a TraceStore, buckets: u64, top: u32) -> Self {
        SwapsHalves { store, buckets, top }
    }

    fn swapped(&self, bucket: Bucket) -> Bucket {
        let (tree, place) = (bucket.0 / self.buckets, bucket.0 % self.buckets);
        // The root is 1, and the children of n are 2 n and 2 n + 1.
        let first = 1 << self.top;
        let node = place + first;
        let half = if node > 1 { 1 << (node.ilog2() - 1) } else { 0 };
        Bucket(tree * self.buckets + (node ^ half) - first)
    }
}

impl Store for SwapsHalves<'_> {
    type Error = TraceStoreError;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), TraceStoreError> {
        let swapped = |slot: &Slot| Slot { bucket: self.swapped(slot.bucket), ..*slot };
        self.store.read(&slots.iter().map(swapped).collect::<Vec<_>>(), into).await
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), TraceStoreError> {
        let swapped = buckets.iter().map(|bucket| self.swapped(*bucket));
        self.store.write(&swapped.collect::<Vec<_>>(), from).await
    }
}
