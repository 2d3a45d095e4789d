//! A read returns the bytes that were written.

use crate::common::{TestStore, all_slots, fresh, open, slot, uneven};
use ameles_core::store::Store;
use ameles_core::types::Bucket;
use ameles_seal::cipher::{Cipher, CipherKey};
use ameles_seal::derive::Salt;
use ameles_seal::slot_format::SlotFormat;
use futures::executor::block_on;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn any_cipher() -> impl Strategy<Value = Cipher> {
    proptest::sample::select(&Cipher::ALL[..])
}

proptest! {
    #[test]
    fn every_cipher_opens_what_it_sealed_and_nothing_else(
        cipher in any_cipher(),
        key: [u8; 32],
        nonce: [u8; 12],
        associated in proptest::collection::vec(any::<u8>(), 0..60),
        text in proptest::collection::vec(any::<u8>(), 0..200),
        flipped: prop::sample::Index,
        bit in 0..8u8,
    ) {
        let sealer = CipherKey::new(cipher, &key);
        let mut sealed = text.clone();
        let tag = sealer.seal(&nonce, &associated, &mut sealed);
        prop_assert!(text.len() < 16 || sealed != text);

        let mut opened = sealed.clone();
        sealer.open(&nonce, &associated, &mut opened, &tag).unwrap();
        prop_assert_eq!(&opened, &text);

        // After a change of a bit in any of the inputs, it does not open.
        let (mut nonce, mut associated, mut tag) = (nonce, associated, tag);
        let inputs: Vec<&mut u8> =
            nonce.iter_mut().chain(&mut associated).chain(&mut sealed).chain(&mut tag).collect();
        let at = flipped.index(inputs.len());
        *inputs.into_iter().nth(at).unwrap() ^= 1 << bit;
        prop_assert!(sealer.open(&nonce, &associated, &mut sealed, &tag).is_err());
    }

    #[test]
    fn slots_read_as_last_written_across_reopenings(
        cipher in any_cipher(),
        format in prop_oneof![Just(SlotFormat::Counted), Just(SlotFormat::Salted)],
        steps in proptest::collection::vec(
            (proptest::collection::vec(0..7u64, 1..5), any::<u8>(), any::<bool>()),
            1..20,
        ),
    ) {
        let layout = uneven();
        let store = TestStore::of(&layout, format);
        let mut sealed = fresh(&store, cipher);
        let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for (number, (buckets, byte, reopen)) in steps.into_iter().enumerate() {
            let mut plain = Vec::new();
            for (offset, &bucket) in buckets.iter().enumerate() {
                let bytes: Vec<u8> = (0..layout.bucket_bytes(Bucket(bucket)))
                    .map(|i| byte.wrapping_add((i + offset) as u8))
                    .collect();
                plain.extend_from_slice(&bytes);
                model.insert(bucket, bytes);
            }
            let buckets: Vec<Bucket> = buckets.into_iter().map(Bucket).collect();
            block_on(sealed.write(&buckets, &plain)).unwrap();
            if reopen {
                let encoded = borsh::to_vec(&sealed.snapshot()).unwrap();
                sealed = open(&store, cipher, borsh::from_slice(&encoded).unwrap());
                sealed.begin_epoch(Salt([number as u8 + 2; 32])).unwrap();
                sealed.drop_unused_epochs();
            }
        }
        let slots = all_slots(&layout);
        let mut read = vec![0xee; layout.bytes().0 as usize];
        block_on(sealed.read(&slots, &mut read)).unwrap();
        let expected: Vec<u8> = (0..layout.buckets())
            .flat_map(|b| {
                model.get(&b).cloned().unwrap_or_else(|| vec![0; layout.bucket_bytes(Bucket(b))])
            })
            .collect();
        prop_assert_eq!(read, expected);
    }
}

#[test]
fn a_bucket_never_written_reads_as_zeros_and_no_request_goes_out() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    let mut read = [0xee; 40 + 17];
    block_on(sealed.read(&[slot(0, 1), slot(2, 0)], &mut read)).unwrap();
    assert_eq!(read, [0; 57]);
    assert_eq!(store.reads.get(), 0);
}

