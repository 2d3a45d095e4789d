//! One opening of a vault: the loop that takes requests, steps the engine, journals, and talks to the store.
//!
//! Nothing goes out before the record that announces it is durable, and nothing is acknowledged before the record of
//! its batch is. Every failure ends the session; the next opening recovers, by the one path that crashes take too.

use crate::check::{Beside, Progress, Report, check};
use crate::checkpoint::{self, Checkpoint, Garbage, Receipt, Shipped, ShippedCheckpoint};
use crate::disk::TrustedDisk;
use crate::engine::{Answers, Engine, Work};
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::gate::{Gate, OperationId};
use crate::header::VaultHeader;
use crate::ownership::Claims;
use crate::record::{Call, Input, Record};
use crate::rows::Rows;
use crate::status::Status;
use futures::future::LocalBoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use lethe_core::store::{BucketVersion, Untrusted};
use lethe_seal::blob;
use lethe_seal::derive::{Purpose, Salt};
use lethe_seal::error::SealError;
use lethe_seal::master_key::MasterKey;
use lethe_seal::record::{RecordError, RecordSealer};
use lethe_seal::sealed::Sealed;
use lethe_store::{Blobs, Inventory};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, oneshot};

/// A store that a vault can live on.
pub trait VaultStore: Untrusted + Blobs + Inventory + 'static {}
impl<T: Untrusted + Blobs + Inventory + 'static> VaultStore for T {}

/// The name of the header on the trusted disk and in the store.
pub(crate) const HEADER: &str = "vault";
pub(crate) const SHIPPED: &str = "shipped";
/// The number of the last checkpoint that may have reached the store, whether or not its sender lived to see it.
const SHIPPING: &str = "shipping";

type Reply<T> = oneshot::Sender<Result<T, VaultError>>;

/// What callers ask of a session.
pub(crate) enum Command {
    /// At most one batch of calls, checked before.
    Access(Vec<Call>, Reply<Answers>),
    /// A checkpoint now, shipped.
    Checkpoint(Reply<Receipt>),
    /// Reads and authenticates everything in the store.
    Check(Progress, Reply<Report>),
    /// Finish, ship a checkpoint, end.
    Close(Reply<Receipt>),
}

/// What the outside world has finished.
enum Event {
    Operation(OperationId, Result<Vec<u8>, SealError>),
    Shipped(Result<Shipped, VaultError>),
    Deleted(Result<(), VaultError>),
    Checked(Result<Report, VaultError>, Reply<Report>),
}

/// See the module.
pub(crate) struct Session<U> {
    pub(crate) header: VaultHeader,
    pub(crate) master: MasterKey,
    pub(crate) disk: TrustedDisk,
    pub(crate) rows: Arc<Rows>,
    pub(crate) entropy: Entropy,
    pub(crate) gate: Rc<Gate>,
    pub(crate) engine: Engine<U>,
    pub(crate) epoch: u32,
    pub(crate) status: Arc<Mutex<Status>>,
    journal: RecordSealer,
    journal_salt: Salt,
    pub(crate) sequence: u64,
    records: Vec<Record>,
    outbox: Vec<(OperationId, Work)>,
    in_flight: FuturesUnordered<LocalBoxFuture<'static, Event>>,
    waiting: VecDeque<(Vec<Call>, Reply<Answers>)>,
    /// The callers of the batch in flight, with the number of their calls.
    callers: Vec<(usize, Reply<Answers>)>,
    pub(crate) number: u64,
    pub(crate) checkpointed_at: u64,
    pub(crate) checkpoint_now: bool,
    ship_now: bool,
    shipping: bool,
    /// Whether checkpoints are shipped and old versions deleted; a restore holds both back until it is complete.
    pub(crate) ships: bool,
    pub(crate) shipped: Shipped,
    pub(crate) history: Vec<(u64, [u8; 32])>,
    pub(crate) garbage: Vec<Garbage>,
    pub(crate) orphans: Vec<BucketVersion>,
    deleting: bool,
    /// Who waits for a receipt, and the first checkpoint that holds what was there when they asked.
    receipts: Vec<(u64, Reply<Receipt>)>,
    checks: VecDeque<(Progress, Reply<Report>)>,
    checking: bool,
    stash_peak: u64,
    journal_bytes: u64,
    checkpoint_bytes: u64,
    /// Whoever asked for the end, and the checkpoint before it: one more is always shipped, for rows change unseen.
    closing: Option<(u64, Reply<Receipt>)>,
    /// Whether anybody has asked for anything yet. Until then nothing is stepped or shipped: a check finds the store
    /// as it was left, and an opening shows no more than an opening.
    asked: bool,
    /// Whether nothing is left owed from before this opening.
    begun: bool,
}

