//! The store's view of the requests of clients through the doors.
//!
//! Mixes of requests of equal volume, which could hardly differ more otherwise, must have as many accesses begun
//! together, each time, the same buckets written, and leaves read that are distributed alike. Under a pace they must
//! show the same requests at the same times, to the nanosecond of virtual time, whether or not a client asks.
//!
//! No false alarms but one in 2^32 for the slots: everything else that is compared is fixed.

use super::client::{Client, Door};
use super::environment::{BLOCK, MAX_BATCH, Setup, World, ring_parameters};
use super::support::intercepted::Request;
use super::support::recorder::{TimedEvent, TraceEvent};
use super::support::rng::TestRng;
use super::support::shape::{Shape, shape};
use ameles_core::testing::oblivious::ALARM_LOG2;
use ameles_core::testing::oblivious::statistics::{homogeneous, tally};
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, sleep_until};

/// Blocks of each request: whole batches, parts of one, and several.
const VOLUMES: [usize; 6] = [1, 3, MAX_BATCH, 2, 9, 2 * MAX_BATCH];
/// Requests of a mix.
const REQUESTS: usize = 240;
/// The pause after each of them, so that evictions end before the next one.
const PAUSE: Duration = Duration::from_secs(2);

const TURN: Duration = Duration::from_millis(800);
const QUICK: Duration = Duration::from_millis(40);
const LASTS: Duration = Duration::from_secs(120);
/// Clients that asked for the last time so long before the end are served by then.
const LAST_ORDERS: Duration = Duration::from_secs(60);

/// The requests of a client. Each request has the volume of its turn, and one follows the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    /// An object of each size is read over and over, through one door.
    Hot,
    /// Objects are written, under ever other names, through the other.
    Spread,
    /// Through both: old objects are read and replaced, at random, whole and in ranges.
    Everything,
}

impl Mix {
    const ALL: [Mix; 3] = [Mix::Hot, Mix::Spread, Mix::Everything];
}

/// A key of this size; there are `NAMES` of each.
fn key(blocks: usize, name: u64) -> String {
    format!("{blocks}/{name}")
}

const NAMES: u64 = 3;

async fn fill(client: &Client) {
    for blocks in VOLUMES {
        for name in 0..NAMES {
            let put = client.put(Door::S3, &key(blocks, name), &vec![1; blocks * BLOCK]).await;
            assert_eq!(put.expect("it lives").status, 200);
        }
    }
}

async fn ask(client: &Client, mix: Mix, nth: usize, rng: &mut TestRng) {
    let blocks = VOLUMES[nth % VOLUMES.len()];
    let body = vec![rng.below(256) as u8; blocks * BLOCK];
    let status = match mix {
        Mix::Hot => client.get(Door::S3, &key(blocks, 0)).await,
        Mix::Spread => client.put(Door::Swift, &key(blocks, nth as u64 % NAMES), &body).await,
        Mix::Everything => {
            let (door, key) = (rng.one_of(&Door::BOTH), key(blocks, rng.below(NAMES)));
            match rng.below(3) {
                0 => client.put(door, &key, &body).await,
                1 => client.get(door, &key).await,
                // From the midst of the first block to the midst of the last one.
                _ => client.get_range(door, &key, BLOCK / 2, body.len() - BLOCK / 2).await,
            }
        }
    };
    let status = status.expect("it lives").status;
    assert!((200..300).contains(&status), "{status}");
}

/// Runs work in virtual time.
fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime"), work)
}

/// The trace of a mix, from the first request to the last.
fn trace(mix: Mix, flawed: bool, seed: u64) -> Vec<TimedEvent> {
    run(async {
        let mut world = World::new(Setup { round_trip: QUICK, turn: None, flawed }, seed).await;
        let mut rng = TestRng::of(!seed);
        let serving = world.open(None).await.expect("nobody kills it");
        let client = serving.client().await;
        client.make_container().await.expect("it lives");
        fill(&client).await;
        sleep(PAUSE).await;
        world.recorder.clear();
        for nth in 0..REQUESTS {
            ask(&client, mix, nth, &mut rng).await;
            sleep(PAUSE).await;
        }
        let trace = world.recorder.take_trace();
        world.close(serving).await;
        trace
    })
}

/// The store's view, with its times, but for leaves and slots.
fn public_shape(trace: &[TimedEvent]) -> Vec<(Duration, Shape)> {
    let is_seen = |shape: &Shape| {
        !matches!(
            shape,
            Shape::Other(
                TraceEvent::Batch(_) | TraceEvent::Begun(_) | TraceEvent::Served | TraceEvent::IsOpen
            )
        )
    };
    shape(&ring_parameters(), trace).into_iter().filter(|(_, shape)| is_seen(shape)).collect()
}

