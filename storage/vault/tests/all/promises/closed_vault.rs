//! A vault that was closed, and ways in which a store can tamper with one of its buckets.

use super::fixture::{VaultFixture, read_all, write_all};
use crate::support::fragile_disk::FragileDisk;
use crate::support::restore_options;
use crate::support::rng::TestRng;
use ameles_core::store::{BucketVersion, Untrusted};
use ameles_store::{Blobs, Snapshot};
use ameles_vault::{Receipt, VaultError, restore};
use std::collections::BTreeMap;

/// A vault that was closed, with an older state of its store.
pub struct ClosedVault {
    pub fixture: VaultFixture,
    pub older: Snapshot,
    pub now: Snapshot,
    pub receipt: Receipt,
    pub live: Vec<BucketVersion>,
    pub bytes: BTreeMap<BucketVersion, Vec<u8>>,
    /// The bytes of each bucket in the older state.
    pub before: BTreeMap<u64, Vec<u8>>,
}

pub const FILL: u8 = 100;

/// A vault with every bucket written twice.
pub async fn closed_vault() -> ClosedVault {
    let fixture = VaultFixture::new().await;
    fixture.open(async |vault| write_all(vault, 50).await).await.unwrap();
    let older = fixture.store.snapshot();
    let before = fixture.store.bucket_versions().into_iter();
    let before = before.map(|of| (of.bucket.0, fixture.store.bucket(of).unwrap())).collect();
    let ((), receipt) = fixture.open(async |vault| write_all(vault, FILL).await).await.unwrap();
    let live = fixture.store.bucket_versions();
    assert_eq!(live.len() as u64, fixture.header.parameters.layout().buckets(), "every bucket was written");
    let bytes = live.iter().map(|of| (*of, fixture.store.bucket(*of).unwrap())).collect();
    ClosedVault { older, now: fixture.store.snapshot(), receipt, live, bytes, before, fixture }
}

/// A way to tamper with one bucket.
#[derive(Clone, Copy, Debug)]
pub enum Tampering {
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

pub const TAMPERINGS: [Tampering; 11] = [
    Tampering::FlipOneBitOfEachSlot,
    Tampering::SwapTwoSlots,
    Tampering::SwapWithAnotherBucket,
    Tampering::SwapOneSlotWithAnotherBucket,
    Tampering::ReplayTheWholeBucket,
    Tampering::ReplayOneSlot,
    Tampering::TruncateToNothing,
    Tampering::TruncateByOneByte,
    Tampering::Remove,
    Tampering::DuplicateASlot,
    Tampering::DuplicateAnotherBucket,
];

impl ClosedVault {
    /// The error of the next opening.
    pub async fn opening_error(&self) -> VaultError {
        self.fixture.open_and_crash(async |_| {}).await.unwrap_err()
    }

    /// Opens the vault, and asserts that every block holds what was written.
    pub async fn assert_whole(&self) {
        self.fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
    }

    pub fn slot_bytes(&self, of: BucketVersion) -> usize {
        self.fixture.header.parameters.layout().extent(of.bucket).slot_bytes as usize
    }

    /// The first bucket of every level.
    pub fn first_of_each_level(&self) -> Vec<BucketVersion> {
        let layout = self.fixture.header.parameters.layout();
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
        let layout = self.fixture.header.parameters.layout();
        let same = |other: &&BucketVersion| {
            other.bucket != of.bucket && layout.bucket_bytes(other.bucket) == layout.bucket_bytes(of.bucket)
        };
        *self.live.iter().find(same).expect("there are two buckets of each shape")
    }

    /// Tampers with the bucket; returns the first slot that is wrong.
    pub fn tamper(&self, of: BucketVersion, kind: Tampering, rng: &mut TestRng) -> u32 {
        let store = &self.fixture.store;
        let bytes = store.bucket(of).unwrap();
        let len = self.slot_bytes(of);
        let slots = bytes.len() / len;
        let slot = |nth: usize| nth * len..(nth + 1) * len;
        let one = rng.below(slots as u64 - 1) as usize;
        let other = one + 1 + rng.below((slots - one - 1) as u64) as usize;
        let sibling = self.sibling(of);
        let mut changed = bytes.clone();
        match kind {
            Tampering::FlipOneBitOfEachSlot => {
                for nth in 0..slots {
                    store.flip(of, nth * len + rng.below(len as u64) as usize, 1 << rng.below(8));
                }
                return 0;
            }
            Tampering::SwapTwoSlots => {
                changed[slot(one)].copy_from_slice(&bytes[slot(other)]);
                changed[slot(other)].copy_from_slice(&bytes[slot(one)]);
                store.replace(of, changed);
                return one as u32;
            }
            Tampering::SwapWithAnotherBucket => store.swap(of, sibling),
            Tampering::SwapOneSlotWithAnotherBucket => {
                let theirs = store.bucket(sibling).unwrap();
                changed[slot(one)].copy_from_slice(&theirs[slot(one)]);
                store.replace(of, changed);
                return one as u32;
            }
            Tampering::ReplayTheWholeBucket => store.replace(of, self.before[&of.bucket.0].clone()),
            Tampering::ReplayOneSlot => {
                changed[slot(one)].copy_from_slice(&self.before[&of.bucket.0][slot(one)]);
                store.replace(of, changed);
                return one as u32;
            }
            Tampering::TruncateToNothing => store.truncate(of, 0),
            Tampering::TruncateByOneByte => store.truncate(of, bytes.len() - 1),
            Tampering::Remove => store.remove(of),
            Tampering::DuplicateASlot => {
                changed[slot(other)].copy_from_slice(&bytes[slot(one)]);
                store.replace(of, changed);
                return other as u32;
            }
            Tampering::DuplicateAnotherBucket => store.replace(of, store.bucket(sibling).unwrap()),
        }
        0
    }

    /// Restores the bytes that [`tamper`](Self::tamper) may have changed.
    pub async fn undo(&self, of: BucketVersion) {
        for of in [of, self.sibling(of)] {
            Untrusted::delete(&self.fixture.store, &[of]).await.unwrap();
            Untrusted::write(&self.fixture.store, &[of], &self.bytes[&of]).await.unwrap();
        }
    }

    /// An independent copy, with its own disk and store.
    pub fn copy(&self) -> ClosedVault {
        ClosedVault {
            fixture: self.fixture.copy(&self.now),
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
        let options = restore_options(&self.fixture.header, expect);
        restore(self.fixture.setup(&disk), options).await
    }

    pub async fn header_blob(&self) -> Vec<u8> {
        self.fixture.copy(&self.now).store.get("vault", usize::MAX).await.unwrap().unwrap()
    }
}
