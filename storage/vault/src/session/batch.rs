//! The batches of a session: when the next one starts, its calls, and their answers.

use super::Session;
use super::event::Event;
use super::log::LogObject;
use super::pace::LocalWork;
use crate::engine::Answers;
use crate::engine::record::Call;
use crate::error::VaultError;
use crate::log::objects::LogObjects;
use crate::store::VaultStore;
use tokio::time::Instant;

impl<U: VaultStore> Session<U> {
    /// Returns whether a batch may start although a checkpoint is due. The checkpoint may wait for evictions that take
    /// long, and reads can continue in parallel with them. So the checkpoint is late by at most a quarter of the
    /// interval between two checkpoints.
    pub(super) fn may_overlap_checkpoint(&self) -> bool {
        let max = self.identity.header.parameters.latest_checkpoint();
        let is_only_late = self.is_checkpoint_due()
            && !self.checkpoints.is_asked_for()
            && self.checkpoints.since_due(self.engine.accesses()) < max;
        let nothing_else = self.checks.is_empty() && !self.checks.is_running() && !self.engine.is_rewriting();
        is_only_late
            && nothing_else
            && self.closing.is_none()
            && self.dispatcher.pacer().is_none()
            && self.engine.is_stepping()
    }

    /// Returns whether a batch must start as soon as it can. Under a pace this does not depend on what callers ask. At
    /// the end, turns continue until every waiting caller is served.
    pub(super) fn is_turn(&self) -> bool {
        match self.dispatcher.pacer() {
            Some(pacer) => pacer.is_due(Instant::now()) && !self.is_closing(),
            None => self.is_asked() && self.batch_deadline().is_none(),
        }
    }

    /// Returns whether one more batch may be in flight. Under a pace, only one batch is in flight at a time.
    pub(super) fn may_overlap(&self) -> bool {
        let batches = self.engine.batches().max(self.journal.unacknowledged_batches());
        let scheme = &self.identity.header.parameters.scheme;
        let may_overlap = self.dispatcher.pacer().is_none()
            && batches < scheme.max_batches() as usize
            && self.waiting.may_overlap(scheme.max_batch() as usize);
        batches == 0 || may_overlap
    }

    /// Returns whether any caller waits for a batch.
    pub(super) fn is_asked(&self) -> bool {
        !self.waiting.is_empty() || self.journal.has_waiting_rows()
    }

    /// The end of the wait for more calls, if the next batch must wait for them. Under a pace no batch waits.
    pub(super) fn batch_deadline(&self) -> Option<Instant> {
        if !self.is_asked()
            || self.closing.is_some()
            || self.dispatcher.pacer().is_some()
            || self.engine.batches() > 0
        {
            return None;
        }
        let max = self.identity.header.parameters.scheme.max_batch() as usize;
        self.waiting.batch_deadline(max)
    }

    /// Takes as many waiting calls as the largest batch holds, one call of each flow in turn.
    pub(super) fn take_batch(&mut self) -> Vec<Call> {
        let parameters = &self.identity.header.parameters;
        let max = parameters.scheme.max_batch() as usize;
        let mut batch = self.waiting.take_batch(max);
        let asked = batch.len();
        if let Some(log) = self.journal.log.as_ref().filter(|_| asked == 0) {
            batch.resize(log.dummy_calls(parameters), Call::Dummy);
        }
        if parameters.pad_batches || self.dispatcher.pacer().is_some() {
            batch.resize(max, Call::Dummy);
        }
        if let Some(pacer) = self.dispatcher.pacer_mut() {
            pacer.on_turn_started(Instant::now(), asked as u64, (max - asked) as u64);
        }
        batch
    }

    pub(super) fn answer(&mut self, answers: Result<Answers, VaultError>) {
        // A caller that has gone away needs no answer. Its access was still carried out.
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

    /// Sends a log object whose records are durable.
    pub(super) fn send_object(&mut self, (at, sealed): LogObject, began: Instant) {
        let (identity, store) = (self.identity.clone(), self.engine.sealed.clone());
        let since = self.lease.now();
        let task = async move {
            let objects =
                LogObjects { blobs: store.untrusted(), header: &identity.header, ring: &identity.ring() };
            Event::Logged(objects.create(at, &sealed).await.map(|()| (at, since)))
        };
        self.dispatcher.send(LocalWork::Step, began, Box::pin(task));
    }

    /// Sends the payloads of a log object that is in the store.
    pub(super) fn send_payloads(&mut self, (at, sealed): LogObject) {
        let (identity, store) = (self.identity.clone(), self.engine.sealed.clone());
        let task = async move {
            let objects =
                LogObjects { blobs: store.untrusted(), header: &identity.header, ring: &identity.ring() };
            Event::PayloadsStored(objects.create_payloads(at, &sealed).await.map(|()| at))
        };
        self.dispatcher.send(LocalWork::Step, Instant::now(), Box::pin(task));
    }
}
