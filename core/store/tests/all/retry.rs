//! A retry is the identical request, seen by a recorder underneath.

use crate::common::{bytes, layout, place, version};
use ameles_core::store::{Untrusted, UntrustedError};
use ameles_store::{
    Blobs, FaultRates, FaultSwitch, Faults, Recorder, Request, Retry, RetryPolicy, Trace, VersionedMemory,
};
use std::time::Duration;

const POLICY: RetryPolicy = RetryPolicy {
    attempts: 4,
    first_wait: Duration::from_millis(100),
    longest_wait: Duration::from_millis(250),
};

type Stack = Retry<Recorder<Faults<VersionedMemory>>>;

fn failing(rates: FaultRates) -> (VersionedMemory, Trace, FaultSwitch, Stack) {
    let memory = VersionedMemory::new(layout());
    let faults = Faults::new(memory.clone(), rates, 3);
    let switch = faults.switch();
    let recorder = Recorder::new(faults).with_digests();
    let trace = recorder.trace();
    (memory, trace, switch, Retry::new(recorder, POLICY, 9))
}

fn errors_after() -> FaultRates {
    FaultRates { error_after: 1.0, ..FaultRates::default() }
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_the_identical_request_again_until_the_limit() {
    let (_, trace, switch, store) = failing(errors_after());
    let (one, other) = (version(1, 1), version(5, 2));
    let start = tokio::time::Instant::now();
    let failed = store.write(&[one, other], &[bytes(one), bytes(other)].concat()).await;
    assert!(matches!(failed, Err(UntrustedError::Unavailable(_))));
    let events = trace.take();
    assert_eq!(events.len(), 4 * 2);
    for attempt in events.chunks(2) {
        for (event, first) in attempt.iter().zip(&events[..2]) {
            assert_eq!(event.request, first.request);
            assert_eq!(event.digest, first.digest);
            assert!(event.digest.is_some());
        }
    }
    let calls: Vec<_> = events.iter().map(|event| event.call).collect();
    assert_eq!(calls, [0, 0, 1, 1, 2, 2, 3, 3]);
    // Waits of about 100, 200 and 250 ms, each from half of it on, none above 250.
    let waited = start.elapsed().as_millis();
    assert!((275..=650 + 3).contains(&waited), "{waited} ms");

    let places = [place(5, 2, 0), place(1, 1, 3), place(1, 1, 2)];
    assert!(store.read(&places, &mut [0; 32]).await.is_err());
    let reads = trace.take();
    assert_eq!(reads.len(), 4 * 2);
    for attempt in reads.chunks(2) {
        assert_eq!(attempt[0].request, reads[0].request);
        assert_eq!(attempt[1].request, reads[1].request);
    }
    switch.set(false);
    store.read(&places, &mut [0; 32]).await.unwrap();
    assert_eq!(trace.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_back_is_noticed() {
    let (memory, trace, switch, store) = failing(errors_after());
    let of = version(2, 1);
    let healing = async {
        tokio::time::sleep(Duration::from_millis(180)).await;
        switch.set(false);
    };
    let (ofs, bytes) = ([of], bytes(of));
    let (answer, ()) = futures::join!(store.write(&ofs, &bytes), healing);
    answer.unwrap();
    assert!((2..=4).contains(&trace.len()), "{} attempts", trace.len());
    assert_eq!(memory.bucket(of).unwrap(), bytes);
}

#[tokio::test(start_paused = true)]
async fn what_no_retry_heals_is_asked_once() {
    let (_, trace, switch, store) = failing(FaultRates::default());
    let missing = store.read(&[place(0, 1, 0)], &mut [0; 8]).await;
    assert!(matches!(missing, Err(UntrustedError::Missing(_))));
    assert_eq!(trace.len(), 1);
    assert_eq!(switch.counts().all(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_meets_its_own_effect_was_a_creation() {
    let (memory, trace, switch, store) = failing(errors_after());
    let healing = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        switch.set(false);
    };
    let (created, ()) = futures::join!(store.put_if_absent("epoch", b"mine"), healing);
    assert!(created.unwrap());
    let epoch = || "epoch".to_owned();
    let create = Request::CreateBlob(epoch());
    assert_eq!(trace.requests(), [create.clone(), create, Request::GetBlob(epoch())]);

    // Somebody else's blob is not taken for the caller's own, after failed attempts or without.
    memory.put("other", b"theirs, and longer").await.unwrap();
    assert!(!store.put_if_absent("other", b"mine").await.unwrap());
    switch.set(true);
    let healing = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        switch.set(false);
    };
    let (created, ()) = futures::join!(store.put_if_absent("other", b"mine"), healing);
    assert!(!created.unwrap());
}
