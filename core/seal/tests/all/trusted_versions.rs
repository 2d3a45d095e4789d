//! The trusted version table survives its encoding, and inconsistent versions are refused.

use crate::common::{TestStore, UnreachableStore, VAULT, fresh, master, nonces, open, uneven};
use ameles_core::store::Store;
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Version};
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::Salt;
use ameles_seal::error::SealError;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, sealed_layout};
use ameles_seal::slot_format::SlotFormat;
use ameles_seal::versions::TrustedVersions;
use futures::executor::block_on;
use proptest::prelude::*;

#[test]
fn a_snapshot_survives_its_encoding() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    block_on(sealed.write(&[Bucket(0), Bucket(5)], &[1; 154])).unwrap();
    sealed.begin_epoch(Salt([2; 32])).unwrap();
    block_on(sealed.write(&[Bucket(5)], &[1; 34])).unwrap();
    let snapshot = sealed.snapshot();
    let decoded: TrustedVersions = borsh::from_slice(&borsh::to_vec(&snapshot).unwrap()).unwrap();
    assert_eq!(decoded, snapshot);
    assert_eq!(decoded.vault(), VAULT);
    assert_eq!(decoded.version(Bucket(5)), Version { epoch: 2, counter: 1 });
    assert_eq!(decoded.version(Bucket(0)), Version { epoch: 1, counter: 1 });
    assert!(decoded.version(Bucket(1)).is_never());
}

#[test]
fn the_encodings_length_tells_buckets_and_epochs_only() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    let empty = borsh::to_vec(&sealed.snapshot()).unwrap().len();
    block_on(sealed.write(&[Bucket(0), Bucket(5)], &[1; 154])).unwrap();
    assert_eq!(borsh::to_vec(&sealed.snapshot()).unwrap().len(), empty);
    assert_eq!(empty, 16 + 4 + 36 + 8 + 4 + 7 * 12);
}

#[test]
fn the_versions_of_another_layout_are_refused() {
    let store = TestStore::new(&uneven());
    let versions = TrustedVersions::new(VAULT, 8);
    let nonces = nonces(SlotFormat::Salted, 1);
    let error = Sealed::new(store, &master(7), Cipher::default(), nonces, versions, SealThreads::single())
        .unwrap_err();
    assert!(matches!(error, SealError::OtherLayout { found: 8, expected: 7 }));
}

#[test]
fn slots_shorter_than_what_sealing_adds_are_refused() {
    for (format, short) in [(SlotFormat::Counted, 15), (SlotFormat::Salted, 31)] {
        let down = UnreachableStore(Layout::new(vec![Extent { buckets: 1, slots: 1, slot_bytes: short }]));
        let (versions, nonces) = (TrustedVersions::new(VAULT, 1), nonces(format, 1));
        let error = Sealed::new(down, &master(7), Cipher::default(), nonces, versions, SealThreads::single())
            .unwrap_err();
        assert!(matches!(error, SealError::SlotsTooSmall { slot_bytes } if slot_bytes == short));
    }
}

#[test]
fn the_plaintext_layout_is_the_sealed_one_without_the_tags() {
    let store = TestStore::new(&uneven());
    let sealed = open(&store, Cipher::default(), TrustedVersions::new(VAULT, 7));
    assert_eq!(*sealed.layout(), uneven());
    for (format, more) in [(SlotFormat::Counted, 16), (SlotFormat::Salted, 32)] {
        assert_eq!(sealed_layout(&uneven(), format).bytes().0, uneven().bytes().0 + more * uneven().slots());
    }
}

proptest! {
    #[test]
    fn decoding_never_panics_and_what_it_accepts_can_be_used(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let _ = borsh::from_slice::<TrustedVersions>(&bytes);

        let store = TestStore::new(&uneven());
        let sealed = fresh(&store, Cipher::default());
        block_on(sealed.write(&[Bucket(0), Bucket(5)], &[1; 154])).unwrap();
        let mut encoded = borsh::to_vec(&sealed.snapshot()).unwrap();
        for (at, byte) in flips {
            let at = at.index(encoded.len());
            encoded[at] ^= byte;
        }
        if let Ok(versions) = borsh::from_slice::<TrustedVersions>(&encoded) {
            // Every version's epoch has a salt.
            for live in versions.live() {
                prop_assert!(versions.epochs().salt(live.version.epoch).is_some());
            }
        }
    }
}

#[test]
fn a_version_newer_than_the_newest_or_of_no_epoch_is_refused() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    block_on(sealed.write(&[Bucket(0)], &[1; 120])).unwrap();
    let encoded = borsh::to_vec(&sealed.snapshot()).unwrap();
    let table = 16 + 4 + 36 + 8 + 4;
    for (at, value, why) in [
        (table, 2u32, "a version's epoch is unknown"),
        (table, 0, "a version's epoch is unknown"),
        (table + 8, 2, "a version is newer than the newest"),
        (table + 8, 0, "a version has no counter"),
    ] {
        let mut encoded = encoded.clone();
        encoded[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let error = borsh::from_slice::<TrustedVersions>(&encoded).unwrap_err();
        assert_eq!(error.to_string(), why);
    }
}
