//! The lifecycle of a vault: it is opened, used and killed repeatedly, on one machine or on several.

use super::flaws::Flaw;
use super::machines::{FollowingStandby, Machine, OpenVault, Successor};
use crate::support::network::NetworkLink;
use crate::support::recorder::{Recorder, TimedEvent, TraceEvent};
use crate::support::rng::TestRng;
use crate::support::{header, setup};
use ameles_core::testing::Operation;
use ameles_store::VersionedMemory;
use ameles_vault::{Call, Vault, VaultError, VaultParameters};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};

/// The times of a lifecycle.
#[derive(Clone, Copy)]
pub struct Tempo {
    /// The usual maximum of a request's delay in each direction, in milliseconds.
    max_delay: u64,
    /// The time after which nothing is in flight any more.
    settle: Duration,
}

impl Tempo {
    /// Requests take so long that two rarely arrive at once.
    pub const SLOW: Tempo = Tempo { max_delay: 20_000, settle: Duration::from_secs(1200) };
    /// Requests take much less than a heartbeat.
    pub const FAST: Tempo = Tempo { max_delay: 200, settle: Duration::from_secs(14) };
}

/// The public facts of a lifecycle.
#[derive(Clone)]
pub struct PublicFacts {
    pub parameters: VaultParameters,
    /// The requests at which each opening is killed, and what comes next; the opening after the last one runs to the end.
    pub deaths: Vec<(u64, Successor)>,
    /// The first batches; the vault is closed after them.
    pub warm_up: usize,
    /// True if the first batches are recorded.
    pub records_warm_up: bool,
    /// The number of batches after which the client waits only for its answers. Before that, it waits until the vault
    /// is quiet.
    pub quiet: usize,
    pub tempo: Tempo,
    /// The seed for how long requests take, which of them are lost, and how the vault is killed.
    pub seed: u64,
}

/// A completed lifecycle.
pub struct LifecycleResult {
    pub trace: Vec<TimedEvent>,
    /// The batches that the client requested, in order. Some were requested again after a kill.
    pub requested: Vec<Vec<Operation>>,
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
        let mut script = script;
        if public.records_warm_up {
            body.plug_in(public);
        }
        if public.warm_up > 0 {
            body.open_once(&script[..public.warm_up], (None, Successor::Restart)).await?;
        }
        if !public.records_warm_up {
            script = &script[public.warm_up..];
            body.forget();
            body.plug_in(public);
        }
        let mut successor = Successor::Restart;
        for (dies_after, next) in &public.deaths {
            body.open_once(script, (Some(*dies_after), successor)).await?;
            successor = *next;
        }
        body.open_once(script, (None, successor)).await?;
        Ok(body.end())
    })
}

struct VaultUnderTest {
    // Wide: everything that a client and its machines have.
    public: TestRng,
    secret: TestRng,
    tempo: Tempo,
    /// The seed of the last link.
    link_seed: u64,
    has_standbys: bool,
    machine: Machine,
    standby: Option<FollowingStandby>,
    /// The events of earlier machines.
    past: Vec<TimedEvent>,
    quiet: usize,
    /// The next batch of the script.
    next: usize,
    requested: Vec<Vec<Operation>>,
    /// The batch in flight when the vault was killed: its length, and the accesses before it.
    in_doubt: Option<(u64, u64)>,
    /// The contents of every block after so many accesses.
    models: BTreeMap<u64, Vec<u8>>,
    deaths: usize,
    early_deaths: usize,
}

