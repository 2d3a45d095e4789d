//! No nonce is used twice under one key, in any history of snapshots, restores, replays and new epochs.

use crate::common::{TestStore, at, fresh, open, uneven};
use ameles_core::store::{BucketVersion, Store};
use ameles_core::types::{Bucket, Version};
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::Salt;
use ameles_seal::epoch::Epoch;
use ameles_seal::error::SealError;
use ameles_seal::versions::TrustedVersions;
use futures::executor::block_on;
use proptest::prelude::*;
use std::collections::HashSet;

#[derive(Clone, Debug)]
enum Step {
    Write(Vec<u64>),
    AssignOnly(Vec<u64>),
    Snapshot,
    BeginEpoch,
    /// Restores a snapshot: whether the events since are replayed, and whether the epoch's number is used again.
    Restore {
        which: prop::sample::Index,
        replays: bool,
    },
}

fn any_step() -> impl Strategy<Value = Step> {
    let buckets = || proptest::collection::vec(0..7u64, 1..5);
    prop_oneof![
        4 => buckets().prop_map(Step::Write),
        1 => buckets().prop_map(Step::AssignOnly),
        2 => Just(Step::Snapshot),
        1 => Just(Step::BeginEpoch),
        3 => (any::<prop::sample::Index>(), any::<bool>())
            .prop_map(|(which, replays)| Step::Restore { which, replays }),
    ]
}

/// The journal entries of an opening after a snapshot.
#[derive(Clone)]
enum Logged {
    Assigned(Vec<Bucket>, Vec<Version>),
    Began(Epoch),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn every_sealing_of_every_history_has_a_nonce_of_its_own(steps in proptest::collection::vec(any_step(), 1..40)) {
        let layout = uneven();
        let store = TestStore::new(&layout);
        let mut sealed = fresh(&store, Cipher::default());
        let mut salt = Salt([1; 32]);
        let mut salts_drawn = 1u8;
        let mut draw = || {
            salts_drawn += 1;
            Salt([salts_drawn; 32])
        };
        let mut snapshots: Vec<(TrustedVersions, Vec<Logged>)> = vec![(sealed.snapshot(), Vec::new())];
        // Salt and epoch make the key, counter and slot index the nonce.
        let mut seen: HashSet<(Salt, Version)> = HashSet::new();
        let log = |snapshots: &mut Vec<(TrustedVersions, Vec<Logged>)>, what: Logged| {
            for (_, log) in snapshots {
                log.push(what.clone());
            }
        };
        for step in steps {
            match step {
                Step::Write(buckets) => {
                    let buckets: Vec<Bucket> = buckets.into_iter().map(Bucket).collect();
                    let plain = vec![seen.len() as u8; buckets.iter().map(|&b| layout.bucket_bytes(b)).sum()];
                    block_on(sealed.write(&buckets, &plain)).unwrap();
                    let sent: Vec<_> = store.written.borrow_mut().drain(..).collect();
                    let versions = sent.iter().map(|(at, _)| at.version).collect();
                    for (at, _) in sent {
                        // The salt that the trusted state gives for this version, not the one the test began last.
                        let under = sealed.with_versions(|v| *v.epochs().salt(at.version.epoch).unwrap());
                        prop_assert_eq!(under, salt);
                        let fresh = seen.insert((under, at.version));
                        prop_assert!(fresh, "{} was sealed twice under one key", at.version);
                    }
                    log(&mut snapshots, Logged::Assigned(buckets, versions));
                }
                Step::AssignOnly(buckets) => {
                    let buckets: Vec<Bucket> = buckets.into_iter().map(Bucket).collect();
                    let versions = sealed.assign(&buckets).unwrap().iter().map(|a| a.new).collect();
                    log(&mut snapshots, Logged::Assigned(buckets, versions));
                }
                Step::Snapshot => snapshots.push((sealed.snapshot(), Vec::new())),
                Step::BeginEpoch => {
                    salt = draw();
                    let number = sealed.begin_epoch(salt).unwrap();
                    log(&mut snapshots, Logged::Began(Epoch { number, salt }));
                }
                Step::Restore { which, replays } => {
                    let which = which.index(snapshots.len());
                    snapshots.truncate(which + 1);
                    let (snapshot, logged) = snapshots[which].clone();
                    sealed = open(&store, Cipher::default(), snapshot);
                    if replays {
                        for entry in &logged {
                            match entry {
                                Logged::Began(epoch) => sealed.replay_epoch(*epoch).unwrap(),
                                Logged::Assigned(buckets, versions) => {
                                    // The replay gets the very versions, and can seal none of them.
                                    for (step, version) in sealed.assign(buckets).unwrap().iter().zip(versions) {
                                        prop_assert_eq!(step.new, *version);
                                        let plain = vec![0; layout.bucket_bytes(step.bucket)];
                                        let refused = sealed.seal(&[step.bucket_version()], &plain, &mut Vec::new());
                                        prop_assert!(matches!(refused, Err(SealError::NotSealable(_))));
                                    }
                                }
                            }
                        }
                    } else {
                        // The log is lost: an older copy of the trusted state was restored.
                        snapshots.iter_mut().for_each(|(_, log)| log.clear());
                        snapshots.drain(..which);
                        snapshots[0].0 = sealed.snapshot();
                    }
                    salt = draw();
                    let number = sealed.begin_epoch(salt).unwrap();
                    log(&mut snapshots, Logged::Began(Epoch { number, salt }));
                }
            }
        }
    }
}

