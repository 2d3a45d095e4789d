//! The lifecycle of a small vault: some tens of calls that use every mechanism, and the recovery from a crash.

use super::model::{Model, ModelEvent, ModelEvents, ModelRecorder};
use crate::support::effect_log::{Effect, EffectLog, LoggingStore, MachineState};
use crate::support::fragile_disk::FragileDisk;
use crate::support::rng::TestRng;
use crate::support::{commit_at_once, master, open_elsewhere, setup};
use ameles_core::types::BlockId;
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::AnyStore;
use ameles_vault::{
    Call, RowChange, Setup, TrustedDisk, Vault, VaultError, VaultHeader, find_orphans, read_header,
};
use futures::future::{Either, join_all, select};
use std::pin::pin;
use tokio::runtime::{Builder, Runtime};

/// A runtime whose clock advances only while every task waits.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime can be made")
}

/// A machine with its disk and its store.
pub struct Machine {
    pub header: VaultHeader,
    pub machine_state: MachineState,
    pub effect_log: EffectLog,
    pub model_recorder: ModelRecorder,
    rng: TestRng,
    /// True if its disk has a reserve.
    pub has_reserve: bool,
    /// True if the vault was made: then a crash cannot have left none.
    was_opened: bool,
}

/// The end of an opening.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OpeningEnd {
    /// The process is killed after its calls are answered.
    Kill,
    Close,
}

impl Machine {
    /// A machine with this state and this model of it.
    pub fn new(header: &VaultHeader, machine_state: MachineState, model: Model, seed: u64) -> Self {
        let effect_log = EffectLog::default();
        machine_state.disk.record(&effect_log);
        let was_opened = model.was_opened();
        let model_recorder = ModelRecorder::new(model, &effect_log);
        let header = header.clone();
        Machine {
            header,
            machine_state,
            model_recorder,
            effect_log,
            rng: TestRng::of(seed),
            has_reserve: false,
            was_opened,
        }
    }

    /// All effects and all model events so far.
    pub fn records(&self) -> (Vec<Effect>, ModelEvents) {
        (self.effect_log.effects(), self.model_recorder.events())
    }

    fn setup(&mut self, disk: &TrustedDisk) -> Setup<AnyStore> {
        let store =
            LoggingStore::over(self.machine_state.store.clone(), self.effect_log.clone(), self.rng.fork());
        setup(disk, store, self.rng.seed())
    }

    /// Mounts the disk, and makes the vault if a crash has left none.
    async fn mount(&mut self) -> Result<TrustedDisk, VaultError> {
        if self.has_reserve {
            return self.machine_state.disk.mount_with_reserve().map(TrustedDisk::yielding);
        }
        let disk = match self.machine_state.disk.mount_yielding() {
            Err(_) if !self.was_opened => {
                // The crash has left the database itself half made.
                self.machine_state.disk = FragileDisk::default();
                self.machine_state.disk.record(&self.effect_log);
                self.machine_state.disk.mount_yielding()?
            }
            mounted => mounted?,
        };
        if !self.was_opened && matches!(read_header(&disk, &master()), Err(VaultError::NoVault)) {
            Vault::create(&mut self.setup(&disk), &self.header.clone()).await?;
        }
        Ok(disk)
    }

    /// Opens the vault, works with it, and ends in the given way.
    pub async fn open<T>(
        &mut self,
        end: OpeningEnd,
        work: impl AsyncFnOnce(&Vault, &ModelRecorder, &mut TestRng) -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        let disk = self.mount().await?;
        let (vault, running) = Vault::start(self.setup(&disk)).await?;
        drop(disk);
        self.was_opened = true;
        let mut rng = self.rng.fork();
        let model_recorder = self.model_recorder.clone();
        let working = pin!(async {
            model_recorder.record(ModelEvent::Opened(futures::executor::block_on(vault.load_rows())?));
            let done = match work(&vault, &model_recorder, &mut rng).await {
                // The vault has stopped, or stops as soon as it needs its disk.
                Err(error) => return Err(vault.checkpoint().await.expect_err(&error.to_string())),
                done => done?,
            };
            if end == OpeningEnd::Close {
                let (from, _) = model_recorder.record(ModelEvent::Requested);
                let receipt = vault.close().await?;
                model_recorder.record(ModelEvent::GotReceipt { receipt, from });
            }
            Ok(done)
        });
        let ended = match select(working, pin!(running)).await {
            Either::Left((done, running)) if end == OpeningEnd::Close && done.is_ok() => {
                running.await;
                done
            }
            Either::Left((done, _)) => done,
            // The vault has stopped or is closed: all its callers have their answers.
            Either::Right(((), working)) => working.await,
        };
        self.machine_state.disk.unplug();
        ended
    }

