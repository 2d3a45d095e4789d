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
use crate::fair_queue::{FairQueue, Flow};
use crate::gate::{Gate, OperationId};
use crate::header::VaultHeader;
use crate::ownership::Claims;
use crate::pace::{Instants, Local, Pacer, next_instant};
use crate::record::{Call, Input, Record};
use crate::rows::Rows;
use crate::status::Status;
use crate::store::{HEADER, SHIPPED, VaultStore, carry_out};
use futures::future::LocalBoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use lethe_core::store::{BucketVersion, Untrusted};
use lethe_seal::blob;
use lethe_seal::derive::{Purpose, Salt};
use lethe_seal::error::SealError;
use lethe_seal::master_key::MasterKey;
use lethe_seal::record::{RecordError, RecordSealer};
use lethe_store::Blobs;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// The number of the last checkpoint that may have reached the store, whether or not its sender lived to see it.
const SHIPPING: &str = "shipping";

type Reply<T> = oneshot::Sender<Result<T, VaultError>>;

/// What callers ask of a session.
pub(crate) enum Command {
    /// At most one batch of calls, checked before.
    Access(Option<Flow>, Vec<Call>, Reply<Answers>),
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

/// What a session waits for.
enum News {
    Event(Event),
    Command(Option<Command>),
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
    pacer: Option<Pacer>,
    /// When the first step was made that has not been flushed yet.
    stepped_at: Option<Instant>,
    /// What leaves at a later moment, in the order in which it does.
    held: VecDeque<(Instant, LocalBoxFuture<'static, Event>)>,
    /// What happened while the disk was at work.
    arrived: VecDeque<Event>,
    in_flight: FuturesUnordered<LocalBoxFuture<'static, Event>>,
    waiting: FairQueue<Reply<Answers>>,
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
    stash_at_rest: u64,
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
    pub(crate) pacer: Option<Pacer>,
}

impl<U: VaultStore> Session<U> {
    pub(crate) fn new(start: Start<U>) -> Result<Self, VaultError> {
        let Start { header, master, disk, rows, mut entropy, gate, engine, .. } = start;
        let Start { epoch, number, sequence, garbage, pacer, .. } = start;
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
            stepped_at: None,
            held: VecDeque::new(),
            arrived: VecDeque::new(),
            in_flight: FuturesUnordered::new(),
            waiting: FairQueue::new(),
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
            stash_at_rest: 0,
            journal_bytes: 0,
            checkpoint_bytes: 0,
            closing: None,
            // A paced vault does not wait to be asked.
            asked: pacer.is_some(),
            begun: false,
            pacer,
        })
    }

