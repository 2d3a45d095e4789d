//! Oblivious scheduling, as Stefanov and Shi define it. Two sequences of the same length and timing give the same
//! events at the store, with their instants.
//!
//! The partitions that show are drawn once, for both sequences: each run gets the randomness under which it shows them.
//! A block's partition is drawn at the previous access, so every list of partitions is as probable under one sequence
//! as under the other. With the given list, the events must be equal to the microsecond. This test has no false alarms,
//! and misses leaks that only another list shows. The slots within a partition are the judge's affair.

use ameles_core::oram::{Access, Oram};
use ameles_core::partitions::PartitionsParameters;
use ameles_core::schemes::curious::{CuriousParameters, curious};
use ameles_core::schemes::oblivistore::{ObliviStoreParameters, oblivistore};
use ameles_core::store::Store;
use ameles_core::testing::mutants::{Edit, EditingStore, ReadsRandomPartition, SkipsHits};
use ameles_core::testing::virtual_time::{Clock, Micros, SlowStore, StoreEvent};
use ameles_core::testing::{Executor, TraceEntry, TraceStore, Work};
use ameles_core::types::{BlockId, Bucket};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

const BLOCKS: u64 = 60;
const ACCESSES: usize = 250;
const PARTITIONS: u32 = 8;

/// A request: the block, none for a dummy, and its instant.
type Request = (Option<BlockId>, Micros);

/// Randomness that was prepared, word by word.
struct Prepared(VecDeque<u64>);

impl RngCore for Prepared {
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.0.pop_front().expect("as many words as draws")
    }

    fn fill_bytes(&mut self, into: &mut [u8]) {
        into.fill_with(|| self.next_u64() as u8);
    }
}

/// The randomness under which a sequence shows these partitions. The partition of a block is drawn at the block's
/// access before.
fn under_which(requests: &[Request], shown: &[u32]) -> Prepared {
    // A word that is drawn below the number of partitions as this one.
    let word = |partition: u32| ((u128::from(partition) << 64) / u128::from(PARTITIONS)) as u64 + 1;
    let mut next: BTreeMap<BlockId, u32> = BTreeMap::new();
    let mut words = VecDeque::new();
    for ((block, _), partition) in requests.iter().zip(shown).rev() {
        let new = block.and_then(|block| next.insert(block, *partition));
        words.push_front(word(*partition));
        words.push_front(word(new.unwrap_or(0)));
    }
    Prepared(words)
}

/// Runs requests, each at its instant, while the pending work is done as soon as it is. Gives back when each
/// operation at the store was asked and answered, at which partition, and of how many slots.
fn events<S: Store, O: Oram>(
    requests: &[Request],
    store: &SlowStore<'_, S>,
    clock: &Clock,
    current_work: &Cell<Work>,
    partition_buckets: u64,
    oram: &O,
) -> Vec<(Micros, bool, Option<u64>, usize)> {
    let left = Cell::new(requests.len());
    let mut executor = Executor::new();
    for (block, instant) in requests {
        let left = &left;
        executor.spawn(telling(current_work, Work::Access, async move {
            clock.sleep_until(*instant).await;
            let mut payload = vec![0; oram.block_bytes()];
            let access = block.map_or(Access::Dummy, |block| Access::Read(block, &mut payload));
            oram.access(&mut [access]).await.unwrap();
            left.set(left.get() - 1);
        }));
    }
    executor.spawn(telling(current_work, Work::Step(0), async {
        while left.get() > 0 || oram.pending_steps() > 0 {
            match oram.pending_steps() {
                0 => clock.sleep(Micros(500)).await,
                _ => oram.step().await.unwrap(),
            }
        }
    }));
    clock.run(&mut executor);
    assert_eq!((left.get(), executor.unfinished(), oram.emergencies()), (0, 0, 0));
    let shape = |StoreEvent { at, operation, answered }| {
        let (first, slots) = match &operation {
            TraceEntry::Read(slots) => (slots.first().map(|slot| slot.bucket), slots.len()),
            TraceEntry::Write(buckets) => (buckets.first().copied(), buckets.len()),
        };
        (at, answered, first.map(|bucket| bucket.0 / partition_buckets), slots)
    };
    store.take_events().into_iter().map(shape).collect()
}

/// A future that tells, whenever it is polled, whose work continues.
async fn telling<F: Future>(current_work: &Cell<Work>, work: Work, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        current_work.set(work);
        future.as_mut().poll(context)
    })
    .await
}

/// Two sequences that could hardly differ more, with the same instants: bursts, and pauses between them.
fn sequences(seed: u64) -> (Vec<Request>, Vec<Request>, Vec<u32>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut at = 0;
    let instants: Vec<Micros> = (0..ACCESSES)
        .map(|nth| {
            at += if nth % 40 == 0 { 2_000_000 } else { random.next_u64() % 9000 };
            Micros(at)
        })
        .collect();
    // The first sequence is a few blocks again and again, some of them still in flight. The second is each block in
    // turn, with dummies.
    let few = (0..ACCESSES).map(|nth| Some(BlockId((nth as u64 * nth as u64 / 3) % 3)));
    let all = (0..ACCESSES).map(|nth| (nth % 7 > 0).then_some(BlockId(nth as u64 % BLOCKS)));
    let shown = (0..ACCESSES).map(|_| random.next_u32() % PARTITIONS).collect();
    (few.zip(instants.iter().copied()).collect(), all.zip(instants.iter().copied()).collect(), shown)
}

