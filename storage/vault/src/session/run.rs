//! The loop of a session: it takes commands and events, starts the work that is ready, journals it, and sends it.

use super::Log;
use super::command::{AtClose, Command, Reply};
use super::dispatcher::sleep_until;
use super::event::Event;
use super::journal::Append;
use super::key_change::KeyChange;
use super::pace::{LocalWork, next_instant};
use super::queue::FairQueue;
use super::{Closing, Session};
use crate::engine::deferred_store::OperationId;
use crate::engine::record::Input;
use crate::engine::work::{Work, execute};
use crate::error::VaultError;
use crate::lease::holder::clear_holder;
use crate::log::NEXT_OBJECT_NOTE;
use crate::store::VaultStore;
use crate::trusted::checkpoint::Receipt;
use std::sync::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// The reason why the loop wakes up.
enum Wakeup {
    Event(Event),
    Command(Option<Command>),
    /// A write has found no room in the store.
    StoreLacksSpace,
}

impl<U: VaultStore> Session<U> {
    /// Serves until the vault is closed or fails. Every caller gets an answer in either case.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        failure: &Mutex<Option<VaultError>>,
    ) {
        let ended = match self.serve(&mut commands).await {
            Err(error) if error.is_tampering() => {
                let claims = self.identity.claims(self.engine.sealed.untrusted());
                Err(claims.or_displaced(self.identity.epoch, error).await)
            }
            ended => ended,
        };
        if let Err(error) = &ended {
            tracing::error!(%error, "the vault has stopped");
            // Set before the channel closes: a caller that finds the channel closed reads the failure.
            *failure.lock().expect("no thread panics while it holds this lock") = Some(error.clone());
        }
        commands.close();
        let why = ended.as_ref().err().cloned().unwrap_or(VaultError::Closed);
        let mut remaining: Vec<Command> = Vec::new();
        while let Ok(command) = commands.try_recv() {
            remaining.push(command);
        }
        self.release_lease(ended.is_ok()).await;
        let receipt = self.checkpoints.receipt(self.identity.header.vault);
        let closing = self.closing.take().map(|closing| (closing.reply, ended.map(|()| receipt)));
        for reply in std::mem::replace(&mut self.waiting, FairQueue::new(0)).into_replies() {
            let _ = reply.send(Err(why.clone()));
        }
        self.checks.refuse(&why);
        self.checkpoints.refuse(&why);
        if let Some(log) = &mut self.journal.log {
            log.refuse(&why);
        }
        for command in remaining {
            command.refuse(&why);
        }
        // A caller that is told that the vault is closed may open it again at once. So the session releases its disk
        // and its store first.
        self.dispatcher.join_background().await;
        drop(self);
        if let Some((reply, receipt)) = closing {
            let _ = reply.send(receipt);
        }
    }

    async fn serve(&mut self, commands: &mut mpsc::Receiver<Command>) -> Result<(), VaultError> {
        loop {
            self.start_ready_work().await?;
            self.publish();
            if self.is_finished() {
                return Ok(());
            }
            let next_check = self.disk.reserve().next_check();
            let (next_batch, next_heartbeat) = (self.batch_deadline(), self.journal.next_heartbeat());
            let next_wakeup =
                [self.dispatcher.next_wakeup(), next_batch, next_check, self.next_shipment(), next_heartbeat]
                    .into_iter()
                    .flatten()
                    .min();
            let wakeup = tokio::select! {
                biased;
                event = self.dispatcher.next() => Some(Wakeup::Event(event)),
                command = commands.recv(), if self.closing.is_none() => Some(Wakeup::Command(command)),
                () = self.garbage.store_lacks_space() => Some(Wakeup::StoreLacksSpace),
                // A commit of rows may find the disk full while this loop sleeps: the next turn sleeps until the check.
                () = self.disk.reserve().wait_until_full() => None,
                () = sleep_until(next_wakeup), if next_wakeup.is_some() => None,
            };
            // Runs before any work that takes time.
            self.dispatcher.send_due();
            self.disk.reserve().check_if_due(Instant::now());
            match wakeup {
                Some(Wakeup::Event(event)) => self.on_event(event).await?,
                Some(Wakeup::StoreLacksSpace) => self.free_store_space(),
                Some(Wakeup::Command(command)) => {
                    self.on_command(command)?;
                    // Commands that have arrived by now share the next batch.
                    while self.closing.is_none()
                        && let Ok(command) = commands.try_recv()
                    {
                        self.on_command(Some(command))?;
                    }
                }
                None => {}
            }
        }
    }

    fn on_command(&mut self, command: Option<Command>) -> Result<(), VaultError> {
        self.startup.on_request();
        match command {
            Some(Command::Access(flow, calls, reply)) => self.waiting.push(flow, calls, reply),
            Some(Command::Log(commit, reply)) => match &mut self.journal.log {
                Some(log) => log.wait_for(commit, reply),
                // There is no journal in the store to wait for.
                None => drop(reply.send(Ok(()))),
            },
            Some(Command::Checkpoint(reply)) => self.checkpoints.request(reply),
            Some(Command::Check(progress, reply)) => self.checks.push(progress, reply),
            Some(Command::Close(at_close, reply)) => self.begin_closing(at_close, reply),
            Some(Command::StopResumed) => {
                clear_holder(&self.disk)?;
                return Err(VaultError::Resumed);
            }
            Some(Command::Fail(error)) => return Err(error),
            // Every handle is dropped: no caller can close the vault any more.
            None => self.begin_closing(AtClose::Ship, oneshot::channel().0),
        }
        Ok(())
    }

    fn begin_closing(&mut self, at_close: AtClose, reply: Reply<Receipt>) {
        self.closing = Some(Closing { before: self.checkpoints.number, at_close, reply });
    }

    /// Starts batches, off-line steps and checkpoints until nothing more can start, and sends their requests.
    async fn start_ready_work(&mut self) -> Result<(), VaultError> {
        loop {
            // The callers of the last batch get their answers before a new batch starts.
            self.flush()?;
            if self.dispatcher.pacer().is_some_and(|pacer| pacer.is_quiescing(Instant::now())) {
                return Ok(());
            }
            self.finish_key_change().await?;
            self.ship_if_due();
            let due = self.is_checkpoint_due() || self.checks.is_running() || !self.checks.is_empty();
            let sweeps = !due && self.is_sweep_due();
            let due = due || sweeps || self.engine.is_rewriting();
            let scheme = self.engine.scheme.clone();
            let mut started = false;
            // Steps that the last opening left pending run before the first batch of this one.
            let may_begin = self.startup.settle(scheme.pending_steps() > 0 || self.engine.is_stepping());
            // A gateway that may have been displaced neither reads a path nor evicts.
            let may_begin = may_begin && self.lease.is_valid() && self.has_room();
            let ready = may_begin && self.may_overlap() && !scheme.must_step();
            if (!due || self.may_overlap_checkpoint()) && ready && self.is_turn() {
                self.note_access();
                let batch = self.take_batch();
                self.garbage.change.iter_mut().for_each(KeyChange::on_batch_started);
                if let Some(log) = self.journal.log.as_mut().filter(|log| !log.announces()) {
                    log.build_object(&batch, &self.identity, &mut self.entropy)?;
                }
                self.step(Input::Batch(batch), Vec::new())?;
                started = true;
            }
            // Steps that are pending at the end are left to the next opening: nothing may follow the last checkpoint.
            let is_finalized = self.is_finalized();
            // Under a pace each step has its own instants.
            let max_concurrent_steps =
                if self.dispatcher.pacer().is_some() { 1 } else { scheme.max_concurrent_steps() };
            if self.startup.has_request()
                && !due
                && !is_finalized
                && self.lease.is_valid()
                && self.engine.running_steps() < max_concurrent_steps
                && scheme.pending_steps() > 0
            {
                self.step(Input::Step, Vec::new())?;
                started = true;
            }
            if !started && self.is_quiet() && self.is_checkpoint_due() {
                self.advance_checkpoint().await?;
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
        let is_ending = self.garbage.change.as_ref().is_some_and(KeyChange::is_ending);
        if self.is_quiet() && !self.checkpoints.is_under_way() && !is_ending {
            return self.start_check();
        }
        Ok(())
    }

    /// Returns whether the trusted disk has room for an access. If it has none, refuses the waiting accesses.
    fn has_room(&mut self) -> bool {
        if !self.disk.reserve().refuses_accesses() {
            return true;
        }
        if self.engine.batches() == 0 {
            for reply in std::mem::replace(&mut self.waiting, FairQueue::new(0)).into_replies() {
                let _ = reply.send(Err(VaultError::DiskFull));
            }
        }
        false
    }

    /// Returns whether nothing is running that changes the trusted state or the buckets. Deletions do not count.
    pub(super) fn is_quiet(&self) -> bool {
        let is_engine_still =
            !self.engine.is_accessing() && !self.engine.is_stepping() && !self.engine.is_rewriting();
        let is_journal_still = !self.journal.is_flushing() && self.journal.is_settled();
        is_engine_still && is_journal_still && !self.checks.is_running()
    }

    /// Returns whether a close was requested and every caller has been served.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_some() && !self.is_asked()
    }

    fn is_finished(&self) -> bool {
        // An upload that is running is abandoned if a stop needs no shipped checkpoint.
        let is_still = if self.checkpoints.is_under_way() {
            self.is_quiet() && !self.garbage.is_deleting()
        } else {
            self.dispatcher.is_empty()
        };
        self.is_closing() && is_still && self.checks.is_empty() && self.is_settled()
    }

    pub(super) fn step(&mut self, input: Input, answer: Vec<u8>) -> Result<(), VaultError> {
        self.journal.on_step_started();
        let step = self.engine.step(input, answer)?;
        self.garbage.add(self.engine.take_superseded(), self.checkpoints.number);
        self.journal.push(step.record, step.work);
        Ok(())
    }

    /// Starts to make the records durable if anything depends on them. Answers the batches that are served and durable,
    /// in their order.
    fn flush(&mut self) -> Result<(), VaultError> {
        if let Some(Append { records, note }) = self.journal.begin_flush(&self.identity, &mut self.entropy)? {
            // Queued here, so that records and changes of rows have one order.
            let queued = match note {
                Some((note, logged)) => {
                    self.disk.enqueue_records_with_note(records, (NEXT_OBJECT_NOTE, note), logged)
                }
                None => self.disk.enqueue_records(records),
            };
            let disk = self.disk.clone();
            let append =
                Box::pin(
                    async move { Event::Durable(disk.run_blocking(move |disk| disk.commit(queued)).await) },
                );
            if let Some(Event::Durable(appended)) = self.dispatcher.spawn_append(append) {
                appended?;
                self.on_durable();
            }
        }
        while self.engine.batches() > self.journal.unacknowledged_batches()
            && let Some(answers) = self.engine.take_answers()
        {
            self.answer(answers);
        }
        Ok(())
    }

    /// Sends the log objects of the steps whose records are durable now, and the requests that need not wait for them.
    fn on_durable(&mut self) {
        let Some(flush) = self.journal.on_durable() else { return };
        let began = flush.began;
        // Published before the requests leave: a watcher of the requests may know that they have begun.
        self.publish();
        for object in flush.objects {
            self.send_object(object, began);
        }
        self.send_work(flush.work, began);
    }

    /// Sends the requests of steps that were made at `began`.
    fn send_work(&mut self, work: Vec<(OperationId, Work)>, began: Instant) {
        for (operation, work) in work {
            let sealed = self.engine.sealed.clone();
            let request = async move { Event::Operation(operation, execute(&sealed, work).await) };
            self.dispatcher.send(LocalWork::Step, began, Box::pin(request));
        }
    }

    /// Gives up the lease. After an orderly end, marks it in the store, so that a takeover need not wait.
    async fn release_lease(&mut self, is_closed: bool) {
        if !self.lease.end(is_closed) {
            return;
        }
        next_instant(self.dispatcher.instants()).await;
        let (epoch, salt) = (self.identity.epoch, self.entropy.salt());
        let claims = self.identity.claims(self.engine.sealed.untrusted());
        if let Err(error) = claims.mark_end(epoch, salt).await {
            tracing::warn!(%error, "cannot mark the end of this session in the store: a takeover will have to wait");
        }
    }

    async fn on_event(&mut self, event: Event) -> Result<(), VaultError> {
        if event.is_answer_of_store() {
            self.journal.log.iter_mut().for_each(Log::on_store_answered);
        }
        match event {
            Event::Durable(appended) => {
                appended?;
                self.on_durable();
            }
            Event::Operation(operation, answer) => self.step(Input::Complete(operation), answer?)?,
            Event::Sealed(upload) => self.send_upload(upload?).await?,
            Event::PieceSent(upload) => self.on_piece_sent(upload?),
            Event::Shipped(shipped) => self.on_shipped(shipped?).await?,
            Event::LeaseChecked(looked) => self.on_lease_checked(looked)?,
            Event::Logged(logged) => {
                let (work, stored) = self.journal.on_logged(logged?);
                if self.identity.header.parameters.journal.has_heartbeats()
                    && let Some(since) = stored.since
                {
                    self.lease.renew(since);
                }
                for payloads in stored.payloads {
                    self.send_payloads(payloads);
                }
                self.send_work(work, Instant::now());
            }
            Event::PayloadsStored(stored) => self.journal.on_payloads_stored(stored?),
            Event::KeyChanged(changed) => {
                changed?;
                self.on_key_changed();
            }
            Event::Checked(report, reply) => {
                self.checks.ended();
                let _ = reply.send(report);
            }
            Event::Deleted(deleted) => {
                self.garbage.set_deleting(false);
                deleted?;
                // Deletes what became garbage in the meantime.
                self.collect_garbage();
            }
        }
        Ok(())
    }

    /// Handles the result of a lease check. If the store could not be reached, the session continues, and answers
    /// nothing until it can be reached again.
    fn on_lease_checked(&self, result: Result<(), VaultError>) -> Result<(), VaultError> {
        match result {
            Err(error @ VaultError::Unavailable(_)) if self.closing.is_none() => {
                let answers = self.lease.is_valid();
                tracing::warn!(%error, answers, "cannot check whether another gateway has taken over the vault");
                Ok(())
            }
            result => result,
        }
    }
}
