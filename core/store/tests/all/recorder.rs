//! The trace holds the requests that went out, in the order in which they went out.

use crate::common::{bytes, layout, place, version};
use ameles_core::store::Untrusted;
use ameles_core::types::Bytes;
use ameles_store::{Blobs, Inventory, Link, LinkSpeed, RangeRequest, Recorder, Request, VersionedMemory};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[tokio::test]
async fn every_request_is_recorded_with_its_place_and_length() {
    let clock = Arc::new(AtomicU64::new(0));
    let ticks = clock.clone();
    let store = Recorder::new(VersionedMemory::new(layout()))
        .with_clock(move || Duration::from_secs(ticks.fetch_add(1, Ordering::SeqCst)))
        .with_digests();
    let trace = store.trace();
    let (one, other) = (version(1, 1), version(5, 2));
    store.write(&[one, other], &[bytes(one), bytes(other)].concat()).await.unwrap();
    let places = [place(5, 2, 1), place(1, 1, 2), place(1, 1, 1)];
    store.read(&places, &mut [0; 32]).await.unwrap();
    store.delete(&[one]).await.unwrap();
    store.put("header", b"hello").await.unwrap();
    assert!(!store.put_if_absent("header", b"other!").await.unwrap());
    store.get("header", 100).await.unwrap();
    store.list("he").await.unwrap();
    store.remove("header").await.unwrap();
    store.list_bucket_versions(&mut |_, _| {}).await.unwrap();
    // Calls that request nothing show nothing.
    store.read(&[], &mut []).await.unwrap();
    store.write(&[], &[]).await.unwrap();

    let range = |of, first_slot, slots| Request::Read(RangeRequest { of, first_slot, slots });
    let header = || "header".to_owned();
    let expected = [
        (0, Request::Write(one), 32),
        (0, Request::Write(other), 32),
        (1, range(one, 1, 2), 16),
        (1, range(other, 1, 1), 16),
        (2, Request::Delete(one), 0),
        (3, Request::PutBlob(header()), 5),
        (4, Request::CreateBlob(header()), 6),
        (5, Request::GetBlob(header()), 5),
        (6, Request::ListBlobs("he".to_owned()), 0),
        (7, Request::DeleteBlob(header()), 0),
        (8, Request::ListVersions, 0),
    ];
    let events = trace.events();
    assert_eq!(events.len(), expected.len());
    for (event, (call, request, len)) in events.iter().zip(expected) {
        assert_eq!((event.call, &event.request, event.bytes), (call, &request, Bytes(len)));
        // One call at a time: each is a round of its own, and a tick of the clock.
        assert_eq!(event.round, call);
        assert_eq!(event.at, Some(Duration::from_secs(call)));
        let carries = matches!(request, Request::Write(_) | Request::PutBlob(_) | Request::CreateBlob(_));
        assert_eq!(event.digest.is_some(), carries);
    }
    assert_ne!(events[0].digest, events[1].digest);
}

#[tokio::test(start_paused = true)]
async fn requests_of_one_round_went_out_before_any_of_them_was_answered() {
    let speed = LinkSpeed::unlimited(Duration::from_millis(20));
    let store = Recorder::new(Link::new(VersionedMemory::new(layout()), speed));
    let of = version(0, 1);
    store.write(&[of], &bytes(of)).await.unwrap();
    let read = async |slot| store.read(&[place(0, 1, slot)], &mut [0; 8]).await.unwrap();
    futures::join!(read(0), read(1), async {
        read(2).await;
        read(3).await;
    });
    let events = store.trace().take();
    let rounds: Vec<_> = events.iter().map(|event| (event.call, event.round)).collect();
    assert_eq!(rounds, [(0, 0), (1, 1), (2, 1), (3, 1), (4, 2)]);
    assert!(store.trace().is_empty());
    read(0).await;
    let events = store.trace().take();
    assert_eq!((events[0].call, events[0].round), (5, 3));
}
