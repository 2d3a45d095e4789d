//! The link's arithmetic, in virtual time.

use crate::common::{layout, place, version};
use ameles_core::store::Untrusted;
use ameles_core::tree::layout::{Extent, Layout};
use ameles_store::{BitsPerSecond, Blobs, Link, LinkSpeed, VersionedMemory};
use std::time::Duration;
use tokio::time::Instant;

/// 1 byte a microsecond down, 2 bytes a microsecond up, 20 ms there and back.
const SPEED: LinkSpeed = LinkSpeed {
    round_trip: Duration::from_millis(20),
    up: BitsPerSecond::mega(16),
    down: BitsPerSecond::mega(8),
};

/// Ten buckets of one slot of 10,000 bytes: 10 ms down, 5 ms up.
fn shape() -> Layout {
    Layout::new(vec![Extent { buckets: 10, slots: 1, slot_bytes: 10_000 }])
}

async fn filled() -> Link<VersionedMemory> {
    let memory = VersionedMemory::new(shape());
    for bucket in 0..10 {
        memory.write(&[version(bucket, 1)], &[1; 10_000]).await.unwrap();
    }
    Link::new(memory, SPEED)
}

async fn millis(work: impl Future<Output = ()>) -> u128 {
    let start = Instant::now();
    work.await;
    start.elapsed().as_millis()
}

async fn read(link: &impl Untrusted, buckets: std::ops::Range<u64>) {
    let places: Vec<_> = buckets.map(|bucket| place(bucket, 1, 0)).collect();
    link.read(&places, &mut vec![0; places.len() * 10_000]).await.unwrap();
}

async fn write(link: &impl Untrusted, buckets: std::ops::Range<u64>) {
    let versions: Vec<_> = buckets.map(|bucket| version(bucket, 2)).collect();
    link.write(&versions, &vec![0; versions.len() * 10_000]).await.unwrap();
}

#[test]
fn a_transfer_takes_its_bits_over_the_bandwidth() {
    assert_eq!(BitsPerSecond::mega(8).time_for(1_000_000), Duration::from_secs(1));
    // 64 KiB at 510 Mbit/s: 524288 bits / 510e6, rounded up to the nanosecond.
    assert_eq!(BitsPerSecond::mega(510).time_for(65_536), Duration::from_nanos(1_028_016));
    assert_eq!(BitsPerSecond(0).time_for(u64::MAX), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_lone_call_takes_the_round_trip_and_its_transfer() {
    let link = filled().await;
    assert_eq!(millis(read(&link, 0..1)).await, 20 + 10);
    assert_eq!(millis(read(&link, 0..4)).await, 20 + 40);
    assert_eq!(millis(write(&link, 0..4)).await, 20 + 20);
    assert_eq!(millis(async { link.delete(&[version(0, 1)]).await.unwrap() }).await, 20);
    assert_eq!(millis(async { link.put("blob", &[0; 2_000]).await.unwrap() }).await, 20 + 1);
    assert_eq!(millis(async { drop(link.get("blob", 2_000).await.unwrap()) }).await, 20 + 2);
    assert_eq!(millis(async { drop(link.get("none", 2_000).await.unwrap()) }).await, 20);
}

#[tokio::test(start_paused = true)]
async fn latency_does_not_queue_and_bandwidth_does() {
    let link = filled().await;
    // All four requests travel at once; their answers follow one another.
    let all = async {
        let four = (0..4).map(|bucket| read(&link, bucket..bucket + 1));
        futures::future::join_all(four).await;
    };
    assert_eq!(millis(all).await, 20 + 40);
    // Reads one after the other pay the latency each time.
    let one_by_one = async {
        for bucket in 0..4 {
            read(&link, bucket..bucket + 1).await;
        }
    };
    assert_eq!(millis(one_by_one).await, 4 * (20 + 10));
}

#[tokio::test(start_paused = true)]
async fn the_two_directions_do_not_disturb_each_other() {
    let link = filled().await;
    let both = async {
        let reading = async { assert_eq!(millis(read(&link, 0..6)).await, 20 + 60) };
        let writing = async { assert_eq!(millis(write(&link, 0..8)).await, 20 + 40) };
        futures::join!(writing, reading);
    };
    assert_eq!(millis(both).await, 80);
}

#[tokio::test(start_paused = true)]
async fn the_line_is_first_come_first_served() {
    let link = filled().await;
    let first = async { assert_eq!(millis(read(&link, 0..5)).await, 20 + 50) };
    let second = async { assert_eq!(millis(read(&link, 5..6)).await, 20 + 50 + 10) };
    let late = async {
        // Sets out when the line has been idle for a while.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(millis(read(&link, 0..1)).await, 20 + 10);
    };
    futures::join!(first, second, late);
}

#[tokio::test(start_paused = true)]
async fn a_write_takes_effect_when_it_has_arrived() {
    let link = Link::new(VersionedMemory::new(layout()), SPEED);
    let memory = link.inner().clone();
    let of = version(0, 1);
    let writing = async { link.write(&[of], &[0; 32]).await.unwrap() };
    let watching = async {
        tokio::time::sleep(Duration::from_millis(9)).await;
        assert_eq!(memory.bucket(of), None);
        tokio::time::sleep(Duration::from_millis(3)).await;
        assert!(memory.bucket(of).is_some());
    };
    futures::join!(writing, watching);
}

#[tokio::test]
async fn a_precise_link_keeps_real_time() {
    let speed = LinkSpeed::unlimited(Duration::from_millis(8));
    let link = Link::new(VersionedMemory::new(layout()), speed).precise();
    for _ in 0..3 {
        let start = std::time::Instant::now();
        link.delete(&[version(0, 1)]).await.unwrap();
        assert!(start.elapsed() >= Duration::from_millis(8), "{:?}", start.elapsed());
    }
}