#[test]
fn written_and_never_written_slots_mix_in_one_read() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    block_on(sealed.write(&[Bucket(3)], &[9; 34])).unwrap();
    let mut read = [0xee; 40 + 17 + 17];
    block_on(sealed.read(&[slot(0, 1), slot(3, 1), slot(2, 0)], &mut read)).unwrap();
    assert_eq!(read[..40], [0; 40]);
    assert_eq!(read[40..57], [9; 17]);
    assert_eq!(read[57..], [0; 17]);
}

#[test]
fn an_older_version_that_still_stands_can_be_read_by_its_name() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    block_on(sealed.write(&[Bucket(2)], &[1; 34])).unwrap();
    let before = sealed.resolve(&[slot(2, 1)]);
    block_on(sealed.write(&[Bucket(2)], &[2; 34])).unwrap();
    let mut read = [0; 17];
    block_on(sealed.read_places(&before, &mut read)).unwrap();
    assert_eq!(read, [1; 17]);
}

#[test]
fn sealing_and_sending_apart_is_the_same_as_writing() {
    let layout = uneven();
    let (one, two) = (TestStore::new(&layout), TestStore::new(&layout));
    let whole = fresh(&one, Cipher::default());
    block_on(whole.write(&[Bucket(0), Bucket(5)], &[3; 154])).unwrap();

    let apart = fresh(&two, Cipher::default());
    let versions: Vec<_> = apart
        .assign(&[Bucket(0), Bucket(5)])
        .unwrap()
        .into_iter()
        .map(|step| step.bucket_version())
        .collect();
    let mut bytes = Vec::new();
    apart.seal(&versions, &[3; 154], &mut bytes).unwrap();
    block_on(apart.send(&versions, &bytes)).unwrap();
    block_on(apart.send(&versions, &bytes)).unwrap();
    assert_eq!(*one.held.borrow(), *two.held.borrow());
}

#[cfg(feature = "parallel")]
#[test]
fn cores_change_neither_the_bytes_nor_the_slot_that_an_error_names() {
    use ameles_core::tree::layout::{Extent, Layout};
    use ameles_seal::{parallel::SealThreads, sealed::Sealed, versions::TrustedVersions};
    let layout = Layout::new(vec![
        Extent { buckets: 40, slots: 5, slot_bytes: 4096 },
        Extent { buckets: 2, slots: 1, slot_bytes: 300_000 },
    ]);
    let plain: Vec<u8> = (0..layout.bytes().0).map(|i| (i % 251) as u8).collect();
    let buckets: Vec<Bucket> = (0..layout.buckets()).map(Bucket).collect();
    let slots = all_slots(&layout);
    let mut held = Vec::new();
    for threads in [1, 3] {
        let store = TestStore::new(&layout);
        let versions = TrustedVersions::new(crate::common::VAULT, layout.buckets());
        let workers = SealThreads::threads(threads).unwrap();
        let sealed = Sealed::new(
            std::rc::Rc::clone(&store),
            &crate::common::master(7),
            Cipher::default(),
            crate::common::nonces(SlotFormat::Salted, 1),
            versions,
            workers,
        )
        .unwrap();
        sealed.begin_epoch(Salt([1; 32])).unwrap();
        block_on(sealed.write(&buckets, &plain)).unwrap();
        let mut read = vec![0; plain.len()];
        block_on(sealed.read(&slots, &mut read)).unwrap();
        assert!(read == plain);

        for bucket in [31, 12] {
            let version = sealed.version(Bucket(bucket));
            store.change(crate::common::at(bucket, version), |bytes| bytes[2 * 4128] ^= 1);
        }
        let error = block_on(sealed.read(&slots, &mut read)).unwrap_err();
        assert!(error.to_string().starts_with("slot 2 of bucket 12 "), "{error}");
        held.push(store.held.borrow().clone());
    }
    assert!(held[0] == held[1]);
}
