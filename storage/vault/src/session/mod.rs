//! An opening of a vault: the loop that takes requests, steps the engine, journals, and talks to the store.
//!
//! Nothing goes out before the record that announces it is durable, and nothing is acknowledged before the record of
//! its batch is. Every failure ends the session; the next opening recovers, by the one path that crashes take too.

mod batch;
mod beginning;
pub(crate) mod check;
mod checkpoints;
mod checks;
mod command;
mod garbage;
mod gathering;
mod identity;
mod journal;
mod key_change;
mod log;
mod lookout;
mod outbox;
pub(crate) mod pace;
mod publish;
pub(crate) mod queue;
mod shipment;
pub(crate) mod status;

pub(crate) use checkpoints::{Noted, Shipping};
pub(crate) use command::Command;
pub(crate) use identity::Identity;
pub(crate) use log::{Log, without_reads};

use crate::engine::gate::OperationId;
use crate::engine::record::Input;
use crate::engine::work::carry_out;
use crate::engine::{Answers, Engine};
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::lease::tenancy::move_out;
use crate::lease::{Lease, Tenure};
use crate::log::NOTE;
use crate::store::VaultStore;
use crate::trusted::checkpoint::{Garbage, Receipt};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::ledger::Ledger;
use crate::trusted::rows::Rows;
use ameles_core::store::BucketVersion;
use ameles_seal::epoch::Epoch;
use beginning::Beginning;
use checkpoints::Checkpoints;
use checks::Checks;
use command::Reply;
use garbage::Replaced;
use journal::Journal;
use key_change::KeyChange;
use lookout::Lookout;
use outbox::{Event, Outbox, sleep_until};
use pace::{Local, Pacer, next_instant};
use publish::Figures;
use queue::FairQueue;
use status::{OpeningFigures, Status};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// An event or a command that a session waits for.
enum News {
    Event(Event),
    Command(Option<Command>),
    /// Something that was to be written has found no room in the store.
    StoreLacksRoom,
}

/// See the module.
pub(crate) struct Session<U> {
    identity: Rc<Identity>,
    disk: TrustedDisk,
    rows: Arc<Rows>,
    entropy: Entropy,
    engine: Engine<U>,
    journal: Journal,
    outbox: Outbox,
    checkpoints: Checkpoints,
    replaced: Replaced,
    waiting: FairQueue<Reply<Answers>>,
    checks: Checks,
    figures: Figures,
    beginning: Beginning,
    lease: Lease,
    /// The caller that asked for the end, and the checkpoint before it: another is always shipped, for rows change
    /// unseen.
    closing: Option<(u64, Reply<Receipt>)>,
}

/// The state that recovery hands over; the rest begins empty.
pub(crate) struct Start<U> {
    // Wide: taken apart at once.
    pub(crate) identity: Identity,
    pub(crate) disk: TrustedDisk,
    pub(crate) rows: Arc<Rows>,
    pub(crate) entropy: Entropy,
    /// The engine, which has replayed the journal.
    pub(crate) engine: Engine<U>,
    /// The epoch that begins.
    pub(crate) epoch: Epoch,
    pub(crate) tenure: Tenure,
    /// The number of the checkpoint on the trusted disk.
    pub(crate) number: u64,
    /// The number of the next record.
    pub(crate) sequence: u64,
    /// The records that were replayed, and the time of it all.
    pub(crate) opening: OpeningFigures,
    pub(crate) ledger: Ledger,
    pub(crate) garbage: Vec<Garbage>,
    /// Versions that are in the store and are not needed.
    pub(crate) orphans: Vec<BucketVersion>,
    /// Operations that were finished earlier, with their answers, and not journalled.
    pub(crate) finished: Vec<(OperationId, Vec<u8>)>,
    pub(crate) shipping: Shipping,
    pub(crate) pacer: Option<Pacer>,
    /// The journal in the store, if the vault has one and is not being restored.
    pub(crate) log: Option<Log>,
}

