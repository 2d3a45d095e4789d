//! The traces that observers of both stores see. Kind, size and **time** of every request, in virtual time, do not
//! depend on what the clients ask, but only on when they ask. Levels are compared as well; leaves and slots are tested
//! with the schemes. Deliberately broken ways to serve must be caught.

use super::serving::{ClientApi, Serving};
use crate::support::over_ring;
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::shape::{Shape, shape};
use crate::support::{header, memory_disk, setup};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::testing::small_ring;
use ameles_core::types::{BlockId, Level};
use ameles_store::{Link, LinkSpeed, VersionedMemory};
use ameles_vault::AnyStore;
use ameles_vault::{Call, Copier, MirroredVaults, Setup, TrustedDisk, Vault};
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

const BLOCKS: u64 = 64;
const BLOCK_BYTES: u32 = 16;
const MAX_BATCH: u32 = 4;
/// The number of calls of a client, and also of the copier's batches between them.
const STEPS: u64 = 40;
/// A pause that is longer than an access and its evictions.
const PAUSE: Duration = Duration::from_secs(3);
const QUICK: Duration = Duration::from_millis(40);
const SLOW: Duration = Duration::from_millis(300);

/// The requests of clients, as different as possible, but equally many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    Reads,
    Writes,
    OneBlock,
    ByTurns,
}

const MIXES: [Mix; 4] = [Mix::Reads, Mix::Writes, Mix::OneBlock, Mix::ByTurns];

impl Mix {
    fn calls(self, step: u64) -> Vec<Call> {
        let calls = 1 + step % 3;
        let call = |nth: u64| {
            let (block, writes) = match self {
                Mix::Reads => (step * 7 + nth, false),
                Mix::Writes => (step * 5 + nth, true),
                Mix::OneBlock => (9, false),
                Mix::ByTurns => (step + nth, step.is_multiple_of(2)),
            };
            let block = BlockId(block % BLOCKS);
            if writes {
                Call::Write(block, vec![step as u8; BLOCK_BYTES as usize].into())
            } else {
                Call::Read(block)
            }
        };
        (0..calls).map(call).collect()
    }
}

/// A small tree with so many slots that no bucket is ever read too often.
fn ring() -> RingParameters {
    RingParameters {
        capacity: BLOCKS,
        block_bytes: BLOCK_BYTES,
        top: Level(0),
        max_batch: MAX_BATCH,
        ..small_ring(80)
    }
}

/// The trace that an observer of a store has, and the number of accesses.
type Seen = (Vec<(Duration, Shape)>, u64);

struct VaultSide {
    disk: TrustedDisk,
    memory: VersionedMemory,
    recorder: Recorder,
    round_trip: Duration,
}

impl VaultSide {
    /// A vault in which every block, and so every bucket, is written.
    async fn new(round_trip: Duration, seed: u64) -> Self {
        let header = header(over_ring(ring(), 24), seed);
        let memory = VersionedMemory::new(header.parameters.layout());
        let disk = memory_disk();
        Vault::create(&mut setup(&disk, memory.clone(), seed + 1), &header).await.expect("it is made");
        let (vault, running) = Vault::start(setup(&disk, memory.clone(), seed + 2)).await.expect("it opens");
        let filling = async {
            let zeros = vec![0; BLOCK_BYTES as usize];
            let all = (0..BLOCKS).map(|block| Call::Write(BlockId(block), zeros.clone().into()));
            vault.access(all.collect()).await.expect("it is filled");
            vault.close().await.expect("it is closed");
        };
        futures::join!(filling, running);
        VaultSide { disk, memory, recorder: Recorder::new(), round_trip }
    }

    fn setup(&self, seed: u64) -> Setup<AnyStore> {
        let speed = LinkSpeed::unlimited(self.round_trip);
        setup(&self.disk, self.recorder.over(Link::new(self.memory.clone(), speed)), seed)
    }

    fn seen(&self, vault: &Vault) -> Seen {
        let mut seen = shape(&ring(), &self.recorder.take_trace());
        // The observer does not see what the clients see.
        seen.retain(|(_, shape)| {
            !matches!(
                shape,
                Shape::Other(
                    TraceEvent::Batch(_) | TraceEvent::Begun(_) | TraceEvent::Served | TraceEvent::IsOpen
                )
            )
        });
        (seen, vault.status().accesses)
    }
}

/// Opens two vaults, at stores with these round trips, and works with them. Returns what both observers saw.
fn watched<T>(
    serving: Serving,
    round_trips: [Duration; 2],
    seed: u64,
    work: impl AsyncFnOnce(ClientApi, Copier) -> T,
) -> ([Seen; 2], T) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime can be made"), async {
        // The draws are secret: they follow from the seed, and differ between the vaults.
        let (old, new) =
            (VaultSide::new(round_trips[0], seed).await, VaultSide::new(round_trips[1], !seed - 9).await);
        old.recorder.note_opening(None);
        new.recorder.note_opening(None);
        let (first, first_running) = Vault::start(old.setup(seed + 3)).await.expect("it opens");
        let (second, second_running) = Vault::start(new.setup(seed + 4)).await.expect("it opens");
        let working = async {
            let (both, copier) = MirroredVaults::new(first.clone(), second.clone()).await.expect("they fit");
            let done = work(ClientApi { serving, both }, copier).await;
            sleep(PAUSE).await;
            first.close().await.expect("it closes");
            second.close().await.expect("it closes");
            done
        };
        let (done, (), ()) = futures::join!(working, first_running, second_running);
        ([old.seen(&first), new.seen(&second)], done)
    })
}

