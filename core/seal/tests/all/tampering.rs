//! Any change by the untrusted side is an error that names the slot, and never a result.

use crate::common::{
    TestStore, UnreachableStore, VAULT, all_slots, at, every_kind, fresh, master, nonces, open, slot, uneven,
};
use ameles_core::store::{Place, Store};
use ameles_core::types::{Bucket, Slot};
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::Salt;
use ameles_seal::error::SealError;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, sealed_layout};
use ameles_seal::slot_format::{Nonces, SlotFormat};
use ameles_seal::versions::{TrustedVersions, VaultId};
use futures::executor::block_on;
use std::rc::Rc;

type Memory = Sealed<Rc<TestStore>>;

const NEWEST: (Cipher, SlotFormat) = (Cipher::Aes256Gcm, SlotFormat::Salted);

/// A vault in which every bucket was written once.
fn written((cipher, format): (Cipher, SlotFormat)) -> (Rc<TestStore>, Memory) {
    let store = TestStore::of(&uneven(), format);
    let sealed = fresh(&store, cipher);
    write_all(&sealed, 5);
    (store, sealed)
}

fn write_all(sealed: &Memory, byte: u8) {
    let buckets: Vec<Bucket> = (0..sealed.layout().buckets()).map(Bucket).collect();
    let plain = vec![byte; sealed.layout().bytes().0 as usize];
    block_on(sealed.write(&buckets, &plain)).unwrap();
}

fn read(sealed: &Memory, slot: Slot) -> Result<Vec<u8>, SealError> {
    let mut plain = vec![0xee; sealed.layout().slot_bytes(slot)];
    block_on(sealed.read(&[slot], &mut plain)).map(|()| plain)
}

fn place(sealed: &Memory, slot: Slot) -> Place {
    Place { slot, version: sealed.version(slot.bucket) }
}

/// Asserts that the slot is refused as forged, by its own name, alone and with all others.
#[track_caller]
fn assert_forged(sealed: &Memory, slot: Slot) {
    let expected = place(sealed, slot);
    let alone = read(sealed, slot).unwrap_err();
    assert!(matches!(alone, SealError::Forged(p) if p == expected), "{alone}");
    assert!(alone.to_string().starts_with(&format!("{slot} ")), "{alone}");
}

#[test]
fn a_flipped_byte_anywhere_is_refused_and_the_other_slots_still_open() {
    for kind in every_kind() {
        let (store, sealed) = written(kind);
        for bucket in 0..sealed.layout().buckets() {
            let extent = *sealed.layout().extent(Bucket(bucket));
            let slot_bytes = extent.slot_bytes as usize + kind.1.overhead_bytes();
            let version = at(bucket, sealed.version(Bucket(bucket)));
            for byte in 0..slot_bytes * extent.slots as usize {
                store.change(version, |bytes| bytes[byte] ^= 1 << (byte % 8));
                for index in 0..extent.slots {
                    if byte / slot_bytes == index as usize {
                        assert_forged(&sealed, slot(bucket, index));
                    } else {
                        read(&sealed, slot(bucket, index)).unwrap();
                    }
                }
                store.change(version, |bytes| bytes[byte] ^= 1 << (byte % 8));
            }
        }
    }
}

#[test]
fn of_several_forged_slots_the_first_asked_for_is_named() {
    let (store, sealed) = written(NEWEST);
    for bucket in [4, 1] {
        store.change(at(bucket, sealed.version(Bucket(bucket))), |bytes| bytes[0] ^= 1);
    }
    let mut plain = vec![0; 17 + 17 + 40];
    let error = block_on(sealed.read(&[slot(3, 0), slot(4, 0), slot(1, 0)], &mut plain)).unwrap_err();
    assert!(matches!(error, SealError::Forged(p) if p.slot == slot(4, 0)), "{error}");
}

#[test]
fn slots_swapped_within_a_bucket_are_refused() {
    for kind in every_kind() {
        let (store, sealed) = written(kind);
        store.change(at(2, sealed.version(Bucket(2))), |bytes| {
            bytes.rotate_left(17 + kind.1.overhead_bytes())
        });
        assert_forged(&sealed, slot(2, 0));
        assert_forged(&sealed, slot(2, 1));
    }
}