impl<U: VaultStore> Session<U> {
    /// Begins the epoch.
    pub(crate) fn begin(start: Start<U>) -> Result<Self, VaultError> {
        let Start { identity, disk, rows, mut entropy, engine, epoch, opening, .. } = start;
        let Start {
            number, sequence, ledger, garbage, orphans, finished, shipping, pacer, tenure, log, ..
        } = start;
        let (left, ship_every) = (orphans.len(), identity.header.parameters.ship_every);
        engine.sealed.begin_epoch_numbered(epoch)?;
        let identity = Rc::new(identity);
        let (first, instants) = match &pacer {
            Some(pacer) => (pacer.first(), Some(pacer.instants())),
            None => (Instant::now(), None),
        };
        // A restore seals everything anew by itself.
        let change = engine.sealed.with_versions(|versions| KeyChange::of(&identity.ring(), versions));
        let change = change.filter(|_| shipping != Shipping::HeldBack);
        let mut checkpoints =
            Checkpoints::load(&disk, ledger, (number, engine.accesses()), (shipping, ship_every))?;
        checkpoints.lacks_at_most(identity.header.parameters.latest_checkpoint(), opening.records > 0);
        let lookout = Lookout::over(engine.sealed.clone(), identity.clone(), &tenure, first, instants);
        let mut session = Session {
            journal: Journal::new(&identity, &mut entropy, sequence, log)?,
            checkpoints,
            identity,
            disk,
            rows,
            entropy,
            engine,
            beginning: Beginning::new(pacer.is_some() || change.is_some()),
            replaced: Replaced::new(garbage, orphans, change),
            waiting: FairQueue::new(),
            checks: Checks::default(),
            figures: Figures::of(opening),
            lease: tenure.lease,
            closing: None,
            outbox: Outbox::new(pacer, lookout),
        };
        session.step(Input::Epoch(epoch), Vec::new())?;
        session.engine.go_live();
        for (operation, answer) in finished {
            let event = async move { Event::Operation(operation, Ok(answer)) };
            session.outbox.take_along(Box::pin(event));
        }
        session.publish();
        tracing::info!(epoch = epoch.number, records = opening.records, orphans = left, "vault opened");
        Ok(session)
    }

    /// The identity of the session.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The vault's rows, for callers that read them beside the session.
    pub(crate) fn rows(&self) -> Arc<Rows> {
        self.rows.clone()
    }

    /// The trusted disk, for callers that ask for its room.
    pub(crate) fn disk(&self) -> TrustedDisk {
        self.disk.clone()
    }

    /// The right to answer, for callers that are answered beside the session.
    pub(crate) fn lease(&self) -> Lease {
        self.lease.clone()
    }

    /// The place where the session publishes its figures.
    pub(crate) fn status(&self) -> Arc<Mutex<Status>> {
        self.figures.shown()
    }

