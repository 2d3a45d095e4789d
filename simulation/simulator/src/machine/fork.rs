//! A machine with Fork Path at work: which of the leaves in its queue is next.

use super::injected_bug::InjectedBug;
use super::outcome::{RunError, VisiblePath};
use super::run::{ForkWork, Run};
use super::state::State;
use crate::configuration::Configuration;
use crate::counts::PathKind;
use crate::pattern::Tree;
use crate::tree_backend::{Step, TreeBackend};
use ameles_core::schemes::freecursive::NextPath;
use ameles_core::types::{BlockId, Leaf};
use ameles_processor::trace::Miss;
use ameles_processor::units::Cycle;
use rand_core::RngCore;

impl<T: Iterator<Item = Miss>, W: FnMut(VisiblePath)> Run<'_, T, W> {
    /// Does the next path of the queue. Returns without one if a request was answered without a path, or an eviction
    /// comes first.
    pub(super) fn forked_path(&mut self, start: Cycle) -> Result<(), RunError> {
        if self.fill_labels(start)? || self.machine.memory.must_evict(Tree::Main) {
            return Ok(());
        }
        let State { memory, bugs, .. } = &mut *self.machine;
        let Some(labels) = &mut self.labels else { return Ok(()) };
        let main = &mut memory.main;
        let label = labels.take(main.held_path(), |label| {
            label.work.is_some() && bugs.has(InjectedBug::RequestsJumpTheQueue)
        });
        let (kind, request) = match label.work {
            Some(ForkWork { request, reservation }) => (main.access_reserved(&reservation)?, Some(request)),
            None => {
                main.dummy_at(label.leaf)?;
                (PathKind::Dummy, None)
            }
        };
        let leaf = main.held_path().unwrap_or(label.leaf);
        let nth = self.queue.iter().position(|waiting| Some(waiting.number) == request);
        self.path(start, Tree::Main, Step::Path { leaf, kind }, nth)
    }

    /// Line 1: fills the queue. Returns early, and true, if a request was answered without a path.
    fn fill_labels(&mut self, start: Cycle) -> Result<bool, RunError> {
        for nth in 0..self.queue.len() {
            let request = self.queue[nth];
            let Some(labels) = &self.labels else { return Ok(false) };
            let is_in = labels.work().any(|work| work.request == request.number);
            // Requests for a line are answered in their order.
            let waits = self.queue.iter().take(nth).any(|other| other.line == request.line);
            if !labels.has_room() || is_in || waits || request.at > start {
                continue;
            }
            let (block, oram) = (BlockId(request.line.0), &self.machine.memory.main.oram);
            // A block that is in the queue must stay where it is until its turn.
            let missing = oram.missing(block)?;
            if labels.work().any(|work| missing.contains(&work.reservation.block())) {
                continue;
            }
            let next = match oram.next(block)? {
                NextPath::PosMap(missing) => missing,
                NextPath::Block => block,
            };
            if self.is_answered(&request)? {
                self.answer_from_queue(start, nth)?;
                return Ok(true);
            }
            let State { memory, random, configuration, .. } = &mut *self.machine;
            let Some(labels) = &mut self.labels else { return Ok(false) };
            let reservation = memory.main.oram.reserve(next)?;
            let leaf = reservation.leaf().unwrap_or_else(|| random_leaf(configuration, random));
            labels.push(leaf, ForkWork { request: request.number, reservation });
        }
        let State { configuration, random, .. } = &mut *self.machine;
        if let Some(labels) = &mut self.labels {
            labels.push_dummies(|| random_leaf(configuration, random));
        }
        Ok(false)
    }
}

fn random_leaf(configuration: &Configuration, random: &mut impl RngCore) -> Leaf {
    Leaf(random.next_u64() & ((1 << (configuration.oram.levels - 1)) - 1))
}