#[test]
fn a_version_is_sealed_once() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    let version = sealed.assign(&[Bucket(0)]).unwrap()[0].bucket_version();
    let mut bytes = Vec::new();
    sealed.seal(&[version], &[1; 120], &mut bytes).unwrap();
    for again in [&[version][..], &[version, version]] {
        let refused = sealed.seal(again, &vec![2; 120 * again.len()], &mut bytes);
        assert!(matches!(refused, Err(SealError::NotSealable(v)) if v == version));
    }
    let sent = block_on(sealed.write_assigned(&[version], &[2; 120]));
    assert!(matches!(sent, Err(SealError::NotSealable(v)) if v == version));
}

#[test]
fn a_version_that_was_not_assigned_is_not_sealed() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    let invented = at(0, Version { epoch: 1, counter: 1 });
    assert!(matches!(
        sealed.seal(&[invented], &[1; 120], &mut Vec::new()),
        Err(SealError::NotSealable(v)) if v == invented
    ));
}

#[test]
fn a_snapshot_brought_back_seals_nothing_before_it_begins_an_epoch() {
    let store = TestStore::new(&uneven());
    let before = fresh(&store, Cipher::default());
    block_on(before.write(&[Bucket(0)], &[1; 120])).unwrap();
    let after = open(&store, Cipher::default(), before.snapshot());
    let refused = block_on(after.write(&[Bucket(0)], &[2; 120]));
    assert!(matches!(refused, Err(SealError::NotSealable(_))));
    after.begin_epoch(Salt([2; 32])).unwrap();
    block_on(after.write(&[Bucket(0)], &[2; 120])).unwrap();
}

#[test]
fn a_new_epoch_leaves_the_unsealed_versions_of_the_last_one_unsealable() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    let unfinished = sealed.assign(&[Bucket(0)]).unwrap()[0].bucket_version();
    sealed.begin_epoch(Salt([2; 32])).unwrap();
    // The new epoch assigns the same counter: only the epoch differs.
    let redone = sealed.assign(&[Bucket(0)]).unwrap()[0].bucket_version();
    assert_eq!(unfinished.version.counter, redone.version.counter);
    assert!(sealed.seal(&[unfinished], &[1; 120], &mut Vec::new()).is_err());
    sealed.seal(&[redone], &[1; 120], &mut Vec::new()).unwrap();
}

#[test]
fn assigning_names_the_version_replaced_also_within_one_batch() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    let steps = sealed.assign(&[Bucket(0), Bucket(1), Bucket(0)]).unwrap();
    assert_eq!([steps[0].old, steps[1].old], [Version::NEVER; 2]);
    assert_eq!(steps[2].old, steps[0].new);
    assert_eq!(sealed.version(Bucket(0)), steps[2].new);
    let live: Vec<BucketVersion> = sealed.with_versions(|v| v.live().collect());
    assert_eq!(live, [steps[2].bucket_version(), steps[1].bucket_version()]);
}

#[test]
fn an_epoch_must_have_a_higher_number_and_a_new_salt() {
    let store = TestStore::new(&uneven());
    let sealed = fresh(&store, Cipher::default());
    sealed.begin_epoch_numbered(Epoch { number: 9, salt: Salt([9; 32]) }).unwrap();
    for (number, salt) in [(9, 10), (8, 10), (10, 9), (10, 1)] {
        let refused = sealed.begin_epoch_numbered(Epoch { number, salt: Salt([salt; 32]) });
        assert!(matches!(refused, Err(SealError::EpochNotNew { newest: 9, .. })), "{number}, {salt}");
    }
    assert_eq!(sealed.begin_epoch(Salt([10; 32])).unwrap(), 10);
}

#[test]
fn nothing_is_written_before_the_first_epoch() {
    let store = TestStore::new(&uneven());
    let sealed = open(&store, Cipher::default(), TrustedVersions::new(crate::common::VAULT, 7));
    assert!(matches!(sealed.assign(&[Bucket(0)]), Err(SealError::NoEpoch)));
}

#[test]
fn an_epoch_without_counters_refuses_and_a_new_one_goes_on() {
    let store = TestStore::new(&uneven());
    let mut encoded = borsh::to_vec(&fresh(&store, Cipher::default()).snapshot()).unwrap();
    // The counter follows the vault's identity and one epoch.
    let counter = 16 + 4 + 36;
    assert_eq!(encoded[counter..counter + 8], [0; 8]);
    encoded[counter..counter + 8].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
    let sealed = open(&store, Cipher::default(), borsh::from_slice(&encoded).unwrap());
    let refused = sealed.assign(&[Bucket(0), Bucket(1)]);
    assert!(matches!(refused, Err(SealError::CounterExhausted { epoch: 1 })));
    assert!(sealed.version(Bucket(0)).is_never());
    sealed.assign(&[Bucket(0)]).unwrap();
    assert!(sealed.assign(&[Bucket(0)]).is_err());
    sealed.begin_epoch(Salt([2; 32])).unwrap();
    assert_eq!(sealed.assign(&[Bucket(0)]).unwrap()[0].new, Version { epoch: 2, counter: 1 });
}
