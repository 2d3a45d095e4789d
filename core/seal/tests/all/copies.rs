//! A running machine is copied with its memory, and both copies continue: same keys, same counters, same versions. The
//! sealed bytes of one reveal nothing about those of the other.

use crate::common::{TestStore, VAULT, every_kind, master, nonces, uneven};
use ameles_core::store::BucketVersion;
use ameles_core::types::Bucket;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::Salt;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::Sealed;
use ameles_seal::slot_format::{Nonces, SALT_BYTES, SlotFormat};
use ameles_seal::versions::TrustedVersions;
use proptest::prelude::*;
use rand_chacha::rand_core::{CryptoRng, RngCore};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ONE: u64 = 1;
const OTHER: u64 = 2;

/// The bytes that a copy seals at its first write of bucket 0, which has three slots of 40 bytes.
fn sealed_by_a_copy(kind: (Cipher, SlotFormat), fresh: u64, plain: &[u8; 120]) -> Vec<u8> {
    sealed_with(kind.0, kind.1, nonces(kind.1, fresh), plain)
}

fn sealed_with(cipher: Cipher, format: SlotFormat, nonces: Nonces, plain: &[u8; 120]) -> Vec<u8> {
    let store = TestStore::of(&uneven(), format);
    let versions = TrustedVersions::new(VAULT, uneven().buckets());
    let copy =
        Sealed::new(Rc::clone(&store), &master(7), cipher, nonces, versions, SealThreads::single()).unwrap();
    copy.begin_epoch(Salt([1; 32])).unwrap();
    let version: BucketVersion = copy.assign(&[Bucket(0)]).unwrap()[0].bucket_version();
    let mut bytes = Vec::new();
    copy.seal(&[version], plain, &mut bytes).unwrap();
    bytes
}

/// The ciphertext of the slot with this index, without salt and tag.
fn ciphertext(format: SlotFormat, sealed: &[u8], index: usize) -> &[u8] {
    let slot = 40 + format.overhead_bytes();
    let salt = format.overhead_bytes() - 16;
    &sealed[index * slot + salt..][..40]
}

fn difference(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

/// Returns whether the difference of the two texts appears in the sealed bytes, as under a repeated nonce.
fn shows_the_difference(format: SlotFormat, sealed: [&[u8]; 2], plain: [&[u8; 120]; 2]) -> bool {
    (0..3).any(|index| {
        let [one, other] = sealed.map(|sealed| ciphertext(format, sealed, index));
        let at = index * 40;
        // AEGIS encrypts the first block as a stream cipher does. Later blocks depend on the blocks before.
        difference(one, other)[..16] == difference(&plain[0][at..], &plain[1][at..])[..16]
    })
}

fn text() -> impl Strategy<Value = [u8; 120]> {
    proptest::collection::vec(any::<u8>(), 120).prop_map(|bytes| bytes.try_into().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn copies_show_no_difference_of_their_texts_not_even_with_the_same_randomness(one in text(), other in text()) {
        prop_assume!((0..3).all(|slot| one[slot * 40..][..16] != other[slot * 40..][..16]));
        for kind in every_kind() {
            for fresh in [ONE, OTHER] {
                let sealed = [sealed_by_a_copy(kind, ONE, &one), sealed_by_a_copy(kind, fresh, &other)];
                let shows = shows_the_difference(kind.1, [&sealed[0], &sealed[1]], [&one, &other]);
                // The counted format is the control: the test must detect the repeated nonce there.
                prop_assert_eq!(shows, kind.1 == SlotFormat::Counted, "{:?}, {}", kind, fresh);
            }
        }
    }
}

#[test]
fn the_same_text_looks_different_in_copies_unless_their_randomness_is_the_same() {
    for (cipher, format) in every_kind().filter(|kind| kind.1 == SlotFormat::Salted) {
        let [one, again, other] =
            [ONE, ONE, OTHER].map(|fresh| sealed_by_a_copy((cipher, format), fresh, &[0; 120]));
        assert_eq!(one, again);
        for index in 0..3 {
            assert_ne!(ciphertext(format, &one, index), ciphertext(format, &other, index), "{cipher}");
        }
    }
}

#[test]
fn every_slot_has_a_salt_of_its_own() {
    let mut salts = BTreeSet::new();
    for fresh in 0..50 {
        let sealed = sealed_by_a_copy((Cipher::default(), SlotFormat::Salted), fresh, &[0; 120]);
        salts.extend(sealed.chunks_exact(40 + 32).map(|slot| slot[..SALT_BYTES].to_vec()));
    }
    assert_eq!(salts.len(), 150);
}

/// Randomness that counts its uses.
struct Counting(Arc<AtomicU64>);

impl RngCore for Counting {
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }
    fn next_u64(&mut self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
    fn fill_bytes(&mut self, into: &mut [u8]) {
        into.fill(self.next_u64() as u8);
    }
}

impl CryptoRng for Counting {}

#[test]
fn fresh_randomness_is_asked_for_at_every_sealing_and_not_kept() {
    let asked = Arc::new(AtomicU64::new(0));
    let store = TestStore::new(&uneven());
    let versions = TrustedVersions::new(VAULT, uneven().buckets());
    let nonces = Nonces::Salted(Box::new(Counting(Arc::clone(&asked))));
    let sealed =
        Sealed::new(store, &master(7), Cipher::default(), nonces, versions, SealThreads::single()).unwrap();
    sealed.begin_epoch(Salt([1; 32])).unwrap();
    for sealings in 1..5 {
        let version = sealed.assign(&[Bucket(0)]).unwrap()[0].bucket_version();
        sealed.seal(&[version], &[0; 120], &mut Vec::new()).unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), sealings);
    }
}
