//! The store's view of the requests of clients.
//!
//! The tests compare mixes of requests that have equal volume and otherwise differ as much as possible. All mixes must
//! start the same numbers of accesses together, write the same buckets, and read leaves with the same distribution. At
//! a pace, the store must see the same requests at the same times with or without clients, to the nanosecond of virtual
//! time.
//!
//! Only the comparison of leaves can raise a false alarm, with probability 2^-32: all other compared values are fixed.

use super::client::{Client, Protocol};
use super::environment::{BLOCK, MAX_BATCH, Settings, TestEnvironment, ring_parameters};
use super::support::intercepted::Request;
use super::support::recorder::{TimedEvent, TraceEvent};
use super::support::rng::TestRng;
use super::support::shape::{Shape, shape};
use ameles_core::testing::oblivious::ALARM_LOG2;
use ameles_core::testing::oblivious::statistics::{homogeneous, tally};
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, sleep_until};

/// The sizes of requests in blocks: whole batches, parts of a batch, and several batches.
const VOLUMES: [usize; 6] = [1, 3, MAX_BATCH, 2, 9, 2 * MAX_BATCH];
/// The number of requests of a mix.
const REQUESTS: usize = 240;
/// The pause after each request. Evictions end before the next one.
const PAUSE: Duration = Duration::from_secs(2);

const PACE: Duration = Duration::from_millis(800);
const ROUND_TRIP: Duration = Duration::from_millis(40);
const DURATION: Duration = Duration::from_secs(120);
/// The time between the last request and the end. All requests are answered within it.
const LAST_REQUEST: Duration = Duration::from_secs(60);

/// The requests of a client, one after the other. Their sizes follow `VOLUMES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    /// Reads one object of each size repeatedly, by S3.
    Hot,
    /// Writes objects under changing names, by Swift.
    Spread,
    /// Reads and replaces existing objects at random by both protocols, whole and in ranges.
    Everything,
}

impl Mix {
    const ALL: [Mix; 3] = [Mix::Hot, Mix::Spread, Mix::Everything];
}

/// Returns the key of an object of this size; each size has `NAMES` objects.
fn key(blocks: usize, name: u64) -> String {
    format!("{blocks}/{name}")
}

const NAMES: u64 = 3;

async fn fill(client: &Client) {
    for blocks in VOLUMES {
        for name in 0..NAMES {
            let put = client.put(Protocol::S3, &key(blocks, name), &vec![1; blocks * BLOCK]).await;
            assert_eq!(put.expect("it runs").status, 200);
        }
    }
}

async fn send(client: &Client, mix: Mix, index: usize, rng: &mut TestRng) {
    let blocks = VOLUMES[index % VOLUMES.len()];
    let body = vec![rng.below(256) as u8; blocks * BLOCK];
    let status = match mix {
        Mix::Hot => client.get(Protocol::S3, &key(blocks, 0)).await,
        Mix::Spread => client.put(Protocol::Swift, &key(blocks, index as u64 % NAMES), &body).await,
        Mix::Everything => {
            let (protocol, key) = (rng.one_of(&Protocol::BOTH), key(blocks, rng.below(NAMES)));
            match rng.below(3) {
                0 => client.put(protocol, &key, &body).await,
                1 => client.get(protocol, &key).await,
                // From the middle of the first block to the middle of the last one.
                _ => client.get_range(protocol, &key, BLOCK / 2, body.len() - BLOCK / 2).await,
            }
        }
    };
    let status = status.expect("it runs").status;
    assert!((200..300).contains(&status), "{status}");
}

/// Runs work in virtual time.
fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime"), work)
}

/// Returns the trace of a mix, from the first request to the last.
fn trace(mix: Mix, flawed: bool, seed: u64) -> Vec<TimedEvent> {
    run(async {
        let mut environment =
            TestEnvironment::new(Settings { round_trip: ROUND_TRIP, pace: None, flawed }, seed).await;
        let mut rng = TestRng::of(!seed);
        let instance = environment.open(None).await.expect("it is not killed");
        let client = instance.client().await;
        client.create_container().await.expect("it runs");
        fill(&client).await;
        sleep(PAUSE).await;
        environment.recorder.clear();
        for index in 0..REQUESTS {
            send(&client, mix, index, &mut rng).await;
            sleep(PAUSE).await;
        }
        let trace = environment.recorder.take_trace();
        environment.close(instance).await;
        trace
    })
}

/// Returns the store's view with its times, without leaves and slots.
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

