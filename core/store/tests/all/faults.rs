//! Faults happen at the configured rates, with the stated effects.

use crate::common::{bytes, layout, place, version};
use ameles_core::store::{BucketVersion, Untrusted, UntrustedError};
use ameles_store::{Blobs, FaultCounts, FaultRates, Faults, InjectedFault, VersionedMemory};
use std::time::Duration;

fn always(rates: FaultRates) -> (VersionedMemory, Faults<VersionedMemory>) {
    let memory = VersionedMemory::new(layout());
    (memory.clone(), Faults::new(memory, rates, 1))
}

fn fault(answer: Result<(), UntrustedError>) -> InjectedFault {
    match answer {
        Err(UntrustedError::Unavailable(why)) => *why.downcast().expect("an injected fault"),
        other => panic!("no fault: {other:?}"),
    }
}

fn many(counter: u64) -> (Vec<BucketVersion>, Vec<u8>) {
    let versions: Vec<_> = (0..12).map(|bucket| version(bucket, counter)).collect();
    let all = versions.iter().flat_map(|of| bytes(*of)).collect();
    (versions, all)
}

#[tokio::test]
async fn an_error_before_has_no_effect_and_one_after_has() {
    let (memory, store) = always(FaultRates { error_before: 1.0, ..FaultRates::default() });
    let of = version(0, 1);
    assert_eq!(fault(store.write(&[of], &bytes(of)).await), InjectedFault::Before);
    assert!(store.put_if_absent("epoch", b"x").await.unwrap_err().is_unavailable());
    assert_eq!(memory.bucket_versions(), []);
    assert_eq!(memory.list("").await.unwrap(), []);

    store.switch().set_rates(FaultRates { error_after: 1.0, ..FaultRates::default() });
    assert_eq!(fault(store.write(&[of], &bytes(of)).await), InjectedFault::After);
    assert!(store.put_if_absent("epoch", b"x").await.unwrap_err().is_unavailable());
    assert_eq!(memory.bucket(of).unwrap(), bytes(of));
    assert_eq!(memory.get("epoch", 1).await.unwrap().unwrap(), b"x");
    assert_eq!(fault(store.delete(&[of]).await), InjectedFault::After);
    assert_eq!(memory.bucket_versions(), []);
}

#[tokio::test]
async fn a_torn_write_leaves_whole_buckets_and_never_all_of_them() {
    let (memory, store) = always(FaultRates { torn_write: 1.0, ..FaultRates::default() });
    let mut partly = 0;
    for counter in 1..=50 {
        let (versions, all) = many(counter);
        let injected = fault(store.write(&versions, &all).await);
        let there: Vec<_> = versions.iter().filter_map(|of| Some((of, memory.bucket(*of)?))).collect();
        assert_eq!(injected, InjectedFault::Torn { written: there.len(), of: 12 });
        assert!(there.len() < 12);
        assert!(there.iter().all(|(of, held)| *held == bytes(**of)));
        partly += usize::from(!there.is_empty());
    }
    assert!(partly > 40, "of 50 torn writes {partly} wrote something");
    // An object that is written whole is not torn.
    store.put("header", b"x").await.unwrap();
    assert_eq!(store.switch().counts().torn_writes, 50);
}

#[tokio::test]
async fn a_lost_write_is_acknowledged_and_one_bucket_is_absent() {
    let (memory, store) = always(FaultRates { lost_write: 1.0, ..FaultRates::default() });
    let (versions, all) = many(1);
    store.write(&versions, &all).await.unwrap();
    assert_eq!(memory.bucket_versions().len(), 11);
    store.put("header", b"x").await.unwrap();
    assert!(store.put_if_absent("epoch", b"x").await.unwrap());
    assert_eq!(memory.list("").await.unwrap(), []);
    assert_eq!(store.switch().counts().lost_writes, 3);
}

#[tokio::test(start_paused = true)]
async fn a_time_out_takes_its_time_and_may_have_had_its_effect() {
    let (memory, store) = always(FaultRates {
        time_out: 1.0,
        time_out_after: Duration::from_secs(30),
        ..FaultRates::default()
    });
    for counter in 1..=64 {
        let start = tokio::time::Instant::now();
        let of = version(0, counter);
        assert_eq!(fault(store.write(&[of], &bytes(of)).await), InjectedFault::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 30);
    }
    let had = memory.bucket_versions().len();
    // A fair coin shows fewer than 12 or more than 52 of 64 less than once in a million.
    assert!((12..=52).contains(&had), "{had} of 64 had an effect");
}

#[tokio::test]
async fn faults_come_as_often_as_asked_for_and_the_same_from_the_same_seed() {
    let rates = FaultRates {
        error_before: 0.1,
        error_after: 0.1,
        time_out: 0.1,
        torn_write: 0.1,
        lost_write: 0.1,
        time_out_after: Duration::ZERO,
    };
    let run = async |seed| {
        let memory = VersionedMemory::new(layout());
        let store = Faults::new(memory.clone(), rates, seed);
        let mut failed = Vec::new();
        for counter in 1..=1000 {
            let (versions, all) = many(counter);
            failed.push(store.write(&versions, &all).await.is_err());
        }
        (store.switch().counts(), failed, memory.bucket_versions())
    };
    let (counts, failed, there) = run(5).await;
    let FaultCounts { errors_before, errors_after, time_outs, torn_writes, lost_writes } = counts;
    for count in [errors_before, errors_after, time_outs, torn_writes, lost_writes] {
        // 1000 draws at 0.1: six standard deviations are 57.
        assert!((43..=157).contains(&count), "{counts:?}");
    }
    assert_eq!(failed.iter().filter(|failed| **failed).count() as u64, counts.all() - lost_writes);
    assert_eq!(run(5).await, (counts, failed.clone(), there));
    assert_ne!(run(6).await.1, failed);
}

#[tokio::test]
async fn faults_that_are_off_do_not_happen() {
    let (memory, store) = always(FaultRates { error_before: 1.0, ..FaultRates::default() });
    store.switch().set(false);
    let of = version(4, 1);
    store.write(&[of], &bytes(of)).await.unwrap();
    let mut into = [0; 16];
    store.read(&[place(4, 1, 0)], &mut into).await.unwrap();
    assert_eq!(into, bytes(of)[..16]);
    assert_eq!(store.switch().counts().all(), 0);
    store.switch().set(true);
    assert_eq!(fault(store.read(&[place(4, 1, 0)], &mut into).await), InjectedFault::Before);
    assert_eq!(memory.bucket_versions(), [of]);
}

#[test]
#[should_panic(expected = "sum to at most 1")]
fn rates_that_are_no_probabilities_are_refused() {
    let rates = FaultRates { error_before: 0.7, time_out: 0.7, ..FaultRates::default() };
    Faults::new(VersionedMemory::new(layout()), rates, 0);
}