/// A client and the copier alternately, with pauses in which everything settles.
fn by_turns(serving: Serving, mix: Mix, seed: u64) -> [Seen; 2] {
    let work = async |api: ClientApi, mut copier: Copier| {
        for step in 0..STEPS {
            api.access(mix.calls(step)).await;
            sleep(PAUSE).await;
            if serving == Serving::Sound && !copier.copied().is_all() {
                copier.step().await.expect("it is copied");
                sleep(PAUSE).await;
            }
        }
    };
    watched(serving, [QUICK, SLOW], seed, work).0
}

#[test]
fn both_stores_see_the_same_requests_at_the_same_times_whatever_is_asked() {
    let expected = by_turns(Serving::Sound, Mix::Reads, 1);
    let calls: u64 = (0..STEPS).map(|step| 1 + step % 3).sum();
    // An access for each block fills the old vault, one copies it to the new one, and one comes for each call of the
    // client.
    assert_eq!(expected.each_ref().map(|seen| seen.1), [BLOCKS + calls + BLOCKS; 2]);
    for (nth, mix) in MIXES.into_iter().enumerate() {
        let seen = by_turns(Serving::Sound, mix, 100 + 10 * nth as u64);
        for (store, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
            assert_eq!(seen.1, expected.1, "{mix:?}: accesses at store {store}");
            let parts = seen.0.iter().zip(&expected.0).find(|(one, other)| one != other);
            assert_eq!(parts, None, "{mix:?} at store {store}");
            assert_eq!(seen.0.len(), expected.0.len(), "{mix:?}: requests at store {store}");
        }
    }
}

#[test]
fn a_succession_whose_reads_skip_the_successor_is_caught() {
    let parts = |serving| {
        let [reads, writes] = [Mix::Reads, Mix::Writes].map(|mix| by_turns(serving, mix, 5));
        reads[0] != writes[0] || reads[1] != writes[1]
    };
    assert!(parts(Serving::ReadsSkipTheSuccessor));
    // The test's own mirroring without the flaw: so the test catches the flaw.
    assert!(!parts(Serving::SoundOutside));
}

/// The time that a client waits for a read and for a write.
fn waits(serving: Serving, round_trips: [Duration; 2]) -> [Duration; 2] {
    let work = async |api: ClientApi, _| {
        let mut waits = [Duration::ZERO; 2];
        for (wait, mix) in waits.iter_mut().zip([Mix::Reads, Mix::Writes]) {
            sleep(PAUSE).await;
            let begin = Instant::now();
            api.access(mix.calls(0)).await;
            *wait = begin.elapsed();
        }
        waits
    };
    watched(serving, round_trips, 3, work).1
}

#[test]
fn a_read_takes_as_long_as_a_write_whichever_store_is_slower() {
    for round_trips in [[QUICK, SLOW], [SLOW, QUICK]] {
        let [read, write] = waits(Serving::Sound, round_trips);
        assert_eq!(read, write, "{round_trips:?}");
        assert!(read >= SLOW, "{read:?} is less than the slower store takes");
    }
    let [read, write] = waits(Serving::ReadsAreAnsweredEarly, [QUICK, SLOW]);
    assert_ne!(read, write, "answers that come early are not caught");
    let [read, write] = waits(Serving::SoundOutside, [QUICK, SLOW]);
    assert_eq!(read, write, "what is caught is the flaw");
}

#[test]
fn as_many_accesses_are_begun_at_both_stores_while_many_ask_and_the_copier_works() {
    let flood = |mix: Mix, seed| {
        let work = async |api: ClientApi, mut copier: Copier| {
            let filling = async {
                while !copier.copied().is_all() {
                    copier.step().await.expect("it is copied");
                }
            };
            let clients = (0..6).map(|client| {
                let api = &api;
                async move {
                    for step in 0..20 {
                        api.access(mix.calls(step * 6 + client)).await;
                    }
                }
            });
            futures::join!(filling, futures::future::join_all(clients));
        };
        watched(Serving::Sound, [QUICK, SLOW], seed, work).0.map(|seen| seen.1)
    };
    let expected = flood(Mix::Reads, 1);
    assert_eq!(expected[0], expected[1]);
    for mix in MIXES {
        assert_eq!(flood(mix, 7), expected, "{mix:?}");
    }
}

#[test]
fn clients_and_the_copier_take_turns() {
    let work = async |api: ClientApi, mut copier: Copier| {
        let filling = async {
            while !copier.copied().is_all() {
                copier.step().await.expect("it is copied");
            }
        };
        let both = api.both.clone();
        let client = async {
            let mut batches = Vec::new();
            for step in 0.. {
                let before = both.copied();
                if before.is_all() {
                    break;
                }
                api.access(Mix::ByTurns.calls(step)).await;
                batches.push((both.copied().blocks - before.blocks).div_ceil(MAX_BATCH.into()));
            }
            batches
        };
        futures::join!(filling, client).1
    };
    let batches = watched(Serving::Sound, [QUICK, QUICK], 11, work).1;
    // This is the batch that was in flight, and no second one.
    assert!(batches.iter().all(|batches| *batches <= 1), "{batches:?}");
    // Nor does the client make the copier wait.
    assert!(batches.len() as u64 <= 2 + BLOCKS / u64::from(MAX_BATCH), "{batches:?}");
}