impl VaultUnderTest {
    async fn new(public: &PublicFacts, seed: u64, flaw: Option<Flaw>) -> Result<Self, VaultError> {
        let mut secret = TestRng::of(seed);
        let header = header(public.parameters.clone(), 1);
        let memory = VersionedMemory::new(public.parameters.layout());
        let machine = Machine::new(header, memory, flaw);
        let mut created = setup(&machine.disk.mount()?, machine.memory.clone(), secret.seed());
        Vault::create(&mut created, &machine.header).await?;
        machine.disk.unplug();
        let empty = vec![0; public.parameters.scheme.capacity() as usize];
        Ok(VaultUnderTest {
            public: TestRng::of(!public.seed),
            secret,
            tempo: public.tempo,
            link_seed: public.seed,
            has_standbys: false,
            machine,
            standby: None,
            past: Vec::new(),
            quiet: public.quiet,
            next: 0,
            requested: Vec::new(),
            in_doubt: None,
            models: BTreeMap::from([(0, empty)]),
            deaths: 0,
            early_deaths: 0,
        })
    }

    /// Puts a link between the vault and its store. From now on a standby may follow.
    fn plug_in(&mut self, public: &PublicFacts) {
        self.has_standbys = public.deaths.iter().any(|(_, next)| *next == Successor::Standby);
        self.machine.recorder.unplug_when_killed(&self.machine.disk);
        self.machine.link = NetworkLink::new(self.tempo.max_delay, TestRng::of(self.link_seed));
    }

    /// Forgets what happened so far.
    fn forget(&mut self) {
        self.machine.recorder.clear();
        self.next = 0;
        self.requested.clear();
    }

    /// A machine with an empty disk.
    fn another_machine(&mut self, recorder: Recorder) -> Machine {
        self.link_seed = self.link_seed.wrapping_add(1 << 48);
        let link = NetworkLink::new(self.tempo.max_delay, TestRng::of(self.link_seed));
        self.machine.another(recorder, link)
    }

    /// Opens the vault as this successor of the gateway before, and requests batches until it is killed or none are left;
    /// then closes it.
    async fn open_once(
        &mut self,
        script: &[Vec<Operation>],
        (dies_after, successor): (Option<u64>, Successor),
    ) -> Result<(), VaultError> {
        let opened = match self.standby.take_if(|_| successor == Successor::Standby) {
            Some(standby) => Some(self.take_over(standby, dies_after).await?),
            None => self.start(dies_after, successor).await?,
        };
        let Some((vault, running)) = opened else {
            self.early_deaths += 1;
            self.kill(None);
            return Ok(());
        };
        let recorder = self.machine.recorder.clone();
        recorder.is_open(&vault);
        let driver = spawn_local(recorder.count_steps(running));
        if self.has_standbys && self.standby.is_none() {
            let machine = self.another_machine(Recorder::new());
            self.standby = Some(machine.stand_by(&mut self.secret)?);
        }
        tokio::select! {
            biased;
            () = recorder.death() => {
                driver.abort();
                let _ = driver.await;
                self.kill(self.machine.flaw);
                Ok(())
            }
            asked = self.ask(&vault, script) => {
                asked?;
                let _ = driver.await;
                recorder.note_end();
                self.machine.disk.unplug();
                Ok(())
            }
        }
    }

    /// Opens the vault on this machine or on another one. `None` if it is killed before it is open.
    async fn start(
        &mut self,
        dies_after: Option<u64>,
        successor: Successor,
    ) -> Result<Option<OpenVault>, VaultError> {
        if successor != Successor::Restart {
            self.machine = self.another_machine(self.machine.recorder.clone());
        }
        let recorder = self.machine.recorder.clone();
        let opening = recorder.count_steps(self.machine.start(dies_after, &mut self.secret)?);
        tokio::select! {
            biased;
            () = recorder.death() => Ok(None),
            opened = opening => opened.map(Some),
        }
    }

    /// Waits until the standby has taken over, and continues on its machine.
    async fn take_over(
        &mut self,
        standby: FollowingStandby,
        dies_after: Option<u64>,
    ) -> Result<OpenVault, VaultError> {
        let (machine, opened) = standby.take_over().await?;
        self.past.extend(self.machine.recorder.take_trace());
        self.machine = machine;
        self.past.extend(self.machine.events_of_standby());
        self.machine.recorder.die_after(dies_after);
        Ok(opened)
    }