#[test]
fn buckets_swapped_are_refused() {
    for kind in every_kind() {
        let (store, sealed) = written(kind);
        let (a, b) = (at(2, sealed.version(Bucket(2))), at(3, sealed.version(Bucket(3))));
        let mut held = store.held.borrow_mut();
        let (of_a, of_b) = (held[&a].clone(), held[&b].clone());
        held.insert(a, of_b);
        held.insert(b, of_a);
        drop(held);
        for index in 0..2 {
            assert_forged(&sealed, slot(2, index));
            assert_forged(&sealed, slot(3, index));
        }
    }
}

#[test]
fn an_older_version_played_back_is_refused() {
    for kind in every_kind() {
        let (store, sealed) = written(kind);
        let old = store.held.borrow()[&at(0, sealed.version(Bucket(0)))].clone();
        write_all(&sealed, 6);
        store.change(at(0, sealed.version(Bucket(0))), |bytes| *bytes = old);
        for index in 0..3 {
            assert_forged(&sealed, slot(0, index));
        }
    }
}

#[test]
fn a_store_rolled_back_whole_is_refused_slot_by_slot() {
    let (store, sealed) = written(NEWEST);
    let old: Vec<Vec<u8>> = store.held.borrow().values().cloned().collect();
    write_all(&sealed, 6);
    for (bucket, old) in (0..).zip(old) {
        store.change(at(bucket, sealed.version(Bucket(bucket))), |bytes| *bytes = old);
    }
    for slot in all_slots(sealed.layout()) {
        assert_forged(&sealed, slot);
    }
}

#[test]
fn the_same_counter_of_another_epoch_is_refused() {
    for kind in every_kind() {
        let (store, sealed) = written(kind);
        let before = sealed.version(Bucket(0));
        let old = store.held.borrow()[&at(0, before)].clone();
        sealed.begin_epoch(Salt([2; 32])).unwrap();
        write_all(&sealed, 5);
        let after = sealed.version(Bucket(0));
        assert_eq!((before.counter, before.epoch + 1), (after.counter, after.epoch));
        store.change(at(0, after), |bytes| *bytes = old);
        assert_forged(&sealed, slot(0, 0));
    }
}

/// Creates another memory over the same bytes with the same versions. It differs in the arguments.
fn twin(store: &Rc<TestStore>, key: u8, vault: VaultId, salt: Salt, kind: (Cipher, SlotFormat)) -> Memory {
    let versions = TrustedVersions::new(vault, uneven().buckets());
    let (cipher, nonces) = (kind.0, nonces(kind.1, 1));
    let twin =
        Sealed::new(Rc::clone(store), &master(key), cipher, nonces, versions, SealThreads::single()).unwrap();
    twin.begin_epoch(salt).unwrap();
    let buckets: Vec<Bucket> = (0..uneven().buckets()).map(Bucket).collect();
    twin.assign(&buckets).unwrap();
    twin
}

#[test]
fn another_key_vault_salt_or_cipher_opens_nothing() {
    for kind in every_kind() {
        let (store, _) = written(kind);
        let slots = all_slots(&uneven());
        let same = twin(&store, 7, VAULT, Salt([1; 32]), kind);
        for &slot in &slots {
            read(&same, slot).unwrap();
        }
        let other_cipher = Cipher::ALL.into_iter().find(|&c| c != kind.0).unwrap();
        for other in [
            twin(&store, 8, VAULT, Salt([1; 32]), kind),
            twin(&store, 7, VaultId([5; 16]), Salt([1; 32]), kind),
            twin(&store, 7, VAULT, Salt([9; 32]), kind),
            twin(&store, 7, VAULT, Salt([1; 32]), (other_cipher, kind.1)),
        ] {
            for &slot in &slots {
                assert_forged(&other, slot);
            }
        }
    }
}