    /// Makes the vault.
    pub async fn make(&mut self) -> Result<(), VaultError> {
        let disk = self.machine_state.disk.mount()?;
        Vault::create(&mut self.setup(&disk), &self.header.clone()).await?;
        drop(disk);
        self.was_opened = true;
        Ok(())
    }

    /// Runs a lifecycle: makes the vault, and opens it three times.
    pub async fn run_lifecycle(&mut self) -> Result<(), VaultError> {
        self.make().await?;
        self.open(OpeningEnd::Close, async |vault, model_recorder, rng| {
            let blocks: Vec<u64> = (0..vault.capacity()).collect();
            for some in blocks.chunks(vault.max_batch()) {
                access(vault, model_recorder, some, &[]).await?;
            }
            commit(vault, model_recorder, &[("a", Some("first")), ("b", Some("gone soon"))]).await?;
            for _ in 0..4 {
                at_once(vault, model_recorder, rng).await?;
            }
            checkpoint(vault, model_recorder).await?;
            commit(vault, model_recorder, &[("b", None), ("c", Some("third"))]).await?;
            at_once(vault, model_recorder, rng).await
        })
        .await?;
        self.open(OpeningEnd::Kill, async |vault, model_recorder, rng| {
            access(vault, model_recorder, &[1, 2], &[3]).await?;
            commit(vault, model_recorder, &[("a", Some("first, again"))]).await?;
            for _ in 0..3 {
                at_once(vault, model_recorder, rng).await?;
            }
            Ok(())
        })
        .await?;
        self.open(OpeningEnd::Close, async |vault, model_recorder, rng| {
            commit(vault, model_recorder, &[("d", Some("fourth"))]).await?;
            at_once(vault, model_recorder, rng).await?;
            access(vault, model_recorder, &[5], &[1, 5]).await
        })
        .await
    }

    /// Recovers as far as a vault does by itself: until the recovered state is in a checkpoint of its own.
    pub async fn recover(&mut self) -> Result<(), VaultError> {
        self.open(OpeningEnd::Kill, async |vault, model_recorder, _| {
            access(vault, model_recorder, &[2], &[4]).await?;
            checkpoint(vault, model_recorder).await
        })
        .await
    }

    /// Checks everything, closes the vault, and checks what is left in the store.
    pub async fn check_everything(&mut self) -> Result<(), VaultError> {
        self.open(OpeningEnd::Close, async |vault, model_recorder, _| {
            let blocks: Vec<u64> = (0..vault.capacity()).collect();
            access(vault, model_recorder, &[], &blocks).await?;
            let report = vault.check(Box::new(|_, _| {})).await?;
            assert!(report.faults.is_empty(), "{:?}", report.faults);
            Ok(())
        })
        .await?;
        let disk = self.machine_state.disk.mount()?;
        let found = find_orphans(&disk, &self.machine_state.store, &master()).await?;
        drop(disk);
        self.machine_state.disk.unplug();
        let left = (found.dead().objects, &found.newer, &found.foreign);
        assert_eq!(left, (0, &Vec::new(), &Vec::new()), "the store holds what nothing needs: {found:?}");
        Ok(())
    }
}

/// Removes what the disk says that the store does not need, if there is a vault on the disk.
pub async fn remove_orphans(MachineState { disk, store, .. }: &MachineState) {
    let disk = disk.mount().expect("the disk can be used");
    if let Ok(found) = find_orphans(&disk, store, &master()).await {
        found.remove(store, &master()).await.expect("memory does not fail");
    }
}

