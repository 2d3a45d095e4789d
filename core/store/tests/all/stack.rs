//! The wrappers stack in any order, over any store.

use crate::common::{bytes, layout, place, version};
use ameles_core::store::Untrusted;
use ameles_store::{
    BitsPerSecond, Blobs, DenseMemory, FaultRates, Faults, Inventory, Link, LinkSpeed, Meter, Objects,
    OpenOptions, Recorder, Retry, RetryPolicy, VersionedMemory,
};
use std::time::Duration;

const SPEED: LinkSpeed = LinkSpeed {
    round_trip: Duration::from_millis(4),
    up: BitsPerSecond::mega(100),
    down: BitsPerSecond::mega(100),
};

async fn works(store: impl Untrusted + Blobs + Inventory) {
    let of = version(6, 1);
    store.write(&[of], &bytes(of)).await.unwrap();
    let mut into = [0; 16];
    store.read(&[place(6, 1, 1)], &mut into).await.unwrap();
    assert_eq!(into, bytes(of)[16..]);
    assert!(store.put_if_absent("header", b"x").await.unwrap());
    assert_eq!(store.list("").await.unwrap().len(), 1);
    let mut found = 0;
    store.list_bucket_versions(&mut |_, _| found += 1).await.unwrap();
    assert_eq!(found, 1);
    assert_eq!(store.sweep_unfinished().await.unwrap(), 0);
    store.delete(&[of]).await.unwrap();
    assert_eq!(store.layout(), &layout());
}

#[tokio::test(start_paused = true)]
async fn wrappers_stack_in_any_order() {
    let dense = || DenseMemory::new(layout());
    let none = FaultRates::default();
    let policy = RetryPolicy::default();
    works(Recorder::new(Meter::new(Link::new(Faults::new(Retry::new(dense(), policy, 1), none, 1), SPEED))))
        .await;
    works(Retry::new(Faults::new(Link::new(Meter::new(Recorder::new(dense())), SPEED), none, 1), policy, 1))
        .await;
    let objects = Objects::open("memory:", &OpenOptions::default()).await.unwrap();
    works(Meter::new(Retry::new(Recorder::new(objects.with_layout(layout())), policy, 1))).await;
    let shared = std::sync::Arc::new(VersionedMemory::new(layout()));
    works(&std::rc::Rc::new(Meter::new(shared))).await;
}
