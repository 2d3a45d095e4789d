//! The batches of a session: when the next one begins, the calls in it, and their answers.

use super::event::Event;
use super::pace::LocalWork;
use super::{Log, Session};
use crate::engine::Answers;
use crate::engine::record::Call;
use crate::error::VaultError;
use crate::log::objects::LogObjects;
use crate::store::VaultStore;
use tokio::time::Instant;

impl<U: VaultStore> Session<U> {
    /// Tells whether a batch may begin although a checkpoint is due: evictions that it waits for take long, and reads
    /// can go on beside them. The checkpoint comes late so, at most by a share of what lies between two.
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

    /// Tells whether a batch is to begin as soon as it can. Under a pace that does not depend on what is asked; at the
    /// end, turns go on until every caller that waits is served.
    pub(super) fn is_turn(&self) -> bool {
        match self.dispatcher.pacer() {
            Some(pacer) => pacer.is_due(Instant::now()) && !self.is_closing(),
            None => self.is_asked() && self.batch_deadline().is_none(),
        }
    }

    /// Tells whether anybody waits for a batch.
    pub(super) fn is_asked(&self) -> bool {
        !self.waiting.is_empty() || self.journal.has_waiting_rows()
    }

    /// The end of the wait for calls that may still come, if the next batch is to wait for them. Under a pace none does.
    pub(super) fn batch_deadline(&self) -> Option<Instant> {
        if !self.is_asked()
            || self.closing.is_some()
            || self.dispatcher.pacer().is_some()
            || self.engine.is_accessing()
        {
            return None;
        }
        let max = self.identity.header.parameters.scheme.max_batch() as usize;
        self.waiting.batch_deadline(max)
    }

    /// Takes as many waiting calls as fit the largest batch, a call of each flow in turn.
    pub(super) fn take_batch(&mut self) -> Vec<Call> {
        let parameters = &self.identity.header.parameters;
        let max = parameters.scheme.max_batch() as usize;
        let mut batch = self.waiting.take_batch(max);
        let asked = batch.len();
        if let Some(log) = self.journal.log.as_ref().filter(|_| asked == 0) {
            batch.resize(log.dummy_calls(max), Call::Dummy);
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

    /// Sends the object of the batch on its way, whose record is durable now.
    pub(super) fn send_object(&mut self, began: Instant) {
        let Some((at, sealed)) = self.journal.log.as_mut().and_then(Log::take_object) else { return };
        let (identity, store) = (self.identity.clone(), self.engine.sealed.clone());
        let task = async move {
            let objects =
                LogObjects { blobs: store.untrusted(), header: &identity.header, ring: &identity.ring() };
            Event::Logged(objects.create(at, &sealed).await)
        };
        self.dispatcher.send(LocalWork::Step, began, Box::pin(task));
    }
}