    /// Serves until closed or failed. However it ends, every caller gets an answer.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        failure: &Mutex<Option<VaultError>>,
    ) {
        let ended = match self.serve(&mut commands).await {
            Err(error) if error.is_tampering() => {
                let store = self.engine.sealed.untrusted();
                let claims = Claims { blobs: store, master: &self.master, vault: self.header.vault };
                Err(claims.unless_displaced(self.epoch, error).await)
            }
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
        let closing = self.closing.take().map(|(_, reply)| (reply, ended.map(|()| self.receipt())));
        for reply in std::mem::replace(&mut self.waiting, FairQueue::new()).into_replies() {
            let _ = reply.send(Err(why.clone()));
        }
        for (_, reply) in self.checks.drain(..) {
            let _ = reply.send(Err(why.clone()));
        }
        for (_, reply) in self.receipts.drain(..) {
            let _ = reply.send(Err(why.clone()));
        }
        for command in left {
            match command {
                Command::Access(_, _, reply) => drop(reply.send(Err(why.clone()))),
                Command::Check(_, reply) => drop(reply.send(Err(why.clone()))),
                Command::Checkpoint(reply) | Command::Close(reply) => drop(reply.send(Err(why.clone()))),
            }
        }
        // Whoever is told that the vault is closed may open it again at once: its disk and its store are let go of first.
        drop(self);
        if let Some((reply, receipt)) = closing {
            let _ = reply.send(receipt);
        }
    }

    async fn serve(&mut self, commands: &mut mpsc::Receiver<Command>) -> Result<(), VaultError> {
        loop {
            self.start_what_can_start().await?;
            self.publish();
            if self.is_finished() {
                return Ok(());
            }
            let wakes = self.wakes();
            let arrived = self.arrived.pop_front();
            let news = tokio::select! {
                biased;
                event = std::future::ready(arrived), if arrived.is_some() => event.map(News::Event),
                event = self.in_flight.next(), if !self.in_flight.is_empty() => event.map(News::Event),
                command = commands.recv(), if self.closing.is_none() => Some(News::Command(command)),
                () = sleep_until(wakes), if wakes.is_some() => None,
            };
            // Before anything that takes a while.
            self.let_go();
            match news {
                Some(News::Event(event)) => self.happened(event).await?,
                Some(News::Command(command)) => {
                    self.take(command);
                    // What has come meanwhile shares the batch that starts now.
                    while self.closing.is_none()
                        && let Ok(command) = commands.try_recv()
                    {
                        self.take(Some(command));
                    }
                }
                None => {}
            }
        }
    }

    fn take(&mut self, command: Option<Command>) {
        self.asked = true;
        match command {
            Some(Command::Access(flow, calls, reply)) => self.waiting.push(flow, calls, reply),
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
    async fn start_what_can_start(&mut self) -> Result<(), VaultError> {
        loop {
            // Before a new batch starts, the callers of the last one get their answers.
            self.flush().await?;
            if self.pacer.as_ref().is_some_and(|pacer| pacer.is_hushed(Instant::now())) {
                return Ok(());
            }
            let due = self.is_checkpoint_due() || self.checking || !self.checks.is_empty();
            let scheme = self.engine.scheme.clone();
            let mut started = false;
            // What the last opening left owed comes before the first batch of this one.
            self.begun |= scheme.owed() == 0 && !self.engine.is_idling();
            let ready = self.begun && !self.engine.is_accessing() && !scheme.must_idle();
            if !due && ready && self.is_turn() {
                let batch = self.take_batch();
                self.step(Input::Batch(batch), Vec::new())?;
                started = true;
            }
            // What is still owed at the end is owed by the next opening: the last checkpoint shall be the last word.
            let is_ending = self.closing.is_some() && self.waiting.is_empty() && self.has_settled();
            // Under a pace each step has its instants to itself.
            let most_idles = if self.pacer.is_some() { 1 } else { scheme.most_idles() };
            if self.asked && !due && !is_ending && self.engine.idles() < most_idles && scheme.owed() > 0 {
                self.step(Input::Idle, Vec::new())?;
                started = true;
            }
            let quiet = !self.engine.is_accessing() && !self.engine.is_idling() && !self.checking;
            if !started && quiet && self.is_checkpoint_due() && !self.shipping {
                self.checkpoint().await?;
                started = true;
            }
            if !started {
                break;
            }
        }
        let quiet = !self.engine.is_accessing() && !self.engine.is_idling() && !self.checking;
        if quiet
            && !self.shipping
            && let Some((progress, reply)) = self.checks.pop_front()
        {
            self.check(progress, reply)?;
        }
        Ok(())
    }

    /// Whether a batch is to begin as soon as it can. Under a pace that does not depend on what is asked; at the end,
    /// turns go on until everybody who waits is served.
    fn is_turn(&self) -> bool {
        match &self.pacer {
            Some(pacer) => {
                pacer.is_due(Instant::now()) && (self.closing.is_none() || !self.waiting.is_empty())
            }
            None => !self.waiting.is_empty(),
        }
    }

    /// When requests leave, under a pace.
    fn instants(&self) -> Option<Instants> {
        self.pacer.as_ref().map(Pacer::instants)
    }

    /// When something is to be done that nobody asks for.
    fn wakes(&self) -> Option<Instant> {
        let leaves = self.held.front().map(|(at, _)| *at);
        self.pacer.as_ref()?.wakes(Instant::now(), leaves)
    }

    /// Lets go what leaves now.
    fn let_go(&mut self) {
        let now = Instant::now();
        while let Some((_, request)) = self.held.pop_front_if(|(at, _)| *at <= now) {
            self.set_out(request);
        }
    }

    /// A request sets out with its first poll: now and in its order, not when this thread has nothing better to do.
    fn set_out(&mut self, mut request: LocalBoxFuture<'static, Event>) {
        match request.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) => self.arrived.push_back(event),
            Poll::Pending => self.in_flight.push(request),
        }
    }

    /// Has the disk do something. Meanwhile what is on its way goes on, and what is to leave leaves.
    async fn on_disk<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&TrustedDisk) -> Result<T, VaultError> + Send + 'static,
    ) -> Result<T, VaultError> {
        let disk = self.disk.clone();
        let mut working = std::pin::pin!(disk.carry_out(work));
        loop {
            let leaves = self.held.front().map(|(at, _)| *at);
            tokio::select! {
                biased;
                done = &mut working => return done,
                Some(event) = self.in_flight.next(), if !self.in_flight.is_empty() => self.arrived.push_back(event),
                () = sleep_until(leaves), if leaves.is_some() => self.let_go(),
            }
        }
    }

    /// Sends a request that follows from work which began at `began`: at once, or at the pace's next instant.
    fn send(&mut self, local: Local, began: Instant, request: LocalBoxFuture<'static, Event>) {
        match &mut self.pacer {
            Some(pacer) => self.held.push_back((pacer.leaves(local, began, Instant::now()), request)),
            None => self.set_out(request),
        }
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
            && self.held.is_empty()
            && self.arrived.is_empty()
            && self.checks.is_empty()
            && self.has_settled()
    }

    /// As many waiting calls as fit the largest batch, a call of each flow in turn.
    fn take_batch(&mut self) -> Vec<Call> {
        let most = self.header.parameters.scheme.max_batch() as usize;
        let mut batch = self.waiting.take_batch(most);
        let asked = batch.len();
        if self.header.parameters.pad_batches || self.pacer.is_some() {
            batch.resize(most, Call::Dummy);
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.begins(Instant::now(), asked as u64, (most - asked) as u64);
        }
        batch
    }

    pub(crate) fn step(&mut self, input: Input, answer: Vec<u8>) -> Result<(), VaultError> {
        self.stepped_at.get_or_insert_with(Instant::now);
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
    async fn flush(&mut self) -> Result<(), VaultError> {
        let has_batch = self.records.iter().any(|record| matches!(record.input, Input::Batch(_)));
        if has_batch || !self.outbox.is_empty() {
            let records = std::mem::take(&mut self.records);
            let sealed =
                records.iter().map(|record| self.seal_record(record)).collect::<Result<Vec<_>, _>>()?;
            self.journal_bytes += sealed.iter().map(|(_, record)| record.len() as u64).sum::<u64>();
            self.on_disk(move |disk| disk.append(&sealed)).await?;
        }
        let began = self.stepped_at.take().unwrap_or_else(Instant::now);
        // Who watches the requests may know before that they have begun.
        self.publish();
        for (operation, work) in std::mem::take(&mut self.outbox) {
            let sealed = self.engine.sealed.clone();
            let request = async move { Event::Operation(operation, carry_out(&sealed, work).await) };
            self.send(Local::Step, began, Box::pin(request));
        }
        if let Some(answers) = self.engine.take_answers() {
            self.answer(answers);
        }
        Ok(())
    }

    fn answer(&mut self, answers: Result<Answers, VaultError>) {
        // A caller that has gone away wants no answer; its access was carried out all the same.
        match answers {
            Ok(answers) => {
                for (reply, answers) in self.waiting.answer(answers) {
                    let _ = reply.send(Ok(answers));
                }
            }
            Err(refusal) => {
                for reply in self.waiting.refuse() {
                    let _ = reply.send(Err(refusal.clone()));
                }
            }
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

    async fn happened(&mut self, event: Event) -> Result<(), VaultError> {
        match event {
            Event::Operation(operation, answer) => self.step(Input::Complete(operation), answer?)?,
            Event::Shipped(shipped) => {
                self.shipped = shipped?;
                self.shipping = false;
                self.history.push((self.shipped.number, self.shipped.digest));
                checkpoint::shorten(&mut self.history);
                let note = borsh::to_vec(&(self.shipped, &self.history)).expect("memory takes every write");
                self.on_disk(move |disk| disk.set_meta(SHIPPED, &note)).await?;
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
    async fn checkpoint(&mut self) -> Result<(), VaultError> {
        let began = Instant::now();
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
        // Under a pace its length must not show by the time that it takes.
        let least = if self.pacer.is_some() { checkpoint.most_bytes(&self.header.parameters) } else { 0 };
        let sealed = seal_checkpoint(&self.header, &self.master, &checkpoint, salt, least)?;
        self.checkpoint_bytes += sealed.len() as u64;
        self.on_disk(move |disk| disk.commit_checkpoint(&sealed)).await?;
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
            let shipment = self.ship(checkpoint).await?;
            self.send(Local::Shipment, began, shipment);
        } else if let Some(pacer) = &mut self.pacer {
            pacer.leaves(Local::Checkpoint, began, Instant::now());
        }
        self.collect_garbage();
        tracing::debug!(checkpoint = self.number, accesses = self.checkpointed_at, "checkpoint");
        Ok(())
    }

    async fn ship(&mut self, checkpoint: Checkpoint) -> Result<LocalBoxFuture<'static, Event>, VaultError> {
        let Checkpoint { number, accesses, scheme, versions, .. } = checkpoint;
        let newest = (versions.epochs().newest(), versions.counter());
        let attempt = borsh::to_vec(&number).expect("memory takes every write");
        self.on_disk(move |disk| disk.set_meta(SHIPPING, &attempt)).await?;
        let (rows, history, epoch) = (self.rows.load()?, self.history.clone(), self.epoch);
        let shipped = ShippedCheckpoint { number, epoch, accesses, scheme, versions, rows, history };
        let text = shipped.encode(&self.header.parameters);
        let name = checkpoint::blob_name(epoch, number);
        let context = [self.header.vault.0.as_slice(), name.as_bytes()].concat();
        let cipher = self.header.parameters.cipher()?;
        let sealed =
            blob::seal(&self.master, Purpose::CHECKPOINT, &context, cipher, self.entropy.salt(), &text);
        let store = self.engine.sealed.clone();
        let (master, vault, instants) = (self.master.clone(), self.header.vault, self.instants());
        self.shipping = true;
        Ok(Box::pin(async move {
            let claims = Claims { blobs: store.untrusted(), master: &master, vault };
            let shipping = async {
                claims.check(epoch).await?;
                next_instant(instants).await;
                store.untrusted().put(&name, &sealed).await?;
                next_instant(instants).await;
                for older in store.untrusted().list("checkpoint/").await? {
                    if checkpoint::blob_order(&older.name).is_some_and(|older| older < (epoch, number)) {
                        next_instant(instants).await;
                        Blobs::remove(store.untrusted(), &older.name).await?;
                    }
                }
                Ok(Shipped { number, epoch, newest, digest: checkpoint::digest(&sealed) })
            };
            Event::Shipped(shipping.await)
        }))
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
        let (master, vault, instants) = (self.master.clone(), self.header.vault, self.instants());
        self.deleting = true;
        let request = Box::pin(async move {
            let claims = Claims { blobs: store.untrusted(), master: &master, vault };
            let deleting = async {
                // A displaced gateway must not delete what its successor may still need.
                claims.check(epoch).await?;
                next_instant(instants).await;
                Untrusted::delete(store.untrusted(), &gone).await?;
                Ok(())
            };
            Event::Deleted(deleting.await)
        });
        self.send(Local::Step, Instant::now(), request);
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
        if !self.engine.is_accessing() && !self.engine.is_idling() {
            self.stash_at_rest = stash_blocks;
        }
        let (rows_used, rows_reserved) = self.rows.usage();
        *self.status.lock().expect("nobody panics with this lock") = Status {
            epoch: self.epoch,
            accesses: self.engine.accesses(),
            evictions_owed: self.engine.scheme.owed() + self.engine.idles() as u64,
            emergencies: self.engine.scheme.emergencies(),
            stash_blocks,
            stash_peak: self.stash_peak,
            stash_at_rest: self.stash_at_rest,
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
            pace: self.pacer.as_ref().map(Pacer::figures),
        };
    }
}

async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
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

/// Seals a checkpoint for the trusted disk. Zeros fill it up to `least` bytes of plaintext.
pub(crate) fn seal_checkpoint(
    header: &VaultHeader,
    master: &MasterKey,
    checkpoint: &Checkpoint,
    salt: Salt,
    least: u64,
) -> Result<Vec<u8>, VaultError> {
    let mut text = borsh::to_vec(checkpoint).map_err(|error| VaultError::Damaged(error.to_string()))?;
    text.resize(text.len().max(least as usize), 0);
    let cipher = header.parameters.cipher()?;
    Ok(blob::seal(master, Purpose::CHECKPOINT, &state_name(header), cipher, salt, &text))
}
