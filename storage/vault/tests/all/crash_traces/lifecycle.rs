//! The lifecycle of a vault: it is opened, used and killed repeatedly.

use super::flaws::{Flaw, FlawedStore};
use crate::support::fragile_disk::FragileDisk;
use crate::support::network::{Network, NetworkLink};
use crate::support::recorder::{Recorder, TimedEvent, TraceEvent};
use crate::support::rng::TestRng;
use crate::support::{header, setup};
use ameles_core::testing::Operation;
use ameles_store::VersionedMemory;
use ameles_vault::{Call, Vault, VaultError, VaultParameters};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};

/// The usual maximum of a request's delay in each direction, in milliseconds: so long that two rarely arrive at once.
const MAX_DELAY: u64 = 20_000;
/// The time after which nothing is in flight any more.
const SETTLE_TIME: Duration = Duration::from_secs(1200);

/// The public facts of a lifecycle.
#[derive(Clone)]
pub struct PublicFacts {
    pub parameters: VaultParameters,
    /// The requests at which each opening is killed; the opening after the last one runs to the end.
    pub deaths: Vec<u64>,
    /// The first batches, which are not recorded; the vault is closed after them.
    pub unrecorded: usize,
    /// The number of batches after which the client waits only for its answers. Before that, it waits until the vault
    /// is quiet.
    pub quiet: usize,
    /// The seed for how long requests take, which of them are lost, and how the vault is killed.
    pub seed: u64,
}

/// A completed lifecycle.
pub struct LifecycleResult {
    pub trace: Vec<TimedEvent>,
    /// The number of openings that were killed, and of those killed before they were open.
    pub deaths: usize,
    pub early_deaths: usize,
}

/// Runs a lifecycle. `script` holds the requests, and the vault's randomness follows from `seed`; both are secret.
///
/// # Errors
/// The reason why the vault refused to continue.
///
/// # Panics
/// If a sound vault answers differently from a plain array.
pub fn run_lifecycle(
    public: &PublicFacts,
    script: &[Vec<Operation>],
    seed: u64,
    flaw: Option<Flaw>,
) -> Result<LifecycleResult, VaultError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime can be made");
    LocalSet::new().block_on(&runtime, async {
        let mut body = VaultUnderTest::new(public, seed, flaw).await?;
        let (unrecorded, script) = script.split_at(public.unrecorded);
        if !unrecorded.is_empty() {
            body.open_once(unrecorded, None).await?;
            body.recorder.clear();
            body.next = 0;
        }
        body.recorder.unplug_when_killed(&body.disk);
        body.link = Some(NetworkLink::new(MAX_DELAY, TestRng::of(public.seed)));
        for dies_after in &public.deaths {
            body.open_once(script, Some(*dies_after)).await?;
        }
        body.open_once(script, None).await?;
        let (deaths, early_deaths) = (body.deaths, body.early_deaths);
        Ok(LifecycleResult { trace: body.recorder.take_trace(), deaths, early_deaths })
    })
}

struct VaultUnderTest {
    public: TestRng,
    secret: TestRng,
    flaw: Option<Flaw>,
    memory: VersionedMemory,
    disk: FragileDisk,
    link: Option<NetworkLink>,
    recorder: Recorder,
    /// True if a batch that requests a block of the previous batch has not read yet.
    hits: Rc<Cell<bool>>,
    quiet: usize,
    /// The next batch of the script.
    next: usize,
    /// The batch in flight when the vault was killed: its length, the accesses before it, and the contents of all
    /// blocks before it.
    in_doubt: Option<(usize, u64, Vec<u8>)>,
    /// The contents of every block.
    model: Vec<u8>,
    block_bytes: usize,
    deaths: usize,
    early_deaths: usize,
}

impl VaultUnderTest {
    async fn new(public: &PublicFacts, seed: u64, flaw: Option<Flaw>) -> Result<Self, VaultError> {
        let mut secret = TestRng::of(seed);
        let header = header(public.parameters.clone(), 1);
        let memory = VersionedMemory::new(public.parameters.layout());
        let disk = FragileDisk::default();
        Vault::create(&mut setup(&disk.mount()?, memory.clone(), secret.seed()), &header).await?;
        disk.unplug();
        Ok(VaultUnderTest {
            public: TestRng::of(!public.seed),
            secret,
            flaw,
            memory,
            disk,
            link: None,
            recorder: Recorder::new(),
            hits: Rc::default(),
            quiet: public.quiet,
            next: 0,
            in_doubt: None,
            model: vec![0; public.parameters.scheme.capacity() as usize],
            block_bytes: public.parameters.scheme.block_bytes() as usize,
            deaths: 0,
            early_deaths: 0,
        })
    }