/// The number of accesses begun together, each time, and every request but for reads, in order.
///
/// A read leaves out buckets that are in flight, and there is none if all of its path is. Which leaves those are is for
/// statistics. A look for a newer claim comes with time alone, and the mixes take different times.
fn calls(trace: &[TimedEvent]) -> (Vec<u64>, Vec<Request>) {
    let (mut begun, mut requests) = (Vec::new(), Vec::new());
    for (_, moment) in trace {
        match moment {
            TraceEvent::Begun(accesses) => begun.push(*accesses),
            TraceEvent::Asks { request: Request::Read(_), .. } => {}
            TraceEvent::Asks { request, .. } if request.is_lease_check() => {}
            TraceEvent::Asks { request, .. } => requests.push(request.clone()),
            _ => {}
        }
    }
    (begun, requests)
}

/// The number of reads of each leaf's bucket.
fn leaves(trace: &[TimedEvent]) -> Vec<u64> {
    let tree = ring_parameters().geometry();
    let first = (1 << ring_parameters().leaf_level.0) - 1;
    let places = trace.iter().filter_map(|(_, moment)| match moment {
        TraceEvent::Asks { request: Request::Read(places), .. } => Some(places),
        _ => None,
    });
    let buckets = places.flatten().map(|place| place.slot.bucket);
    let leaves = buckets.filter(|&bucket| tree.level_of(bucket) == ring_parameters().leaf_level);
    tally(1 << ring_parameters().leaf_level.0, leaves.map(|bucket| bucket.0 as usize - first))
}

/// The place where two lists part.
fn parting<T: PartialEq + std::fmt::Debug>(one: &[T], other: &[T]) -> Option<String> {
    let at = (0..one.len().max(other.len())).find(|&at| one.get(at) != other.get(at))?;
    Some(format!("moment {at}: {:?} and {:?}", one.get(at), other.get(at)))
}

#[test]
fn mixes_of_equal_volume_through_the_doors_look_the_same_to_the_store() {
    let traces = Mix::ALL.map(|mix| (mix, trace(mix, false, mix as u64)));
    let (first, hot) = &traces[0];
    let reads = hot.iter().filter(|(_, moment)| matches!(moment, TraceEvent::Asks { .. })).count();
    assert!(reads > 2 * REQUESTS, "{reads} requests of the store are too few to mean anything");
    for (mix, trace) in &traces[1..] {
        let ((hot_begun, hot_requests), (begun, requests)) = (calls(hot), calls(trace));
        assert_eq!(parting(&hot_begun, &begun), None, "{first:?} and {mix:?}");
        assert_eq!(parting(&hot_requests, &requests), None, "{first:?} and {mix:?}");
        let finding = homogeneous(format!("leaves of {first:?} and {mix:?}"), &leaves(hot), &leaves(trace));
        assert!(finding.log2_p > ALARM_LOG2, "{finding:?}");
    }
}

#[test]
fn a_gateway_that_spares_what_it_remembers_is_caught() {
    let [(hot, _), (spread, _)] = [Mix::Hot, Mix::Spread].map(|mix| calls(&trace(mix, true, 7)));
    assert!(parting(&hot, &spread).is_some());
}

/// The store's view of a life at a pace, or without one, and how many requests were answered.
fn paced(mix: Option<Mix>, turn: Option<Duration>, seed: u64) -> (Vec<(Duration, Shape)>, u64) {
    run(async {
        let mut world = World::new(Setup { round_trip: QUICK, turn, flawed: false }, seed).await;
        let mut rng = TestRng::of(!seed);
        let serving = world.open(None).await.expect("nobody kills it");
        let until = Instant::now() + LASTS;
        let mut answered = 0;
        if let Some(mix) = mix {
            let client = serving.client().await;
            client.make_container().await.expect("it lives");
            fill(&client).await;
            while Instant::now() < until - LAST_ORDERS {
                ask(&client, mix, rng.below(6) as usize, &mut rng).await;
                sleep(Duration::from_micros(rng.below(900_000))).await;
                answered += 1;
            }
        }
        sleep_until(until).await;
        world.close(serving).await;
        (public_shape(&world.recorder.take_trace()), answered)
    })
}

#[test]
fn at_a_pace_neither_requests_nor_their_times_tell_whether_anybody_asks() {
    let (silent, _) = paced(None, Some(TURN), 1);
    assert!(silent.len() as u128 > LASTS.as_millis() / TURN.as_millis(), "{} moments", silent.len());
    for mix in Mix::ALL {
        let (busy, answered) = paced(Some(mix), Some(TURN), 2 + mix as u64);
        assert!(answered > 5, "{answered} requests were answered");
        assert_eq!(parting(&silent, &busy), None, "{mix:?}");
    }
}

#[test]
fn without_a_pace_it_shows_whether_anybody_asks() {
    let (silent, _) = paced(None, None, 1);
    let (busy, _) = paced(Some(Mix::Hot), None, 2);
    assert!(parting(&silent, &busy).is_some());
}