    /// Serves until closed or failed. However it ends, every caller gets an answer.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        failure: &Mutex<Option<VaultError>>,
    ) {
        let ended = match self.serve(&mut commands).await {
            Err(error) if error.is_tampering() => {
                let claims = self.identity.claims(self.engine.sealed.untrusted());
                Err(claims.unless_displaced(self.identity.epoch, error).await)
            }
            ended => ended,
        };
        if let Err(error) = &ended {
            tracing::error!(%error, "the vault has stopped");
            // This comes before the door is closed: a caller that finds it closed asks why.
            *failure.lock().expect("nobody panics with this lock") = Some(error.clone());
        }
        commands.close();
        let why = ended.as_ref().err().cloned().unwrap_or(VaultError::Closed);
        let mut left: Vec<Command> = Vec::new();
        while let Ok(command) = commands.try_recv() {
            left.push(command);
        }
        self.leave(ended.is_ok()).await;
        let receipt = self.checkpoints.receipt(self.identity.header.vault);
        let closing = self.closing.take().map(|(_, reply)| (reply, ended.map(|()| receipt)));
        for reply in std::mem::replace(&mut self.waiting, FairQueue::new()).into_replies() {
            let _ = reply.send(Err(why.clone()));
        }
        self.checks.refuse(&why);
        self.checkpoints.refuse(&why);
        if let Some(log) = &mut self.journal.log {
            log.refuse(&why);
        }
        for command in left {
            command.refuse(&why);
        }
        // A caller that is told that the vault is closed may open it again at once: its disk and its store are let go
        // of first.
        self.outbox.end_beside().await;
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
            let looks = self.disk.room().looks_at();
            let wakes = [self.outbox.wakes(), self.gathers_until(), looks].into_iter().flatten().min();
            let news = tokio::select! {
                biased;
                event = self.outbox.next() => Some(News::Event(event)),
                command = commands.recv(), if self.closing.is_none() => Some(News::Command(command)),
                () = self.replaced.store_lacks_room() => Some(News::StoreLacksRoom),
                () = sleep_until(wakes), if wakes.is_some() => None,
            };
            // This comes before anything that takes a while.
            self.outbox.let_go();
            self.disk.room().look(Instant::now());
            match news {
                Some(News::Event(event)) => self.happened(event).await?,
                Some(News::StoreLacksRoom) => self.make_room(),
                Some(News::Command(command)) => {
                    self.take(command)?;
                    // Commands that have come meanwhile share the batch that starts now.
                    while self.closing.is_none()
                        && let Ok(command) = commands.try_recv()
                    {
                        self.take(Some(command))?;
                    }
                }
                None => {}
            }
        }
    }

    fn take(&mut self, command: Option<Command>) -> Result<(), VaultError> {
        self.beginning.ask();
        match command {
            Some(Command::Access(flow, calls, reply)) => self.waiting.push(flow, calls, reply),
            Some(Command::Log(commit, reply)) => match &mut self.journal.log {
                Some(log) => log.want(commit, reply),
                // Nothing waits for a journal that is not there.
                None => drop(reply.send(Ok(()))),
            },
            Some(Command::Checkpoint(reply)) => self.checkpoints.want(reply),
            Some(Command::Check(progress, reply)) => self.checks.push(progress, reply),
            Some(Command::Close(reply)) => self.closing = Some((self.checkpoints.number, reply)),
            Some(Command::StopResumed) => {
                move_out(&self.disk)?;
                return Err(VaultError::Resumed);
            }
            Some(Command::Fail(error)) => return Err(error),
            // Every handle is gone: no caller can say close any more.
            None => self.closing = Some((self.checkpoints.number, oneshot::channel().0)),
        }
        Ok(())
    }

    /// Starts batches, off-line work and checkpoints until nothing more can start, and sends what they ask for.
    async fn start_what_can_start(&mut self) -> Result<(), VaultError> {
        loop {
            // Before a new batch starts, the callers of the last one get their answers.
            self.flush().await?;
            if self.outbox.pacer().is_some_and(|pacer| pacer.is_hushed(Instant::now())) {
                return Ok(());
            }
            self.end_key_change().await?;
            let due = self.is_checkpoint_due() || self.checks.is_running() || !self.checks.is_empty();
            let sweeps = !due && self.is_sweep_due();
            let due = due || sweeps || self.engine.is_rewriting();
            let scheme = self.engine.scheme.clone();
            let mut started = false;
            // Work that the last opening left owed comes before the first batch of this one.
            let may_begin = self.beginning.settles(scheme.pending_steps() > 0 || self.engine.is_idling());
            // A gateway that may have been displaced reads no path and evicts nothing.
            let may_begin = may_begin && self.lease.is_valid() && self.has_room();
            let ready =
                may_begin && !self.engine.is_accessing() && !self.journal.is_owed() && !scheme.must_step();
            if (!due || self.may_go_on_beside()) && ready && self.is_turn() {
                let batch = self.take_batch();
                self.replaced.change.iter_mut().for_each(KeyChange::batch_begins);
                if let Some(log) = &mut self.journal.log {
                    log.put_together(&batch, &self.identity, &mut self.entropy)?;
                }
                self.step(Input::Batch(batch), Vec::new())?;
                started = true;
            }
            // Work still owed at the end is owed by the next opening: the last checkpoint shall be the last word.
            let is_over = self.is_over();
            // Under a pace each step has its instants to itself.
            let max_concurrent_steps =
                if self.outbox.pacer().is_some() { 1 } else { scheme.max_concurrent_steps() };
            if self.beginning.is_asked()
                && !due
                && !is_over
                && self.lease.is_valid()
                && self.engine.idles() < max_concurrent_steps
                && scheme.pending_steps() > 0
            {
                self.step(Input::Idle, Vec::new())?;
                started = true;
            }
            if !started && self.is_quiet() && self.is_checkpoint_due() {
                self.checkpoint().await?;
                started = true;
            }
            if !started && sweeps && self.is_quiet() {
                self.sweep()?;
                started = true;
            }
            if !started {
                break;
            }
        }
        let is_ending = self.replaced.change.as_ref().is_some_and(KeyChange::is_ending);
        if self.is_quiet() && !self.checkpoints.is_under_way() && !is_ending {
            return self.begin_check();
        }
        Ok(())
    }

    /// Tells whether the trusted disk has room for an access. If not, those that wait are refused.
    fn has_room(&mut self) -> bool {
        if !self.disk.room().refuses_accesses() {
            return true;
        }
        if !self.engine.is_accessing() {
            for reply in std::mem::replace(&mut self.waiting, FairQueue::new()).into_replies() {
                let _ = reply.send(Err(VaultError::DiskFull));
            }
        }
        false
    }

    /// Tells whether nothing is under way that changes the trusted state or the buckets, but for deletions.
    fn is_quiet(&self) -> bool {
        let is_engine_still =
            !self.engine.is_accessing() && !self.engine.is_idling() && !self.engine.is_rewriting();
        is_engine_still && !self.journal.is_owed() && !self.checks.is_running()
    }

    /// Tells whether the end was asked for, and every caller has been served.
    fn is_ending(&self) -> bool {
        self.closing.is_some() && !self.is_asked()
    }

    fn is_finished(&self) -> bool {
        // A shipment that is under way is given up where none is needed at a stop.
        let is_still = if self.checkpoints.is_under_way() {
            self.is_quiet() && !self.replaced.is_deleting()
        } else {
            self.outbox.is_empty()
        };
        self.is_ending() && is_still && self.checks.is_empty() && self.has_settled()
    }

    fn step(&mut self, input: Input, answer: Vec<u8>) -> Result<(), VaultError> {
        self.journal.begins();
        let step = self.engine.step(input, answer)?;
        self.replaced.add(self.engine.take_superseded(), self.checkpoints.number);
        self.journal.push(step.record, step.work);
        Ok(())
    }

    /// Makes the records durable if anything depends on them, then sends the requests and the answers.
    async fn flush(&mut self) -> Result<(), VaultError> {
        if let Some(records) = self.journal.take_pressing(&self.identity, &mut self.entropy)? {
            let note = self.journal.note_of_object();
            let append = move |disk: &TrustedDisk| match note {
                Some((note, logged)) => disk.append_with_note(records, (NOTE, note), logged),
                None => disk.append(records),
            };
            self.outbox.on_disk(&self.disk, append).await?;
        }
        let (began, work) = self.journal.take_work();
        // A watcher of the requests may know before that they have begun.
        self.publish();
        self.send_object(began);
        for (operation, work) in work {
            let sealed = self.engine.sealed.clone();
            let request = async move { Event::Operation(operation, carry_out(&sealed, work).await) };
            self.outbox.send(Local::Step, began, Box::pin(request));
        }
        if !self.journal.is_owed()
            && let Some(answers) = self.engine.take_answers()
        {
            self.answer(answers);
        }
        Ok(())
    }

    /// Gives the right to answer up. After an end in order, a takeover is told that it need not wait.
    async fn leave(&mut self, is_closed: bool) {
        if !self.lease.end(is_closed) {
            return;
        }
        next_instant(self.outbox.instants()).await;
        let (epoch, salt) = (self.identity.epoch, self.entropy.salt());
        let claims = self.identity.claims(self.engine.sealed.untrusted());
        if let Err(error) = claims.mark_end(epoch, salt).await {
            tracing::warn!(%error, "the end could not be marked in the store: a takeover will wait");
        }
    }

    async fn happened(&mut self, event: Event) -> Result<(), VaultError> {
        match event {
            Event::Operation(operation, answer) => self.step(Input::Complete(operation), answer?)?,
            Event::Sealed(shipment) => self.send_shipment(shipment?).await?,
            Event::PieceSent(shipment) => self.piece_was_sent(shipment?),
            Event::Shipped(shipped) => self.was_shipped(shipped?).await?,
            Event::Looked(looked) => self.has_looked(looked)?,
            Event::Logged(logged) => {
                logged?;
                if let Some(log) = &mut self.journal.log {
                    log.has_arrived();
                }
            }
            Event::KeyChanged(changed) => {
                changed?;
                self.key_has_changed();
            }
            Event::Checked(report, reply) => {
                self.checks.ended();
                let _ = reply.send(report);
            }
            Event::Deleted(deleted) => {
                self.replaced.deletes(false);
                deleted?;
                // Deletes what became garbage meanwhile.
                self.collect_garbage();
            }
        }
        Ok(())
    }
}