/// Returns whether two sequences give the same events in each of this many trials.
macro_rules! is_oblivious {
    ($layout:expr, $buckets:expr, $edit:expr, |$store:ident, $random:ident| $oram:expr) => {
        (0..8).all(|seed| {
            let (one, other, shown) = sequences(seed);
            let run = |requests: &[Request]| {
                let (clock, recorder) = (Clock::default(), TraceStore::new($layout));
                let current_work = Rc::new(Cell::new(Work::Access));
                let store = EditingStore::new(&recorder, $edit, 4, current_work.clone());
                let $store = &SlowStore::new(store, &recorder, &clock);
                let mut seeds = 0..;
                let mut prepared = Some(under_which(requests, &shown));
                let mut $random = || -> Box<dyn RngCore> {
                    match prepared.take() {
                        Some(prepared) => Box::new(prepared),
                        None => Box::new(ChaCha8Rng::seed_from_u64(seeds.next().unwrap())),
                    }
                };
                let oram = $oram;
                events(requests, $store, &clock, &current_work, $buckets, &oram)
            };
            run(&one) == run(&other)
        })
    };
}

/// Returns parameters for [`BLOCKS`] blocks with a cache that holds them all.
fn with_large_cache<P>(mut parameters: P, partitions: impl Fn(&mut P) -> &mut PartitionsParameters) -> P {
    let common = partitions(&mut parameters);
    common.cache_bound = 1000;
    assert_eq!(common.partitions, PARTITIONS);
    parameters
}

/// Parameters, and the buckets of a partition.
fn curious_parameters() -> (CuriousParameters, u64) {
    let parameters = CuriousParameters::for_capacity(BLOCKS, 4, 1);
    let buckets = parameters.tree.buckets();
    (with_large_cache(parameters, |of| &mut of.partitions), buckets)
}

fn oblivistore_parameters() -> (ObliviStoreParameters, u64) {
    let parameters = ObliviStoreParameters::for_capacity(BLOCKS, 4, 1);
    let slots = parameters.partition.slots();
    (with_large_cache(parameters, |of| &mut of.partitions), slots)
}

/// Returns whether a scheme of partitions is oblivious. The arguments are its parameters with the buckets of a
/// partition, and a function that builds it.
macro_rules! partitions_are_oblivious {
    ($parameters:expr, $new:ident, $edit:expr, |$oram:ident| $mutant:expr) => {{
        let (parameters, buckets) = $parameters;
        is_oblivious!(parameters.layout(), buckets, $edit, |store, random| {
            let $oram = $new(&parameters, Bucket(0), &store, &mut random).unwrap();
            $mutant
        })
    }};
}

macro_rules! curious_is_oblivious {
    ($($run:tt)*) => { partitions_are_oblivious!(curious_parameters(), curious, $($run)*) };
}

macro_rules! oblivistore_is_oblivious {
    ($($run:tt)*) => { partitions_are_oblivious!(oblivistore_parameters(), oblivistore, $($run)*) };
}

#[test]
fn every_event_of_curious_comes_at_the_same_instant_whatever_was_asked() {
    assert!(curious_is_oblivious!(Edit::Nothing, |oram| oram));
}

#[test]
fn every_event_of_oblivistore_comes_at_the_same_instant_whatever_was_asked() {
    assert!(oblivistore_is_oblivious!(Edit::Nothing, |oram| oram));
}

#[test]
fn the_flaw_of_the_original_oblivistore_is_caught() {
    // Where it had read many slots of a level already, a rebuild read only as many more slots as the level had blocks
    // left.
    assert!(!oblivistore_is_oblivious!(Edit::EvictsOnlyReal, |oram| oram));
}

#[test]
fn three_more_mistakes_in_scheduling_are_caught() {
    assert!(!oblivistore_is_oblivious!(Edit::Nothing, |oram| ReadsRandomPartition::new(oram)));
    assert!(!oblivistore_is_oblivious!(Edit::Nothing, |oram| SkipsHits::new(oram)));
    assert!(!oblivistore_is_oblivious!(Edit::StopsAtReal, |oram| oram));
    assert!(!oblivistore_is_oblivious!(Edit::SkipsEmptyBuckets, |oram| oram));
    assert!(!curious_is_oblivious!(Edit::Nothing, |oram| ReadsRandomPartition::new(oram)));
    assert!(!curious_is_oblivious!(Edit::Nothing, |oram| SkipsHits::new(oram)));
    assert!(!curious_is_oblivious!(Edit::SkipsEmptyBuckets, |oram| oram));
}