/// Restores the vault from its store alone. Compares it with the state of the last receipt, or with everything if its
/// journal is in the store. Returns whether anything was uploaded.
pub async fn restore_elsewhere(header: &VaultHeader, store: VersionedMemory, mut model: Model) -> bool {
    let keeps_all = header.parameters.journal.is_in_store();
    let has_shipped = !store.list("checkpoint/").await.expect("memory does not fail").is_empty();
    assert!(has_shipped || model.receipt.is_none(), "the store holds no checkpoint any more");
    let is_empty = store.list("log/").await.expect("memory does not fail").is_empty();
    if !has_shipped && (!keeps_all || is_empty) {
        assert!(!keeps_all || model.is_untouched(), "the journal in the store does not begin");
        return false;
    }
    // Before the first receipt, something older may be there.
    let (expect, from) = model.receipt.map_or((None, 0), |(receipt, from)| (Some(receipt), from));
    let as_standby = header.parameters.journal.has_heartbeats();
    let opened = open_elsewhere(header, store, expect, (as_standby, 1)).await;
    let (vault, running) = opened.unwrap_or_else(|error| panic!("the store cannot be restored: {error}"));
    let reading = async {
        let calls = (0..vault.capacity()).map(|at| Call::Read(BlockId(at))).collect();
        let answers = vault.access(calls).await.expect("it is open");
        let rows = futures::executor::block_on(vault.load_rows()).expect("rows can be read");
        if keeps_all {
            model.compare_successor(&answers, rows);
        } else {
            model.compare_copy(from, &answers, rows);
        }
        vault.close().await.expect("it can be closed");
    };
    futures::join!(reading, running);
    true
}

/// Writes and reads blocks in one access.
pub async fn access(
    vault: &Vault,
    model_recorder: &ModelRecorder,
    writes: &[u64],
    reads: &[u64],
) -> Result<(), VaultError> {
    let mut sent = Vec::new();
    let mut calls = Vec::new();
    for block in writes.iter().copied() {
        let (write, payload) = model_recorder.record(ModelEvent::WriteBegins(block));
        sent.push((block, write));
        calls.push(Call::Write(BlockId(block), payload.into()));
    }
    calls.extend(reads.iter().map(|block| Call::Read(BlockId(*block))));
    let (from, _) = model_recorder.record(ModelEvent::Requested);
    let answers = vault.access(calls).await?;
    for (block, bytes) in reads.iter().zip(answers.into_iter().flatten()) {
        model_recorder.record(ModelEvent::Read { block: *block, from, bytes });
    }
    for (block, write) in sent {
        model_recorder.record(ModelEvent::WriteAcknowledged { block, write });
    }
    Ok(())
}

/// Lets three callers ask at once.
async fn at_once(vault: &Vault, model_recorder: &ModelRecorder, rng: &mut TestRng) -> Result<(), VaultError> {
    let mut block = || rng.below(vault.capacity());
    let asked = [([block()], [block()]), ([block()], [block()]), ([block()], [block()])];
    let asking = asked.iter().map(|(write, read)| access(vault, model_recorder, write, read));
    join_all(asking).await.into_iter().collect()
}

async fn checkpoint(vault: &Vault, model_recorder: &ModelRecorder) -> Result<(), VaultError> {
    let (from, _) = model_recorder.record(ModelEvent::Requested);
    let receipt = vault.checkpoint().await?;
    model_recorder.record(ModelEvent::GotReceipt { receipt, from });
    Ok(())
}

/// Commits rows.
pub async fn commit(
    vault: &Vault,
    model_recorder: &ModelRecorder,
    rows: &[(&str, Option<&str>)],
) -> Result<(), VaultError> {
    let change = |(key, value): &(&str, Option<&str>)| match value {
        Some(value) => RowChange::put(key.to_string(), value.to_string()),
        None => RowChange::remove(key.to_string()),
    };
    let changes: Vec<RowChange> = rows.iter().map(change).collect();
    model_recorder.record(ModelEvent::CommitBegins(changes.clone()));
    commit_at_once(vault, changes).await?;
    model_recorder.record(ModelEvent::Committed);
    Ok(())
}