/// Returns the number of accesses of each batch, and every request except reads, in order.
///
/// A read omits buckets that are in flight, and is omitted if its whole path is in flight. [`leaves`] counts the leaves
/// for the statistical test. The check for a newer claim depends only on time, and the mixes take different times.
fn batches_and_requests(trace: &[TimedEvent]) -> (Vec<u64>, Vec<Request>) {
    let (mut batches, mut requests) = (Vec::new(), Vec::new());
    for (_, event) in trace {
        match event {
            TraceEvent::Begun(accesses) => batches.push(*accesses),
            TraceEvent::Asks { request: Request::Read(_), .. } => {}
            TraceEvent::Asks { request, .. } if request.is_lease_check() => {}
            TraceEvent::Asks { request, .. } => requests.push(request.clone()),
            _ => {}
        }
    }
    (batches, requests)
}

/// Counts the reads of each leaf bucket.
fn leaves(trace: &[TimedEvent]) -> Vec<u64> {
    let tree = ring_parameters().geometry();
    let first = (1 << ring_parameters().leaf_level.0) - 1;
    let places = trace.iter().filter_map(|(_, event)| match event {
        TraceEvent::Asks { request: Request::Read(places), .. } => Some(places),
        _ => None,
    });
    let buckets = places.flatten().map(|place| place.slot.bucket);
    let leaves = buckets.filter(|&bucket| tree.level_of(bucket) == ring_parameters().leaf_level);
    tally(1 << ring_parameters().leaf_level.0, leaves.map(|bucket| bucket.0 as usize - first))
}

/// Describes the first difference of two lists.
fn first_difference<T: PartialEq + std::fmt::Debug>(one: &[T], other: &[T]) -> Option<String> {
    let at = (0..one.len().max(other.len())).find(|&at| one.get(at) != other.get(at))?;
    Some(format!("entry {at}: {:?} and {:?}", one.get(at), other.get(at)))
}

#[test]
fn mixes_of_equal_volume_look_the_same_to_the_store() {
    let traces = Mix::ALL.map(|mix| (mix, trace(mix, false, mix as u64)));
    let (first, hot) = &traces[0];
    let reads = hot.iter().filter(|(_, event)| matches!(event, TraceEvent::Asks { .. })).count();
    assert!(reads > 2 * REQUESTS, "{reads} requests of the store are too few to mean anything");
    for (mix, trace) in &traces[1..] {
        let ((hot_batches, hot_requests), (batches, requests)) =
            (batches_and_requests(hot), batches_and_requests(trace));
        assert_eq!(first_difference(&hot_batches, &batches), None, "{first:?} and {mix:?}");
        assert_eq!(first_difference(&hot_requests, &requests), None, "{first:?} and {mix:?}");
        let finding = homogeneous(format!("leaves of {first:?} and {mix:?}"), &leaves(hot), &leaves(trace));
        assert!(finding.log2_p > ALARM_LOG2, "{finding:?}");
    }
}

#[test]
fn a_gateway_that_caches_reads_is_detected() {
    let [(hot, _), (spread, _)] =
        [Mix::Hot, Mix::Spread].map(|mix| batches_and_requests(&trace(mix, true, 7)));
    assert!(first_difference(&hot, &spread).is_some());
}

/// Returns the store's view at a pace or without one, and the number of answered requests.
fn trace_at_pace(mix: Option<Mix>, pace: Option<Duration>, seed: u64) -> (Vec<(Duration, Shape)>, u64) {
    run(async {
        let mut environment =
            TestEnvironment::new(Settings { round_trip: ROUND_TRIP, pace, flawed: false }, seed).await;
        let mut rng = TestRng::of(!seed);
        let instance = environment.open(None).await.expect("it is not killed");
        let until = Instant::now() + DURATION;
        let mut answered = 0;
        if let Some(mix) = mix {
            let client = instance.client().await;
            client.create_container().await.expect("it runs");
            fill(&client).await;
            while Instant::now() < until - LAST_REQUEST {
                send(&client, mix, rng.below(6) as usize, &mut rng).await;
                sleep(Duration::from_micros(rng.below(900_000))).await;
                answered += 1;
            }
        }
        sleep_until(until).await;
        environment.close(instance).await;
        (public_shape(&environment.recorder.take_trace()), answered)
    })
}

#[test]
fn at_a_pace_neither_requests_nor_their_times_depend_on_the_clients() {
    let (silent, _) = trace_at_pace(None, Some(PACE), 1);
    assert!(silent.len() as u128 > DURATION.as_millis() / PACE.as_millis(), "{} requests", silent.len());
    for mix in Mix::ALL {
        let (busy, answered) = trace_at_pace(Some(mix), Some(PACE), 2 + mix as u64);
        assert!(answered > 5, "{answered} requests were answered");
        assert_eq!(first_difference(&silent, &busy), None, "{mix:?}");
    }
}

#[test]
fn without_a_pace_the_store_sees_whether_a_client_sends_requests() {
    let (silent, _) = trace_at_pace(None, None, 1);
    let (busy, _) = trace_at_pace(Some(Mix::Hot), None, 2);
    assert!(first_difference(&silent, &busy).is_some());
}
