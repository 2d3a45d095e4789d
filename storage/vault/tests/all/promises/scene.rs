//! A vault that was closed, and what a store can do to one of its buckets.

use super::desk::{Desk, write_all};
use crate::support::chance::Chance;
use crate::support::fragile_disk::FragileDisk;
use ameles_core::store::{BucketVersion, Untrusted};
use ameles_store::{Blobs, Snapshot, VersionedMemory};
use ameles_vault::{Receipt, Restore, VaultError, restore};
use std::collections::BTreeMap;

/// A vault that was closed, with an older state of its store.
pub struct Scene {
    pub desk: Desk,
    pub older: Snapshot,
    pub now: Snapshot,
    pub receipt: Receipt,
    pub live: Vec<BucketVersion>,
    pub bytes: BTreeMap<BucketVersion, Vec<u8>>,
    /// The bytes that each bucket had in the older state.
    pub before: BTreeMap<u64, Vec<u8>>,
}

pub const FILL: u8 = 100;

/// A vault of which every bucket was written twice.
pub async fn scene() -> Scene {
    let desk = Desk::new().await;
    desk.open(async |vault| write_all(vault, 50).await).await.unwrap();
    let older = desk.store.snapshot();
    let before = desk.store.bucket_versions().into_iter();
    let before = before.map(|of| (of.bucket.0, desk.store.bucket(of).unwrap())).collect();
    let ((), receipt) = desk.open(async |vault| write_all(vault, FILL).await).await.unwrap();
    let live = desk.store.bucket_versions();
    assert_eq!(live.len() as u64, desk.header.parameters.layout().buckets(), "every bucket was written");
    let bytes = live.iter().map(|of| (*of, desk.store.bucket(*of).unwrap())).collect();
    Scene { older, now: desk.store.snapshot(), receipt, live, bytes, before, desk }
}

/// Something that a store can do to one bucket.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    FlipOneBitOfEachSlot,
    SwapTwoSlots,
    SwapWithAnotherBucket,
    SwapOneSlotWithAnotherBucket,
    ReplayTheWholeBucket,
    ReplayOneSlot,
    TruncateToNothing,
    TruncateByOneByte,
    Remove,
    DuplicateASlot,
    DuplicateAnotherBucket,
}

pub const KINDS: [Kind; 11] = [
    Kind::FlipOneBitOfEachSlot,
    Kind::SwapTwoSlots,
    Kind::SwapWithAnotherBucket,
    Kind::SwapOneSlotWithAnotherBucket,
    Kind::ReplayTheWholeBucket,
    Kind::ReplayOneSlot,
    Kind::TruncateToNothing,
    Kind::TruncateByOneByte,
    Kind::Remove,
    Kind::DuplicateASlot,
    Kind::DuplicateAnotherBucket,
];

impl Scene {
    pub fn slot_bytes(&self, of: BucketVersion) -> usize {
        self.desk.header.parameters.layout().extent(of.bucket).slot_bytes as usize
    }

    /// The first bucket of every level.
    pub fn first_of_each_level(&self) -> Vec<BucketVersion> {
        let layout = self.desk.header.parameters.layout();
        let mut first = 0;
        let buckets = layout.extents().iter().map(|extent| {
            let bucket = first;
            first += extent.buckets;
            *self.live.iter().find(|of| of.bucket.0 == bucket).expect("every bucket was written")
        });
        buckets.collect()
    }

    /// Another bucket of the same shape.
    pub fn sibling(&self, of: BucketVersion) -> BucketVersion {
        let layout = self.desk.header.parameters.layout();
        let same = |other: &&BucketVersion| {
            other.bucket != of.bucket && layout.bucket_bytes(other.bucket) == layout.bucket_bytes(of.bucket)
        };
        *self.live.iter().find(same).expect("there are two buckets of each shape")
    }

    /// Tampers with the bucket, and tells the first slot that is wrong.
    pub fn tamper(&self, of: BucketVersion, kind: Kind, chance: &mut Chance) -> u32 {
        let store = &self.desk.store;
        let bytes = store.bucket(of).unwrap();
        let len = self.slot_bytes(of);
        let slots = bytes.len() / len;
        let slot = |nth: usize| nth * len..(nth + 1) * len;
        let one = chance.below(slots as u64 - 1) as usize;
        let other = one + 1 + chance.below((slots - one - 1) as u64) as usize;
        let sibling = self.sibling(of);
        let mut changed = bytes.clone();
        match kind {
            Kind::FlipOneBitOfEachSlot => {
                for nth in 0..slots {
                    store.flip(of, nth * len + chance.below(len as u64) as usize, 1 << chance.below(8));
                }
                return 0;
            }
            Kind::SwapTwoSlots => {
                changed[slot(one)].copy_from_slice(&bytes[slot(other)]);
                changed[slot(other)].copy_from_slice(&bytes[slot(one)]);
                store.replace(of, changed);
                return one as u32;
            }
            Kind::SwapWithAnotherBucket => store.swap(of, sibling),
            Kind::SwapOneSlotWithAnotherBucket => {
                let theirs = store.bucket(sibling).unwrap();
                changed[slot(one)].copy_from_slice(&theirs[slot(one)]);
                store.replace(of, changed);
                return one as u32;
            }
            Kind::ReplayTheWholeBucket => store.replace(of, self.before[&of.bucket.0].clone()),
            Kind::ReplayOneSlot => {
                changed[slot(one)].copy_from_slice(&self.before[&of.bucket.0][slot(one)]);
                store.replace(of, changed);
                return one as u32;
            }
            Kind::TruncateToNothing => store.truncate(of, 0),
            Kind::TruncateByOneByte => store.truncate(of, bytes.len() - 1),
            Kind::Remove => store.remove(of),
            Kind::DuplicateASlot => {
                changed[slot(other)].copy_from_slice(&bytes[slot(one)]);
                store.replace(of, changed);
                return other as u32;
            }
            Kind::DuplicateAnotherBucket => store.replace(of, store.bucket(sibling).unwrap()),
        }
        0
    }

    /// Puts back the bytes that [`tamper`](Self::tamper) may have changed.
    pub async fn put_right(&self, of: BucketVersion) {
        for of in [of, self.sibling(of)] {
            Untrusted::delete(&self.desk.store, &[of]).await.unwrap();
            Untrusted::write(&self.desk.store, &[of], &self.bytes[&of]).await.unwrap();
        }
    }

    /// The same vault once more, with a disk and a store of its own.
    pub fn copy(&self) -> Scene {
        Scene {
            desk: self.desk.copy(&self.now),
            older: self.older.clone(),
            now: self.now.clone(),
            receipt: self.receipt,
            live: self.live.clone(),
            bytes: self.bytes.clone(),
            before: self.before.clone(),
        }
    }

    /// Restores the vault onto another disk.
    pub async fn restore(&self, expect: Option<Receipt>) -> Result<Receipt, VaultError> {
        let disk = FragileDisk::default().mount().unwrap();
        let copy = VersionedMemory::new(self.desk.header.parameters.layout());
        let options = Restore {
            copy,
            scratch: crate::support::scratch(),
            expect,
            takeover: true,
            progress: Box::new(|_, _, _| {}),
        };
        restore(self.desk.setup(&disk), options).await
    }

    pub async fn header_blob(&self) -> Vec<u8> {
        self.desk.copy(&self.now).store.get("vault", usize::MAX).await.unwrap().unwrap()
    }
}