/// What a session starts from; the rest begins empty.
pub(crate) struct Start<U> {
    pub(crate) header: VaultHeader,
    pub(crate) master: MasterKey,
    pub(crate) disk: TrustedDisk,
    pub(crate) rows: Arc<Rows>,
    pub(crate) entropy: Entropy,
    pub(crate) gate: Rc<Gate>,
    pub(crate) engine: Engine<U>,
    pub(crate) epoch: u32,
    pub(crate) number: u64,
    pub(crate) sequence: u64,
    pub(crate) garbage: Vec<Garbage>,
}

impl<U: VaultStore> Session<U> {
    pub(crate) fn new(start: Start<U>) -> Result<Self, VaultError> {
        let Start { header, master, disk, rows, mut entropy, gate, engine, epoch, number, sequence, garbage } =
            start;
        let journal_salt = entropy.salt();
        let journal = journal_sealer(&header, &master, &journal_salt)?;
        let (shipped, history) = match disk.meta(SHIPPED)? {
            Some(bytes) => {
                borsh::from_slice(&bytes).map_err(|error| VaultError::Damaged(error.to_string()))?
            }
            None => (Shipped::default(), Vec::new()),
        };
        let attempted = match disk.meta(SHIPPING)? {
            Some(number) => {
                borsh::from_slice(&number).map_err(|error| VaultError::Damaged(error.to_string()))?
            }
            None => 0,
        };
        let checkpointed_at = engine.accesses();
        Ok(Session {
            header,
            master,
            disk,
            rows,
            entropy,
            gate,
            engine,
            epoch,
            status: Arc::default(),
            journal,
            journal_salt,
            sequence,
            records: Vec::new(),
            outbox: Vec::new(),
            in_flight: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            callers: Vec::new(),
            number,
            checkpointed_at,
            checkpoint_now: false,
            // What such a checkpoint needs is not known any more: a newer one must take its place before anything is
            // deleted.
            ship_now: attempted > shipped.number,
            shipping: false,
            ships: true,
            shipped,
            history,
            garbage,
            orphans: Vec::new(),
            deleting: false,
            receipts: Vec::new(),
            checks: VecDeque::new(),
            checking: false,
            stash_peak: 0,
            journal_bytes: 0,
            checkpoint_bytes: 0,
            closing: None,
            asked: false,
            begun: false,
        })
    }

