//! The lifecycle of a vault under a mix of requests: opened, used and killed.

use super::flawed::{ClientApi, Pacing, Queue, pace};
use super::mixes::{Done, Mix, Model, ask};
use crate::support::fragile_disk::FragileDisk;
use crate::support::recorder::{Recorder, TimedEvent};
use crate::support::rng::TestRng;
use crate::support::{header, setup};
use ameles_core::types::BlockId;
use ameles_store::{Link, LinkSpeed, VersionedMemory};
use ameles_vault::{Call, Pace, PaceFigures, Vault, VaultParameters};
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep_until};

/// The turns before the end of an opening in which its last clients are served.
const LAST_ORDERS: u32 = 20;

/// The public facts of a lifecycle.
#[derive(Clone)]
pub struct PublicFacts {
    pub parameters: VaultParameters,
    pub turn: Duration,
    /// The time from a request to its answer.
    pub round_trip: Duration,
    /// The requests at which each opening is killed; the opening after the last one is not.
    pub deaths: Vec<u64>,
    pub lasts: Duration,
    /// The time that the trusted disk takes to sync, and the additional time for each byte.
    pub sync_takes: Option<(Duration, Duration)>,
    /// The seed for how the vault is killed.
    pub seed: u64,
}

/// A completed lifecycle.
pub struct LifecycleResult {
    pub trace: Vec<TimedEvent>,
    pub deaths: usize,
    pub early_deaths: usize,
    /// The number of requests and accesses that were answered, and how long the slowest took.
    pub answered: u64,
    pub accesses: u64,
    pub slowest: Duration,
    /// The figures of the last opening.
    pub pace: PaceFigures,
}

/// Runs a lifecycle. The mix is secret, and so is the seed of the vault's and the clients' draws.
pub fn run_lifecycle(public: &PublicFacts, pacing: Pacing, mix: Mix, seed: u64) -> LifecycleResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime can be made");
    LocalSet::new().block_on(&runtime, async {
        let mut body = Body::new(public, pacing, mix, seed).await;
        for dies_after in &public.deaths {
            body.open_once(Some(*dies_after)).await;
        }
        body.open_once(None).await;
        let Body { recorder, deaths, early_deaths, done, pace, .. } = body;
        let (answered, accesses, slowest) = (done.answered.get(), done.accesses.get(), done.slowest.get());
        LifecycleResult {
            trace: recorder.take_trace(),
            deaths,
            early_deaths,
            answered,
            accesses,
            slowest,
            pace,
        }
    })
}

struct Body {
    public: PublicFacts,
    pacing: Pacing,
    mix: Mix,
    rng: TestRng,
    secret: TestRng,
    memory: VersionedMemory,
    disk: FragileDisk,
    recorder: Recorder,
    model: Model,
    done: Done,
    deaths: usize,
    early_deaths: usize,
    pace: PaceFigures,
}

impl Body {
    /// A vault in which every block, and so every bucket, is written.
    async fn new(public: &PublicFacts, pacing: Pacing, mix: Mix, seed: u64) -> Self {
        let mut secret = TestRng::of(seed);
        let memory = VersionedMemory::new(public.parameters.layout());
        let disk = FragileDisk::default();
        let mounted = disk.mount().expect("a new disk can be used");
        let header = header(public.parameters.clone(), 1);
        Vault::create(&mut setup(&mounted, memory.clone(), secret.seed()), &header)
            .await
            .expect("it is made");
        let opened = Vault::start(setup(&mounted, memory.clone(), secret.seed())).await;
        let (vault, running) = opened.expect("it is opened");
        let filling = async {
            let blocks = (0..vault.capacity())
                .map(|block| Call::Write(BlockId(block), vec![0; vault.block_bytes()].into()))
                .collect();
            vault.access(blocks).await.expect("it is filled");
            vault.close().await.expect("it is closed");
        };
        futures::join!(filling, running);
        drop((vault, mounted));
        disk.unplug();
        if let Some((sync, byte)) = public.sync_takes {
            disk.take_time(sync, byte);
        }
        Body {
            public: public.clone(),
            pacing,
            mix,
            rng: TestRng::of(!public.seed),
            secret,
            memory,
            disk,
            recorder: Recorder::new(),
            model: Model::default(),
            done: Done::default(),
            deaths: 0,
            early_deaths: 0,
            pace: PaceFigures::default(),
        }
    }

    /// Opens the vault and lets the clients ask, until it is killed or its time is over; then closes it.
    async fn open_once(&mut self, dies_after: Option<u64>) {
        let until = Instant::now() + self.public.lasts;
        self.recorder.note_opening(dies_after);
        let speed = LinkSpeed::unlimited(self.public.round_trip);
        let store = self.recorder.over(Link::new(self.memory.clone(), speed));
        let disk = self.disk.mount().expect("it is sound");
        let mut setup = setup(&disk, store, self.secret.seed());
        if self.pacing == Pacing::Sound {
            setup.pace = Some(Pace::every(self.public.turn).expect("it is in range"));
        }
        let recorder = self.recorder.clone();
        let opened = tokio::select! {
            biased;
            () = recorder.death() => None,
            opened = Vault::start(setup) => Some(opened.expect("it opens")),
        };
        drop(disk);
        let Some((vault, running)) = opened else {
            self.early_deaths += 1;
            return self.kill();
        };
        self.recorder.is_open(&vault);
        let driver = spawn_local(running);
        let queue = Queue::default();
        let (client_api, pacer) = match self.pacing {
            Pacing::Sound => (ClientApi::Vault(vault.clone()), None),
            pacing => {
                let pacer = pace(pacing, vault.clone(), queue.clone(), self.public.turn, until);
                (ClientApi::Queue(queue), Some(spawn_local(pacer)))
            }
        };
        let last_orders = until - self.public.turn * LAST_ORDERS;
        let (done, model, seed) = (self.done.clone(), self.model.clone(), self.secret.seed());
        let clients = spawn_local(ask(self.mix, client_api, vault.clone(), model, done, last_orders, seed));
        let lasting = async {
            sleep_until(until).await;
            vault.close().await.expect("it is closed");
        };
        tokio::select! {
            biased;
            () = recorder.death() => {
                driver.abort();
                clients.abort();
                if let Some(pacer) = pacer {
                    pacer.abort();
                }
                let _ = driver.await;
                if let Err(error) = clients.await
                    && error.is_panic()
                {
                    std::panic::resume_unwind(error.into_panic());
                }
                self.kill();
            }
            () = lasting => {
                clients.await.expect("clients are answered like an array");
                let _ = driver.await;
                self.pace = vault.status().pace.unwrap_or_default();
                self.recorder.note_end();
                self.disk.unplug();
            }
        }
    }

    fn kill(&mut self) {
        self.recorder.note_kill(&self.disk, &mut self.rng);
        self.deaths += 1;
    }
}
