//! A provider's limits refuse what a real one refuses, and nothing else.

use crate::common::{BUCKET, bytes, layout, place, version};
use ameles_core::store::{BucketVersion, Untrusted, UntrustedError};
use ameles_core::types::Bytes;
use ameles_store::{
    Blobs, Inventory, Provider, ProviderLimits, ProviderRefusal, Retry, RetryPolicy, VersionedMemory,
};
use std::error::Error;
use std::time::Duration;

fn provider(limits: ProviderLimits) -> (VersionedMemory, Provider<VersionedMemory>) {
    let memory = VersionedMemory::new(layout());
    (memory.clone(), Provider::new(memory, limits, 1))
}

fn refusal(error: &(dyn Error + Send + Sync + 'static)) -> ProviderRefusal {
    *error.downcast_ref().expect("a provider's refusal")
}

#[tokio::test]
async fn an_object_above_the_largest_put_is_refused_for_good_and_one_of_that_size_is_not() {
    assert_eq!(ProviderLimits::S3.max_put, Bytes(5 * 1024 * 1024 * 1024));
    let max = BUCKET as u64;
    let (memory, store) = provider(ProviderLimits { max_put: Bytes(max), ..ProviderLimits::S3 });
    let of = version(0, 1);
    store.write(&[of], &bytes(of)).await.unwrap();
    store.put("fits", &[1; BUCKET]).await.unwrap();
    for refused in [
        store.put("larger", &[1; BUCKET + 1]).await,
        store.put_if_absent("larger", &[1; BUCKET + 1]).await.map(drop),
    ] {
        let Err(ameles_store::BlobError::Store(UntrustedError::Refused(why))) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(refusal(&*why), ProviderRefusal::TooLarge { bytes: max + 1, max });
    }
    store.control().set_limits(ProviderLimits { max_put: Bytes(max - 1), ..ProviderLimits::S3 });
    let of = version(1, 1);
    assert!(matches!(store.write(&[of], &bytes(of)).await, Err(UntrustedError::Refused(_))));
    assert_eq!(memory.bucket_versions(), [version(0, 1)]);
    let names: Vec<_> = memory.list("").await.unwrap().into_iter().map(|blob| blob.name).collect();
    assert_eq!(names, ["fits"]);
    assert_eq!((store.control().counts().too_large, store.control().counts().largest), (3, max));
}

#[tokio::test]
async fn a_list_takes_a_request_for_each_page_and_is_whole() {
    let (memory, store) = provider(ProviderLimits { page: 3, ..ProviderLimits::S3 });
    for nth in 0..10 {
        memory.put(&format!("name/{nth}"), b"x").await.unwrap();
        memory.write(&[version(nth, 1)], &bytes(version(nth, 1))).await.unwrap();
    }
    assert_eq!(store.list("name/").await.unwrap(), memory.list("name/").await.unwrap());
    assert_eq!(store.control().counts().requests, 4);
    let mut found: Vec<BucketVersion> = Vec::new();
    store.list_bucket_versions(&mut |of, _| found.push(of)).await.unwrap();
    assert_eq!(found, memory.bucket_versions());
    assert_eq!((store.control().counts().requests, store.control().counts().further_pages), (8, 6));
}

#[tokio::test]
async fn a_list_that_is_refused_at_a_later_page_has_told_the_earlier_ones_and_is_no_whole_list() {
    let limits = ProviderLimits { page: 2, bursts: 0.3, longest_burst: 1, ..ProviderLimits::S3 };
    let (memory, store) = provider(ProviderLimits::S3);
    store.control().set_limits(limits);
    for bucket in 0..12 {
        memory.write(&[version(bucket, 1)], &bytes(version(bucket, 1))).await.unwrap();
    }
    let mut cut_short = 0;
    for _ in 0..200 {
        let mut found = 0;
        match store.list_bucket_versions(&mut |_, _| found += 1).await {
            Ok(_) => assert_eq!(found, 12),
            Err(UntrustedError::Unavailable(why)) => {
                assert_eq!(refusal(&*why), ProviderRefusal::SlowDown);
                assert!(found < 12);
                cut_short += u64::from(found > 0);
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(cut_short > 50, "{cut_short} lists were cut short");
}

#[tokio::test]
async fn a_burst_refuses_requests_in_a_row_and_each_has_no_effect() {
    let limits = ProviderLimits { bursts: 0.1, longest_burst: 6, ..ProviderLimits::S3 };
    let (memory, store) = provider(limits);
    let (mut refused, mut in_a_row, mut longest) = (0, 0, 0);
    for counter in 1..=1000 {
        let of = version(0, counter);
        let is_refused = store.write(&[of], &bytes(of)).await.is_err();
        assert_eq!(memory.bucket(of).is_none(), is_refused);
        in_a_row = if is_refused { in_a_row + 1 } else { 0 };
        longest = longest.max(in_a_row);
        refused += u64::from(is_refused);
    }
    assert_eq!(store.control().counts().slowed_down, refused);
    // A tenth of the requests outside of a burst begin one, and a burst refuses 3.5 requests on average: about 260 of
    // 1000.
    assert!((150..400).contains(&refused) && longest >= 6, "{refused}, {longest} in a row");
}

#[tokio::test]
async fn some_buckets_of_a_write_may_be_there_when_a_burst_refuses_others() {
    let limits = ProviderLimits { bursts: 0.3, longest_burst: 2, ..ProviderLimits::S3 };
    let (memory, store) = provider(limits);
    let mut partly = 0;
    for counter in 1..=50 {
        let versions: Vec<_> = (0..12).map(|bucket| version(bucket, counter)).collect();
        let all: Vec<u8> = versions.iter().flat_map(|of| bytes(*of)).collect();
        let answer = store.write(&versions, &all).await;
        let there = versions.iter().filter(|of| memory.bucket(**of).is_some_and(|held| held == bytes(**of)));
        let there = there.count();
        assert_eq!(answer.is_ok(), there == 12);
        partly += u32::from(0 < there && there < 12);
    }
    assert!(partly > 40, "{partly} of 50");
}

#[tokio::test(start_paused = true)]
async fn a_retry_outlasts_bursts_that_are_shorter_than_its_patience() {
    let limits = ProviderLimits { bursts: 0.2, longest_burst: 4, page: 2, ..ProviderLimits::S3 };
    let (memory, store) = provider(limits);
    let policy = RetryPolicy {
        attempts: 200,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(5),
    };
    let store = Retry::new(store, policy, 1);
    for bucket in 0..12 {
        let of = version(bucket, 1);
        store.write(&[of], &bytes(of)).await.unwrap();
        assert!(store.put_if_absent(&format!("name/{bucket}"), b"mine").await.unwrap());
    }
    let mut into = [0; 16];
    store.read(&[place(6, 1, 0)], &mut into).await.unwrap();
    assert_eq!(store.list("").await.unwrap().len(), 12);
    store.delete(&memory.bucket_versions()).await.unwrap();
    assert_eq!(memory.bucket_versions(), []);
    assert!(store.inner().control().counts().slowed_down > 10);
}