    /// Requests the rest of the script, one batch after the other.
    async fn ask(&mut self, vault: &Vault, script: &[Vec<Operation>]) -> Result<(), VaultError> {
        let is_sound = self.machine.flaw.is_none();
        let accesses = vault.status().accesses;
        if let Some((len, before)) = self.in_doubt.take()
            && accesses < before + len
            && self.machine.flaw != Some(Flaw::LosesLastRecord)
        {
            // The batch had not begun.
            self.next -= 1;
        }
        let mut model = match self.models.get(&accesses) {
            Some(model) => model.clone(),
            None if is_sound => panic!("there were never {accesses} accesses"),
            None => Vec::new(),
        };
        model.resize(vault.capacity() as usize, 0);
        while let Some(batch) = script.get(self.next) {
            if self.next < self.quiet {
                tokio::time::sleep(self.tempo.settle).await;
            }
            self.next += 1;
            self.machine.hits.set(self.next >= 2 && hits(batch, &script[self.next - 2]));
            let before = vault.status().accesses;
            self.models.insert(before, model.clone());
            let (calls, expected) = self.prepare(batch, (&mut model, vault.block_bytes()));
            let len = calls.len() as u64;
            // A batch that has begun is in the journal, whether or not the vault survives to acknowledge it.
            self.models.insert(before + len, model.clone());
            self.in_doubt = Some((len, before));
            self.requested.push(batch.clone());
            self.machine.recorder.note(TraceEvent::Batch(calls.len()));
            let answers = vault.access(calls).await?;
            self.machine.recorder.note(TraceEvent::Served);
            self.in_doubt = None;
            if is_sound {
                let answers: Vec<_> = answers.iter().map(|answer| answer.as_deref()).collect();
                let expected: Vec<_> = expected.iter().map(Option::as_deref).collect();
                assert_eq!(answers, expected, "the vault answers like an array");
            }
        }
        tokio::time::sleep(self.tempo.settle).await;
        vault.close().await.map(drop)
    }

    /// The calls of a batch, and their expected answers. From now on the array holds the written bytes.
    fn prepare(
        &self,
        batch: &[Operation],
        (model, block_bytes): (&mut [u8], usize),
    ) -> (Vec<Call>, Vec<Option<Vec<u8>>>) {
        let mut prepared: (Vec<Call>, Vec<Option<Vec<u8>>>) = Default::default();
        let mut seen = Vec::new();
        for operation in batch {
            if self.machine.flaw == Some(Flaw::Deduplicates) && seen.contains(operation) {
                continue;
            }
            seen.push(*operation);
            let (call, answer) = match *operation {
                Operation::Read(block) => {
                    (Call::Read(block), Some(vec![model[block.0 as usize]; block_bytes]))
                }
                Operation::Write(block, fill) => {
                    model[block.0 as usize] = fill;
                    (Call::Write(block, vec![fill; block_bytes].into()), None)
                }
                Operation::Dummy => (Call::Dummy, None),
            };
            prepared.0.push(call);
            prepared.1.push(answer);
        }
        prepared
    }

    fn kill(&mut self, flaw: Option<Flaw>) {
        self.machine.recorder.note_kill(&self.machine.disk, &mut self.public);
        self.machine.link.crash();
        self.deaths += 1;
        if let Some(flaw) = flaw {
            let Machine { header, memory, disk, recorder, .. } = &self.machine;
            let journal = header.parameters.journal.announces().then_some(memory);
            flaw.after_death(disk, journal, recorder);
        }
    }

    fn end(mut self) -> LifecycleResult {
        let mut trace = self.past;
        trace.extend(self.machine.recorder.take_trace());
        trace.extend(self.standby.take().into_iter().flat_map(FollowingStandby::end));
        let (requested, deaths, early_deaths) = (self.requested, self.deaths, self.early_deaths);
        LifecycleResult { trace, requested, deaths, early_deaths }
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