    /// Opens the vault, and requests batches until it is killed or none are left; then closes it.
    async fn open_once(
        &mut self,
        script: &[Vec<Operation>],
        dies_after: Option<u64>,
    ) -> Result<(), VaultError> {
        self.recorder.note_opening(dies_after);
        let link = self.link.clone().unwrap_or_else(|| NetworkLink::new(0, TestRng::of(0)));
        let network = Network::new(self.memory.clone(), link);
        let store = FlawedStore::new(
            self.recorder.over(network),
            self.flaw,
            &self.recorder,
            &self.memory,
            &self.hits,
        );
        let disk = self.disk.mount()?;
        let fresh = self.secret.seed();
        let mut setup = setup(&disk, store, fresh);
        // A checkpoint in each time to settle would leave nothing to repeat.
        setup.ship_after = Duration::MAX;
        if let Some(entropy) = self.flaw.and_then(|flaw| flaw.entropy(fresh)) {
            setup.entropy = entropy;
        }
        let opened = tokio::select! {
            biased;
            () = self.recorder.death() => None,
            opened = self.recorder.count_steps(Vault::start(setup)) => Some(opened?),
        };
        drop(disk);
        let Some((vault, running)) = opened else {
            self.early_deaths += 1;
            self.kill(None);
            return Ok(());
        };
        self.recorder.is_open(&vault);
        let driver = spawn_local(self.recorder.count_steps(running));
        let recorder = self.recorder.clone();
        tokio::select! {
            biased;
            () = recorder.death() => {
                driver.abort();
                let _ = driver.await;
                self.kill(self.flaw);
                Ok(())
            }
            asked = self.ask(&vault, script) => {
                asked?;
                let _ = driver.await;
                recorder.note_end();
                self.disk.unplug();
                Ok(())
            }
        }
    }

    /// Requests the rest of the script, one batch after the other.
    async fn ask(&mut self, vault: &Vault, script: &[Vec<Operation>]) -> Result<(), VaultError> {
        if let Some((accesses, before, model)) = self.in_doubt.take()
            && vault.status().accesses < before + accesses as u64
            && self.flaw != Some(Flaw::LosesLastRecord)
        {
            // The batch had not begun.
            self.next -= 1;
            self.model = model;
        }
        while let Some(batch) = script.get(self.next) {
            if self.next < self.quiet {
                tokio::time::sleep(SETTLE_TIME).await;
            }
            self.next += 1;
            self.hits.set(self.next >= 2 && hits(batch, &script[self.next - 2]));
            let before = (vault.status().accesses, self.model.clone());
            let (calls, expected) = self.prepare(batch);
            self.in_doubt = Some((calls.len(), before.0, before.1));
            self.recorder.note(TraceEvent::Batch(calls.len()));
            let answers = vault.access(calls).await?;
            self.recorder.note(TraceEvent::Served);
            self.in_doubt = None;
            if self.flaw.is_none() {
                let answers: Vec<_> = answers.iter().map(|answer| answer.as_deref()).collect();
                let expected: Vec<_> = expected.iter().map(Option::as_deref).collect();
                assert_eq!(answers, expected, "the vault answers like an array");
            }
        }
        tokio::time::sleep(SETTLE_TIME).await;
        vault.close().await.map(drop)
    }

    /// The calls of a batch, and their expected answers. From now on the array holds the written bytes. A batch that
    /// has begun is in the journal, whether or not the vault survives to acknowledge it.
    fn prepare(&mut self, batch: &[Operation]) -> (Vec<Call>, Vec<Option<Vec<u8>>>) {
        let mut prepared: (Vec<Call>, Vec<Option<Vec<u8>>>) = Default::default();
        let mut seen = Vec::new();
        for operation in batch {
            if self.flaw == Some(Flaw::Deduplicates) && seen.contains(operation) {
                continue;
            }
            seen.push(*operation);
            let (call, answer) = match *operation {
                Operation::Read(block) => {
                    let answer = vec![self.model[block.0 as usize]; self.block_bytes];
                    (Call::Read(block), Some(answer))
                }
                Operation::Write(block, fill) => {
                    self.model[block.0 as usize] = fill;
                    (Call::Write(block, vec![fill; self.block_bytes].into()), None)
                }
                Operation::Dummy => (Call::Dummy, None),
            };
            prepared.0.push(call);
            prepared.1.push(answer);
        }
        prepared
    }

    fn kill(&mut self, flaw: Option<Flaw>) {
        self.recorder.note_kill(&self.disk, &mut self.public);
        if let Some(link) = &self.link {
            link.crash();
        }
        self.deaths += 1;
        if let Some(flaw) = flaw {
            flaw.after_death(&self.disk, &self.recorder);
        }
    }
}

/// Returns whether a batch requests a block that the previous one requested.
fn hits(batch: &[Operation], before: &[Operation]) -> bool {
    let block = |operation: &Operation| match operation {
        Operation::Read(block) | Operation::Write(block, _) => Some(*block),
        Operation::Dummy => None,
    };
    batch.iter().filter_map(block).any(|asked| before.iter().filter_map(block).any(|last| last == asked))
}
