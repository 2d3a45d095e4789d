//! Fuzz targets of bytes that are read from the untrusted side: no bytes open that were not sealed, and no bytes panic.

use crate::common::nonces;
use ameles_core::store::{BucketVersion, Place, Store, Untrusted, UntrustedError};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Slot};
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::error::SealError;
use ameles_seal::key_text;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::record::RecordOpener;
use ameles_seal::sealed::{Sealed, sealed_layout};
use ameles_seal::slot_format::SlotFormat;
use ameles_seal::versions::{TrustedVersions, VaultId};
use std::cell::RefCell;

fn master() -> MasterKey {
    MasterKey::take(&mut [5; 32])
}

/// Untrusted memory that answers with the bytes it was given, repeated to the length asked for.
struct LyingStore {
    layout: Layout,
    lie: RefCell<Vec<u8>>,
}

impl Untrusted for LyingStore {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    async fn read(&self, _: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        for (byte, lie) in into.iter_mut().zip(self.lie.borrow().iter().cycle()) {
            *byte = *lie;
        }
        Ok(())
    }

    async fn write(&self, _: &[BucketVersion], _: &[u8]) -> Result<(), UntrustedError> {
        Ok(())
    }

    async fn delete(&self, _: &[BucketVersion]) -> Result<(), UntrustedError> {
        Ok(())
    }
}

#[test]
fn fuzz_slot() {
    let plain = Layout::new(vec![Extent { buckets: 1, slots: 2, slot_bytes: 48 }]);
    let liar = LyingStore { layout: sealed_layout(&plain, SlotFormat::Salted), lie: RefCell::default() };
    let (versions, nonces) = (TrustedVersions::new(VaultId([1; 16]), 1), nonces(SlotFormat::Salted, 1));
    let sealed =
        Sealed::new(&liar, &master(), Cipher::default(), nonces, versions, SealThreads::single()).unwrap();
    sealed.begin_epoch(Salt([2; 32])).unwrap();
    futures::executor::block_on(sealed.write(&[Bucket(0)], &[9; 96])).unwrap();
    // A target that panics ends the test: no code looks at what it left behind.
    let stage = std::panic::AssertUnwindSafe((&liar, &sealed));
    bolero::check!().for_each(move |bytes: &[u8]| {
        let (liar, sealed) = *stage;
        *liar.lie.borrow_mut() = bytes.to_vec();
        let slot = Slot { bucket: Bucket(0), index: 1 };
        let answer = futures::executor::block_on(sealed.read(&[slot], &mut [0; 48]));
        assert!(matches!(answer, Err(SealError::Forged(place)) if place.slot == slot));
    });
}

#[test]
fn fuzz_blob() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let begun = [b"AMLB\x00\x01\x00\x00".as_slice(), bytes].concat();
        for bytes in [bytes, &begun] {
            assert!(blob::open(&master(), Purpose::CHECKPOINT, b"name", bytes).is_err());
        }
    });
}

#[test]
fn fuzz_record() {
    let opener =
        RecordOpener::new(&master(), Purpose::JOURNAL, Cipher::default(), &Salt([3; 32]), b"context");
    let opener = std::panic::AssertUnwindSafe(opener);
    bolero::check!().for_each(move |bytes: &[u8]| {
        let opener = &opener;
        let mut text = Vec::new();
        assert!(opener.open(7, bytes, &mut text).is_err() && text.is_empty());
    });
}

#[test]
fn fuzz_trusted_versions_and_keys() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let _ = borsh::from_slice::<TrustedVersions>(bytes);
        let _ = key_text::parse(&String::from_utf8_lossy(bytes));
    });
}
