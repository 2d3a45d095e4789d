//! A minimal store that tests can tamper with.
#![allow(dead_code, reason = "each test file uses a part of it")]

use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Slot, Version};
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::Salt;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, sealed_layout};
use ameles_seal::slot_format::{Nonces, SlotFormat};
use ameles_seal::versions::{TrustedVersions, VaultId};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Every version of every bucket, and a record of the requests.
pub(crate) struct TestStore {
    layout: Layout,
    format: SlotFormat,
    pub(crate) held: RefCell<BTreeMap<BucketVersion, Vec<u8>>>,
    pub(crate) written: RefCell<Vec<(BucketVersion, Vec<u8>)>>,
    pub(crate) reads: Cell<usize>,
    /// The answer for a version that is too short: truncated, or padded with zeros.
    pub(crate) pads: Cell<bool>,
}

impl TestStore {
    /// Creates a store for slots of the newest format.
    pub(crate) fn new(plain: &Layout) -> Rc<Self> {
        TestStore::of(plain, SlotFormat::Salted)
    }

    pub(crate) fn of(plain: &Layout, format: SlotFormat) -> Rc<Self> {
        Rc::new(TestStore {
            layout: sealed_layout(plain, format),
            format,
            held: RefCell::default(),
            written: RefCell::default(),
            reads: Cell::new(0),
            pads: Cell::new(false),
        })
    }

    /// The sealed bytes of one version, to be changed.
    pub(crate) fn change(&self, at: BucketVersion, change: impl FnOnce(&mut Vec<u8>)) {
        change(self.held.borrow_mut().get_mut(&at).expect("the version is held"));
    }
}

impl Untrusted for TestStore {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.reads.set(self.reads.get() + 1);
        let held = self.held.borrow();
        let mut rest = into;
        for place in places {
            let at = BucketVersion { bucket: place.slot.bucket, version: place.version };
            let slot_bytes = self.layout.slot_bytes(place.slot);
            let into = rest.split_off_mut(..slot_bytes).expect("the buffer fits");
            let bucket = held.get(&at).ok_or(UntrustedError::Missing(at))?;
            let start = place.slot.index as usize * slot_bytes;
            match bucket.get(start..start + slot_bytes) {
                Some(bytes) => into.copy_from_slice(bytes),
                None if self.pads.get() => {
                    into.fill(0);
                    let left = bucket.get(start..).unwrap_or_default();
                    into[..left.len()].copy_from_slice(left);
                }
                None => return Err(UntrustedError::Truncated(at)),
            }
        }
        assert!(rest.is_empty(), "the buffer is exactly as long as the slots");
        Ok(())
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let mut rest = from;
        for &at in buckets {
            let bytes = rest.split_off(..self.layout.bucket_bytes(at.bucket)).expect("the buffer fits");
            self.held.borrow_mut().insert(at, bytes.to_vec());
            self.written.borrow_mut().push((at, bytes.to_vec()));
        }
        assert!(rest.is_empty(), "the buffer is exactly as long as the buckets");
        Ok(())
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        for at in buckets {
            self.held.borrow_mut().remove(at);
        }
        Ok(())
    }
}

/// Two levels with slots of two lengths, and a level whose slots are empty.
pub(crate) fn uneven() -> Layout {
    let extent = |buckets, slots, slot_bytes| Extent { buckets, slots, slot_bytes };
    Layout::new(vec![extent(2, 3, 40), extent(4, 2, 17), extent(1, 2, 0)])
}

pub(crate) fn master(byte: u8) -> MasterKey {
    MasterKey::take(&mut [byte; 32])
}

pub(crate) const VAULT: VaultId = VaultId([4; 16]);

pub(crate) fn fresh(store: &Rc<TestStore>, cipher: Cipher) -> Sealed<Rc<TestStore>> {
    let versions = TrustedVersions::new(VAULT, store.layout.buckets());
    let sealed = open(store, cipher, versions);
    sealed.begin_epoch(Salt([1; 32])).expect("the first epoch");
    sealed
}

pub(crate) fn open(
    store: &Rc<TestStore>,
    cipher: Cipher,
    versions: TrustedVersions,
) -> Sealed<Rc<TestStore>> {
    let nonces = nonces(store.format, 1);
    Sealed::new(Rc::clone(store), &master(7), cipher, nonces, versions, SealThreads::single())
        .expect("the layouts fit")
}

/// Nonces whose fresh randomness is drawn from a seed.
pub(crate) fn nonces(format: SlotFormat, seed: u64) -> Nonces {
    match format {
        SlotFormat::Counted => Nonces::Counted,
        SlotFormat::Salted => Nonces::Salted(Box::new(ChaCha20Rng::seed_from_u64(seed))),
    }
}

/// Every cipher with every format of slots.
pub(crate) fn every_kind() -> impl Iterator<Item = (Cipher, SlotFormat)> {
    let formats = [SlotFormat::Counted, SlotFormat::Salted];
    Cipher::ALL.into_iter().flat_map(move |cipher| formats.map(|format| (cipher, format)))
}

pub(crate) fn slot(bucket: u64, index: u32) -> Slot {
    Slot { bucket: Bucket(bucket), index }
}

pub(crate) fn at(bucket: u64, version: Version) -> BucketVersion {
    BucketVersion { bucket: Bucket(bucket), version }
}

/// Every slot of a layout.
pub(crate) fn all_slots(layout: &Layout) -> Vec<Slot> {
    (0..layout.buckets())
        .flat_map(|bucket| (0..layout.extent(Bucket(bucket)).slots).map(move |index| slot(bucket, index)))
        .collect()
}

/// A store that keeps nothing and cannot be reached.
pub(crate) struct UnreachableStore(pub(crate) Layout);

impl Untrusted for UnreachableStore {
    fn layout(&self) -> &Layout {
        &self.0
    }

    async fn read(&self, _: &[Place], _: &mut [u8]) -> Result<(), UntrustedError> {
        Err(UntrustedError::Unavailable("no route".into()))
    }

    async fn write(&self, _: &[BucketVersion], _: &[u8]) -> Result<(), UntrustedError> {
        Err(UntrustedError::Unavailable("no route".into()))
    }

    async fn delete(&self, _: &[BucketVersion]) -> Result<(), UntrustedError> {
        Err(UntrustedError::Unavailable("no route".into()))
    }
}