    /// Serves until closed or failed. However it ends, every caller gets an answer.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        failure: &Mutex<Option<VaultError>>,
    ) {
        let ended = match self.serve(&mut commands).await {
            Err(error) if error.is_tampering() => Err(self.unless_displaced(error).await),
            ended => ended,
        };
        if let Err(error) = &ended {
            tracing::error!(%error, "the vault has stopped");
            // Before the door is closed: whoever finds it closed asks why.
            *failure.lock().expect("nobody panics with this lock") = Some(error.clone());
        }
        commands.close();
        let why = ended.as_ref().err().cloned().unwrap_or(VaultError::Closed);
        let mut left: Vec<Command> = Vec::new();
        while let Ok(command) = commands.try_recv() {
            left.push(command);
        }
        let waiting = self.waiting.into_iter().map(|(_, reply)| reply);
        for reply in self.callers.into_iter().map(|(_, reply)| reply).chain(waiting) {
            let _ = reply.send(Err(why.clone()));
        }
        for (_, reply) in self.checks {
            let _ = reply.send(Err(why.clone()));
        }
        for (_, reply) in self.receipts.into_iter().chain(self.closing) {
            let _ = reply.send(Err(why.clone()));
        }
        for command in left {
            match command {
                Command::Access(_, reply) => drop(reply.send(Err(why.clone()))),
                Command::Check(_, reply) => drop(reply.send(Err(why.clone()))),
                Command::Checkpoint(reply) | Command::Close(reply) => drop(reply.send(Err(why.clone()))),
            }
        }
    }

    /// What looks like tampering may be the work of a gateway that has taken over and deleted what we still need.
    async fn unless_displaced(&self, error: VaultError) -> VaultError {
        let store = self.engine.sealed.untrusted();
        let claims = Claims { blobs: store, master: &self.master, vault: self.header.vault };
        match claims.check(self.epoch).await {
            Err(displaced @ VaultError::Displaced { .. }) => displaced,
            _ => error,
        }
    }

    async fn serve(&mut self, commands: &mut mpsc::Receiver<Command>) -> Result<(), VaultError> {
        loop {
            self.start_what_can_start()?;
            self.publish();
            if self.is_finished() {
                let receipt = self.receipt();
                if let Some((_, closing)) = self.closing.take() {
                    let _ = closing.send(Ok(receipt));
                }
                return Ok(());
            }
            tokio::select! {
                biased;
                Some(event) = self.in_flight.next(), if !self.in_flight.is_empty() => self.happened(event)?,
                command = commands.recv(), if self.closing.is_none() => self.take(command),
            }
        }
    }

    fn take(&mut self, command: Option<Command>) {
        self.asked = true;
        match command {
            Some(Command::Access(calls, reply)) => self.waiting.push_back((calls, reply)),
            Some(Command::Checkpoint(reply)) => {
                self.checkpoint_now = true;
                self.ship_now = true;
                self.ships = true;
                self.receipts.push((self.number + 1, reply));
            }
            Some(Command::Check(progress, reply)) => self.checks.push_back((progress, reply)),
            Some(Command::Close(reply)) => self.closing = Some((self.number, reply)),
            // Every handle is gone: nobody can say close any more.
            None => self.closing = Some((self.number, oneshot::channel().0)),
        }
    }

    /// Starts batches, off-line work and checkpoints until nothing more can start, and sends what they ask for.
    fn start_what_can_start(&mut self) -> Result<(), VaultError> {
        loop {
            // Before a new batch starts, the callers of the last one get their answers.
            self.flush()?;
            let due = self.is_checkpoint_due() || self.checking || !self.checks.is_empty();
            let scheme = self.engine.scheme.clone();
            let mut started = false;
            // What the last opening left owed comes before the first batch of this one.
            self.begun |= scheme.owed() == 0 && !self.engine.is_idling();
            let ready = self.begun && !self.engine.is_accessing() && !scheme.must_idle();
            if !due && ready && !self.waiting.is_empty() {
                let batch = self.take_batch();
                self.step(Input::Batch(batch), Vec::new())?;
                started = true;
            }
            // What is still owed at the end is owed by the next opening: the last checkpoint shall be the last word.
            let is_ending = self.closing.is_some() && self.waiting.is_empty() && self.has_settled();
            if self.asked && !due && !is_ending && !self.engine.is_idling() && scheme.owed() > 0 {
                self.step(Input::Idle, Vec::new())?;
                started = true;
            }
            if !started {
                break;
            }
        }
        let quiet = !self.engine.is_accessing() && !self.engine.is_idling() && !self.checking;
        if quiet && self.is_checkpoint_due() && !self.shipping {
            self.checkpoint()?;
            return self.start_what_can_start();
        }
        if quiet
            && !self.shipping
            && let Some((progress, reply)) = self.checks.pop_front()
        {
            self.check(progress, reply)?;
        }
        Ok(())
    }

    fn check(&mut self, progress: Progress, reply: Reply<Report>) -> Result<(), VaultError> {
        let beside = Beside {
            master: self.master.clone(),
            vault: self.header.vault,
            header: self.disk.meta(HEADER)?.unwrap_or_default(),
            epoch: self.epoch,
            shipped: self.shipped,
            most: Beside::most(&self.header.parameters),
        };
        let sealed = self.engine.sealed.clone();
        self.checking = true;
        self.in_flight.push(Box::pin(async move {
            let checking = async {
                let mut report = check(&sealed, progress).await?;
                report.complaints.extend(beside.check(sealed.untrusted()).await?);
                Ok(report)
            };
            Event::Checked(checking.await, reply)
        }));
        Ok(())
    }

    fn is_checkpoint_due(&self) -> bool {
        let every = self.header.parameters.checkpoint_every;
        let last = self.closing.is_some() && self.waiting.is_empty() && !self.has_settled();
        self.checkpoint_now || last || self.engine.accesses() - self.checkpointed_at >= every
    }

    /// Whether the last shipped checkpoint holds everything.
    fn has_settled(&self) -> bool {
        let is_last = self.closing.as_ref().is_none_or(|(before, _)| self.number > *before);
        let local = self.engine.accesses() == self.checkpointed_at;
        is_last && local && (!self.ships || self.shipped.number == self.number)
    }

    fn is_finished(&self) -> bool {
        self.closing.is_some()
            && self.waiting.is_empty()
            && self.in_flight.is_empty()
            && self.checks.is_empty()
            && self.has_settled()
    }

    /// As many waiting requests as fit the largest batch, in the order in which they came.
    fn take_batch(&mut self) -> Vec<Call> {
        let most = self.header.parameters.scheme.max_batch() as usize;
        let mut batch = Vec::new();
        while let Some((calls, _)) = self.waiting.front()
            && batch.len() + calls.len() <= most
            && let Some((calls, reply)) = self.waiting.pop_front()
        {
            self.callers.push((calls.len(), reply));
            batch.extend(calls);
        }
        if self.header.parameters.pad_batches {
            batch.resize(most, Call::Dummy);
        }
        batch
    }

    pub(crate) fn step(&mut self, input: Input, answer: Vec<u8>) -> Result<(), VaultError> {
        let step = self.engine.step(input, answer)?;
        let after = self.number;
        let replaced = self.engine.take_superseded();
        self.garbage.extend(replaced.into_iter().map(|at| Garbage {
            bucket: at.bucket,
            version: at.version,
            after,
        }));
        self.records.push(step.record);
        self.outbox.extend(step.work);
        Ok(())
    }

    /// Makes the records durable if anything depends on them, then sends the requests and the answers.
    fn flush(&mut self) -> Result<(), VaultError> {
        let has_batch = self.records.iter().any(|record| matches!(record.input, Input::Batch(_)));
        if has_batch || !self.outbox.is_empty() {
            let records = std::mem::take(&mut self.records);
            let sealed =
                records.iter().map(|record| self.seal_record(record)).collect::<Result<Vec<_>, _>>()?;
            self.journal_bytes += sealed.iter().map(|(_, record)| record.len() as u64).sum::<u64>();
            self.disk.append(&sealed)?;
        }
        for (operation, work) in std::mem::take(&mut self.outbox) {
            let sealed = self.engine.sealed.clone();
            self.in_flight
                .push(Box::pin(async move { Event::Operation(operation, carry_out(&sealed, work).await) }));
        }
        if let Some(answers) = self.engine.take_answers() {
            self.answer(answers);
        }
        Ok(())
    }

    fn answer(&mut self, answers: Result<Answers, VaultError>) {
        let mut answers = answers.map(Vec::into_iter);
        for (calls, reply) in std::mem::take(&mut self.callers) {
            let share =
                answers.as_mut().map(|answers| answers.take(calls).collect()).map_err(|error| error.clone());
            // A caller that has gone away wants no answer; its access was carried out all the same.
            let _ = reply.send(share);
        }
    }

    fn seal_record(&mut self, record: &Record) -> Result<(u64, Vec<u8>), VaultError> {
        let text = borsh::to_vec(record).map_err(|error| VaultError::Damaged(error.to_string()))?;
        let sequence = self.sequence;
        self.sequence += 1;
        let mut sealed = self.journal_salt.0.to_vec();
        if let Err(RecordError::Exhausted) = self.journal.seal(sequence, &text, &mut sealed) {
            self.journal_salt = self.entropy.salt();
            self.journal = journal_sealer(&self.header, &self.master, &self.journal_salt)?;
            sealed = self.journal_salt.0.to_vec();
            let sealing = self.journal.seal(sequence, &text, &mut sealed);
            sealing.map_err(|error| VaultError::Damaged(error.to_string()))?;
        }
        Ok((sequence, sealed))
    }

    /// Feeds in an operation that was finished before the session began.
    pub(crate) fn finished_before(&mut self, operation: OperationId, answer: Vec<u8>) {
        self.in_flight.push(Box::pin(async move { Event::Operation(operation, Ok(answer)) }));
    }

    fn happened(&mut self, event: Event) -> Result<(), VaultError> {
        match event {
            Event::Operation(operation, answer) => self.step(Input::Complete(operation), answer?)?,
            Event::Shipped(shipped) => {
                self.shipped = shipped?;
                self.shipping = false;
                self.history.push((self.shipped.number, self.shipped.digest));
                checkpoint::shorten(&mut self.history);
                let note = borsh::to_vec(&(self.shipped, &self.history)).expect("memory takes every write");
                self.disk.set_meta(SHIPPED, &note)?;
                let receipt = self.receipt();
                for (_, waiting) in self.receipts.extract_if(.., |(first, _)| *first <= receipt.checkpoint) {
                    let _ = waiting.send(Ok(receipt));
                }
                self.collect_garbage();
            }
            Event::Checked(report, reply) => {
                self.checking = false;
                let _ = reply.send(report);
            }
            Event::Deleted(deleted) => {
                self.deleting = false;
                deleted?;
                // What became garbage meanwhile.
                self.collect_garbage();
            }
        }
        Ok(())
    }

    /// Writes the trusted state down; nothing is in flight. Every so often it is shipped as well.
    fn checkpoint(&mut self) -> Result<(), VaultError> {
        self.engine.sealed.drop_unused_epochs();
        let seed = self.entropy.seed();
        self.engine.scheme.reseed(seed);
        self.gate.restart();
        self.number += 1;
        let scheme = self.engine.scheme.snapshot().expect("nothing is in flight at a checkpoint");
        let checkpoint = Checkpoint {
            number: self.number,
            sequence: self.sequence,
            accesses: self.engine.accesses(),
            seed,
            scheme,
            versions: self.engine.sealed.snapshot(),
            garbage: self.garbage.clone(),
        };
        let salt = self.entropy.salt();
        self.checkpoint_bytes += store_checkpoint(&self.disk, &self.header, &self.master, &checkpoint, salt)?;
        // They lie before the checkpoint.
        self.records.clear();
        self.checkpointed_at = self.engine.accesses();
        self.checkpoint_now = false;
        let turn = self.number.is_multiple_of(self.header.parameters.ship_every);
        let ships =
            self.ship_now || self.shipped.number == 0 || self.closing.is_some() || (turn && self.asked);
        // A turn that comes before anybody has asked for anything is the next checkpoint's.
        self.ship_now = turn && !ships;
        if self.ships && ships {
            self.ship(checkpoint)?;
        }
        self.collect_garbage();
        tracing::debug!(checkpoint = self.number, accesses = self.checkpointed_at, "checkpoint");
        Ok(())
    }

    fn ship(&mut self, checkpoint: Checkpoint) -> Result<(), VaultError> {
        let Checkpoint { number, accesses, scheme, versions, .. } = checkpoint;
        let newest = (versions.epochs().newest(), versions.counter());
        let attempt = borsh::to_vec(&number).expect("memory takes every write");
        self.disk.set_meta(SHIPPING, &attempt)?;
        let (rows, history, epoch) = (self.rows.load()?, self.history.clone(), self.epoch);
        let shipped = ShippedCheckpoint { number, epoch, accesses, scheme, versions, rows, history };
        let text = shipped.encode(&self.header.parameters);
        let name = checkpoint::blob_name(epoch, number);
        let context = [self.header.vault.0.as_slice(), name.as_bytes()].concat();
        let cipher = self.header.parameters.cipher()?;
        let sealed =
            blob::seal(&self.master, Purpose::CHECKPOINT, &context, cipher, self.entropy.salt(), &text);
        let store = self.engine.sealed.clone();
        let (master, vault) = (self.master.clone(), self.header.vault);
        self.shipping = true;
        self.in_flight.push(Box::pin(async move {
            let claims = Claims { blobs: store.untrusted(), master: &master, vault };
            let shipping = async {
                claims.check(epoch).await?;
                store.untrusted().put(&name, &sealed).await?;
                for older in store.untrusted().list("checkpoint/").await? {
                    if checkpoint::blob_order(&older.name).is_some_and(|older| older < (epoch, number)) {
                        Blobs::remove(store.untrusted(), &older.name).await?;
                    }
                }
                Ok(Shipped { number, epoch, newest, digest: checkpoint::digest(&sealed) })
            };
            Event::Shipped(shipping.await)
        }));
        Ok(())
    }

    /// Deletes versions that neither the checkpoint on the disk nor the one in the store needs. Called when one of
    /// the two has just become durable, or the last deletion has ended: public times.
    fn collect_garbage(&mut self) {
        if self.deleting || self.shipping || !self.ships {
            return;
        }
        let (number, shipped) = (self.number, self.shipped);
        let is_needed = |garbage: &Garbage| {
            let by_disk = garbage.after >= number;
            let is_older = (garbage.version.epoch, garbage.version.counter) <= shipped.newest;
            by_disk || (is_older && garbage.after >= shipped.number)
        };
        let gone: Vec<Garbage> = self.garbage.extract_if(.., |garbage| !is_needed(garbage)).collect();
        let mut gone: Vec<BucketVersion> = gone.into_iter().map(Garbage::written).collect();
        gone.append(&mut self.orphans);
        if gone.is_empty() {
            return;
        }
        let (store, epoch) = (self.engine.sealed.clone(), self.epoch);
        let (master, vault) = (self.master.clone(), self.header.vault);
        self.deleting = true;
        self.in_flight.push(Box::pin(async move {
            let claims = Claims { blobs: store.untrusted(), master: &master, vault };
            let deleting = async {
                // A displaced gateway must not delete what its successor may still need.
                claims.check(epoch).await?;
                Untrusted::delete(store.untrusted(), &gone).await?;
                Ok(())
            };
            Event::Deleted(deleting.await)
        }));
    }

    fn receipt(&self) -> Receipt {
        Receipt {
            vault: self.header.vault,
            epoch: self.shipped.epoch,
            checkpoint: self.shipped.number,
            digest: self.shipped.digest,
        }
    }

    pub(crate) fn publish(&mut self) {
        let stash_blocks = self.engine.scheme.stash_blocks() as u64;
        self.stash_peak = self.stash_peak.max(stash_blocks);
        let (rows_used, rows_reserved) = self.rows.usage();
        *self.status.lock().expect("nobody panics with this lock") = Status {
            epoch: self.epoch,
            accesses: self.engine.accesses(),
            evictions_owed: self.engine.scheme.owed(),
            emergencies: self.engine.scheme.emergencies(),
            stash_blocks,
            stash_peak: self.stash_peak,
            trusted_bytes: self.engine.scheme.trusted_bytes() as u64
                + 12 * self.header.parameters.scheme.layout().buckets(),
            journal_bytes: self.journal_bytes,
            checkpoint_bytes: self.checkpoint_bytes,
            checkpoint: self.number,
            shipped_checkpoint: self.shipped.number,
            accesses_since_checkpoint: self.engine.accesses() - self.checkpointed_at,
            receipt: (self.shipped.number > 0).then(|| self.receipt().to_string()),
            old_versions: self.garbage.len() as u64,
            rows_used,
            rows_reserved,
        };
    }
}