#[test]
fn a_removed_version_is_missing_and_never_zeros() {
    let (store, sealed) = written(NEWEST);
    let version = sealed.version(Bucket(3));
    store.held.borrow_mut().remove(&at(3, version));
    let mut plain = [0; 40 + 17];
    let error = block_on(sealed.read(&[slot(0, 0), slot(3, 1)], &mut plain)).unwrap_err();
    let expected = Place { slot: slot(3, 1), version };
    assert!(matches!(error, SealError::Missing(p) if p == expected), "{error}");
}

#[test]
fn removed_and_never_written_are_told_apart_by_the_trusted_version() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    block_on(sealed.write(&[Bucket(2)], &[1; 34])).unwrap();
    store.held.borrow_mut().clear();
    assert!(matches!(read(&sealed, slot(2, 0)), Err(SealError::Missing(_))));
    assert_eq!(read(&sealed, slot(3, 0)).unwrap(), [0; 17]);
}

#[test]
fn a_truncated_version_is_refused_whether_the_store_says_so_or_pads_it() {
    for kind in every_kind() {
        for pads in [false, true] {
            let (store, sealed) = written(kind);
            store.pads.set(pads);
            let version = at(4, sealed.version(Bucket(4)));
            let whole = store.held.borrow()[&version].clone();
            for kept in (0..whole.len()).rev() {
                store.change(version, |bytes| bytes.truncate(kept));
                if pads && whole[kept..].iter().all(|&byte| byte == 0) {
                    // The padding happened to restore the truncated bytes.
                    continue;
                }
                let expected = place(&sealed, slot(4, 1));
                match read(&sealed, slot(4, 1)).unwrap_err() {
                    SealError::Truncated(p) if !pads => assert_eq!(p, expected),
                    SealError::Forged(p) if pads => assert_eq!(p, expected),
                    other => panic!("{kept} bytes kept: {other}"),
                }
            }
        }
    }
}

#[test]
fn a_stores_own_failure_is_passed_on_as_such() {
    let layout = uneven();
    let versions = TrustedVersions::new(VAULT, layout.buckets());
    let down = UnreachableStore(sealed_layout(&layout, SlotFormat::Counted));
    let sealed =
        Sealed::new(down, &master(7), Cipher::default(), Nonces::Counted, versions, SealThreads::single())
            .unwrap();
    sealed.begin_epoch(Salt([1; 32])).unwrap();
    let write = block_on(sealed.write(&[Bucket(0)], &[1; 120])).unwrap_err();
    let read = block_on(sealed.read(&[slot(0, 0)], &mut [0; 40])).unwrap_err();
    for error in [write, read] {
        assert!(matches!(error, SealError::Store(_)));
        assert_eq!(error.to_string(), "the store is unavailable: no route");
    }
}

#[test]
fn a_version_of_a_forgotten_epoch_is_refused_before_any_request() {
    let (store, sealed) = written(NEWEST);
    let before = sealed.resolve(&[slot(0, 0)]);
    sealed.begin_epoch(Salt([2; 32])).unwrap();
    write_all(&sealed, 6);
    sealed.drop_unused_epochs();
    let reads = store.reads.get();
    let error = block_on(sealed.read_places(&before, &mut [0; 40])).unwrap_err();
    assert!(matches!(error, SealError::UnknownEpoch(_)), "{error}");
    assert_eq!(store.reads.get(), reads);
}

#[test]
fn epochs_in_use_are_kept_when_others_are_dropped() {
    let (store, sealed) = written(NEWEST);
    for byte in 2..6 {
        sealed.begin_epoch(Salt([byte; 32])).unwrap();
        block_on(sealed.write(&[Bucket(0)], &[byte; 120])).unwrap();
    }
    sealed.drop_unused_epochs();
    let known: Vec<u32> = sealed.with_versions(|v| v.epochs().iter().map(|e| e.number).collect());
    assert_eq!(known, [1, 5]);
    let sealed = open(&store, Cipher::default(), sealed.snapshot());
    assert_eq!(read(&sealed, slot(0, 0)).unwrap(), [5; 40]);
    assert_eq!(read(&sealed, slot(2, 0)).unwrap(), [5; 17]);
}
