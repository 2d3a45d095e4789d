//! The local reads of a vault whose tree top is on the trusted disk. Their number, and when requests leave after them,
//! follow from what the store is asked.

use super::vaults;
use crate::promises::fixture::{BLOCK_BYTES, CAPACITY, block};
use crate::support::fragile_disk::FragileDisk;
use crate::support::intercepted::Request;
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::rng::TestRng;
use crate::support::{header, parameters, setup, with_top_on_disk};
use ameles_core::types::{BlockId, Bucket};
use ameles_store::VersionedMemory;
use ameles_vault::{Call, SchemeParameters, Vault, VaultParameters};
use futures::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// The time that a local read takes.
const READ: Duration = Duration::from_millis(7);

/// Workloads that could hardly differ more.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Workload {
    /// The workload reads the same few blocks, which are usually in the stash.
    Hits,
    /// All blocks in turn, which are usually in the tree.
    Misses,
    Writes,
    /// A single block, as often as a batch has calls.
    Repeats,
    Dummies,
    /// The vault is empty: the stash stays empty for long.
    Empty,
}

const WORKLOADS: [Workload; 6] = [
    Workload::Hits,
    Workload::Misses,
    Workload::Writes,
    Workload::Repeats,
    Workload::Dummies,
    Workload::Empty,
];

impl Workload {
    fn calls(self, batch: u64, nth: u64, rng: &mut TestRng) -> Vec<Call> {
        let call = |at: u64| match self {
            Workload::Hits => Call::Read(BlockId((nth + at) % 3)),
            Workload::Misses | Workload::Empty => Call::Read(BlockId((nth * batch + at) % CAPACITY)),
            Workload::Writes => Call::Write(BlockId((nth * 5 + at) % CAPACITY), block(nth as u8).into()),
            Workload::Repeats => Call::Read(BlockId(nth % CAPACITY)),
            Workload::Dummies => Call::Dummy,
        };
        let calls = 1 + rng.below(batch);
        (0..calls).map(call).collect()
    }
}

/// A batch as seen from the disk and from the store.
#[derive(Debug)]
struct StepReads {
    calls: usize,
    /// The slots that were read until no work was due any more.
    reads: usize,
    /// The buckets that were written meanwhile.
    written: Vec<Bucket>,
    /// The time from the call to the first request.
    leaves: Option<Duration>,
    /// The buckets that are written at the same time: by an eviction that has nothing to read.
    at_once: Vec<Bucket>,
}

/// Makes a vault, fills it, and requests batches one after the other, each when no work is due from the previous one.
async fn watch(parameters: &VaultParameters, workload: Workload, seed: u64) -> Vec<StepReads> {
    let header = header(parameters.clone(), seed);
    let disk = FragileDisk::default();
    let recorder = Recorder::new();
    let store = VersionedMemory::new(header.parameters.layout());
    let mounted = disk.mount().unwrap();
    Vault::create(&mut setup(&mounted, recorder.over(store.clone()), seed), &header).await.unwrap();
    let (vault, running) = Vault::start(setup(&mounted, recorder.over(store), seed + 1)).await.unwrap();
    let asking = async {
        let mut rng = TestRng::of(seed);
        let batch = vault.max_batch() as u64;
        for nth in 0..if workload == Workload::Empty { 0 } else { 5 * CAPACITY / batch } {
            let write = |at| Call::Write(BlockId((nth * batch + at) % CAPACITY), block(nth as u8).into());
            vault.access((0..batch).map(write).collect()).await.unwrap();
        }
        settle(&vault).await;
        disk.read_slowly(READ);
        let mut all = Vec::new();
        for nth in 0..60 {
            recorder.clear();
            disk.take_slot_reads();
            let calls = workload.calls(batch, nth, &mut rng);
            let len = calls.len();
            vault.access(calls).await.unwrap();
            settle(&vault).await;
            let reads = disk.take_slot_reads().len();
            let trace = recorder.take_trace();
            let asks = || {
                trace.iter().filter_map(|(at, moment)| match moment {
                    TraceEvent::Asks { request, .. } if !request.is_lease_check() => Some((*at, request)),
                    _ => None,
                })
            };
            let buckets = |(at, request): (Duration, &Request)| match request {
                Request::Write(buckets) => buckets.iter().map(|written| (at, written.bucket)).collect(),
                _ => Vec::new(),
            };
            let written: Vec<(Duration, Bucket)> = asks().flat_map(buckets).collect();
            // While no bucket was written yet, a batch makes no request.
            let leaves = asks().next().map(|(at, _)| at);
            let at_once = written.iter().filter(|(at, _)| Some(*at) == leaves).map(|(_, bucket)| *bucket);
            let at_once = at_once.collect();
            let written = written.into_iter().map(|(_, bucket)| bucket).collect();
            all.push(StepReads { calls: len, reads, written, leaves, at_once });
        }
        all
    };
    match select(pin!(asking), pin!(running)).await {
        Either::Left((seen, _)) => seen,
        Either::Right(_) => panic!("the vault has stopped: {:?}", vault.failure()),
    }
}

/// Waits until no work is due.
async fn settle(vault: &Vault) {
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(vault.status().evictions_pending, 0);
}

/// Returns the number of blocks for which a bucket has room.
fn room(parameters: &VaultParameters, bucket: Bucket) -> usize {
    match &parameters.scheme {
        SchemeParameters::Ring(ring) => {
            let tree = ring.geometry();
            tree.shape(tree.level_of(bucket)).blocks as usize
        }
        SchemeParameters::Path(path) => path.blocks_per_bucket as usize,
        SchemeParameters::Trivial(_) => 0,
    }
}

#[tokio::test(start_paused = true)]
async fn the_local_reads_follow_from_the_calls_and_the_buckets_that_are_written() {
    for parameters in vaults() {
        // No upload reads slots meanwhile.
        let parameters = VaultParameters { ship_every: 1 << 20, ..parameters };
        for workload in WORKLOADS {
            let all = watch(&parameters, workload, 1).await;
            assert!(all.iter().any(|seen| !seen.written.is_empty()), "{workload:?}: nothing was evicted");
            for seen in all {
                let written = seen.written.iter().map(|bucket| room(&parameters, *bucket)).sum::<usize>();
                let name = parameters.scheme.name();
                assert_eq!(seen.reads, seen.calls + written, "{name}, {workload:?}: {seen:?}");
            }
        }
    }
}

/// A tree of leaves only, each written often, whose evictions are due at fixed accesses.
fn leaves_alone() -> VaultParameters {
    with_top_on_disk(VaultParameters { ship_every: 1 << 20, ..parameters(CAPACITY, BLOCK_BYTES, 4, 40) })
}

#[tokio::test(start_paused = true)]
async fn a_request_leaves_over_a_slow_disk_when_the_number_of_calls_says() {
    let parameters = leaves_alone();
    let mut met = 0;
    for workload in WORKLOADS {
        for seen in watch(&parameters, workload, 2).await {
            // An eviction's own reads of the store are requested at the same time.
            let Some(leaves) = seen.leaves else { continue };
            let at_once = seen.at_once.iter().map(|bucket| room(&parameters, *bucket)).sum::<usize>();
            assert_eq!(leaves, READ * (seen.calls + at_once) as u32, "{workload:?}: {seen:?}");
            met += 1;
        }
    }
    assert!(met > 200, "{met} batches asked the store for something");
}