pub(crate) async fn carry_out<U: Untrusted>(sealed: &Sealed<U>, work: Work) -> Result<Vec<u8>, SealError> {
    match work {
        Work::Read(places) => {
            let layout = sealed.layout();
            let mut into = vec![0; places.iter().map(|at| layout.slot_bytes(at.slot)).sum()];
            sealed.read_places(&places, &mut into).await?;
            Ok(into)
        }
        Work::Write(buckets, plaintext) => {
            sealed.write_assigned(&buckets, &plaintext).await?;
            Ok(Vec::new())
        }
    }
}

pub(crate) fn journal_sealer(
    header: &VaultHeader,
    master: &MasterKey,
    salt: &Salt,
) -> Result<RecordSealer, VaultError> {
    let cipher = header.parameters.cipher()?;
    Ok(RecordSealer::new(master, Purpose::JOURNAL, cipher, salt, &header.vault.0))
}

/// The name under which a checkpoint is sealed for the trusted disk.
pub(crate) fn state_name(header: &VaultHeader) -> Vec<u8> {
    [header.vault.0.as_slice(), b"state"].concat()
}

/// Seals a checkpoint and commits it to the trusted disk, which empties the journal; returns its bytes.
pub(crate) fn store_checkpoint(
    disk: &TrustedDisk,
    header: &VaultHeader,
    master: &MasterKey,
    checkpoint: &Checkpoint,
    salt: Salt,
) -> Result<u64, VaultError> {
    let text = borsh::to_vec(checkpoint).map_err(|error| VaultError::Damaged(error.to_string()))?;
    let cipher = header.parameters.cipher()?;
    let sealed = blob::seal(master, Purpose::CHECKPOINT, &state_name(header), cipher, salt, &text);
    disk.commit_checkpoint(&sealed)?;
    Ok(sealed.len() as u64)
}
