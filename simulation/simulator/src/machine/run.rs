//! A machine at work: which path comes next, and when.

use super::injected_bug::InjectedBug;
use super::outcome::{Checkpoint, Outcome, RunError, VisiblePath};
use super::state::State;
use crate::configuration::Configuration;
use crate::counts::PathKind;
use crate::early_write_back::EarlyWriteBack;
use crate::fork_path::LabelQueue;
use crate::main_oram::{AccessKind, RemapStep};
use crate::pace::{LastPath, Pace};
use crate::path_timer::MovedBlocks;
use crate::pattern::Tree;
use crate::small_oram::SmallOram;
use crate::tree::store::MovedSlots;
use crate::tree_backend::Step;
use crate::tree_scheme::TreeScheme;
use ameles_core::schemes::freecursive::Reservation;
use ameles_core::types::{BlockId, Leaf};
use ameles_processor::processor::{Next, Processor, Reason, Request};
use ameles_processor::trace::Miss;
use ameles_processor::units::{Cycle, Line};
use std::collections::VecDeque;

/// The outcome of waiting for a request.
enum Received {
    /// A request came, or the processor waits for an earlier one.
    Request,
    /// The program ended.
    End(Cycle),
    /// A dummy is due, because this many instructions were fetched in this cycle.
    Fetched(Cycle),
}

/// The work of a path in Fork Path's queue that is not a dummy's.
pub(super) struct ForkWork {
    /// The number of the request.
    pub(super) request: u64,
    pub(super) reservation: Reservation,
}

/// A machine at work.
pub(super) struct Run<'a, T, W> {
    pub(super) machine: &'a mut State,
    /// The processor, whose clock is 0 when the run begins.
    processor: Processor<T>,
    /// The cycle of the machine at which the run begins.
    begin: Cycle,
    /// Requests that were sent and not answered, in their order.
    pub(super) queue: VecDeque<Request>,
    early: Option<EarlyWriteBack>,
    /// The leaves of the next paths, in Fork Path.
    pub(super) labels: Option<LabelQueue<ForkWork>>,
    /// The number of instructions that had been fetched when the last path began.
    fetched: u64,
    /// The numbers of misses at which the next checkpoints are.
    next_checkpoints: &'a [u64],
    checkpoints: Vec<Checkpoint>,
    observer: W,
}

impl<'a, T: Iterator<Item = Miss>, W: FnMut(VisiblePath)> Run<'a, T, W> {
    pub(super) fn new(
        machine: &'a mut State,
        processor: Processor<T>,
        next_checkpoints: &'a [u64],
        observer: W,
    ) -> Self {
        let (configuration, begin) = (&machine.configuration, machine.last.end);
        let early = configuration.early_write_backs.then(|| {
            EarlyWriteBack::new(processor.cache(), configuration.delayed_remapping, configuration.early_line)
        });
        let leaf_bits = configuration.oram.levels - 1;
        let labels =
            configuration.variant.fork_path().map(|fork_path| LabelQueue::new(*fork_path, leaf_bits));
        Run {
            machine,
            processor,
            begin,
            queue: VecDeque::new(),
            early,
            labels,
            fetched: 0,
            next_checkpoints,
            checkpoints: Vec::new(),
            observer,
        }
    }

    pub(super) fn run_to_end(mut self) -> Result<Outcome, RunError> {
        let cycles = loop {
            self.pass_checkpoints();
            let tree = self.next_tree();
            let State { configuration: Configuration { pace, processor, .. }, last, .. } = &*self.machine;
            let (start, mut dummy) = (pace.next(*last, processor.width), pace.dummy(*last, processor.width));
            let last_fetch = pace.last_fetch(*last, processor.width);
            if self.machine.bugs.has(InjectedBug::EarlyWorkComesEarly) {
                dummy = self.early_fault(start, dummy);
            }
            // The processor fetches before an eviction, too.
            if let Some(limit) = last_fetch.filter(|_| self.queue.is_empty())
                && let Some(end) = self.receive(limit)?
            {
                break end;
            }
            if self.machine.memory.must_evict(tree) {
                let step = self.machine.memory.evict(tree)?;
                self.path(start, tree, step, None)?;
                continue;
            }
            if last_fetch.is_none()
                && let Some(end) = self.receive(dummy.unwrap_or(start))?
            {
                break end;
            }
            match (self.queue.front(), dummy) {
                // A later request must not delay the dummy.
                (Some(request), dummy) if dummy.is_none_or(|dummy| request.at <= dummy) => {
                    self.serve(start.max(request.at))?;
                }
                (_, Some(dummy)) => self.fill_turn(dummy, tree)?,
                (_, None) => match self.receive_next()? {
                    Received::Request => {}
                    Received::End(end) => break end,
                    Received::Fetched(at) => self.fill_turn(start.max(at), tree)?,
                },
            }
        };
        self.pass_checkpoints();
        let (work, energy) = self.machine.timer.work(Cycle(self.begin.0 + cycles.0));
        let counts = std::mem::take(&mut self.machine.memory.main.counts);
        let (processor, checkpoints) = (self.processor.counts(), self.checkpoints);
        Ok(Outcome { cycles, counts, processor, work, energy, checkpoints })
    }

    /// Notes the checkpoints that the processor has reached.
    fn pass_checkpoints(&mut self) {
        while let Some((misses, rest)) = self.next_checkpoints.split_first()
            && *misses <= self.processor.counts().misses
        {
            let State { memory, last, .. } = &*self.machine;
            let (cycles, counts) = (Cycle(last.end.0 - self.begin.0), memory.main.counts.clone());
            self.checkpoints.push(Checkpoint { misses: *misses, cycles, counts });
            self.next_checkpoints = rest;
        }
    }

    /// The tree of the next path, by the pattern.
    fn next_tree(&self) -> Tree {
        let State { memory, pattern, bugs, configuration, .. } = &*self.machine;
        let is_on_demand = configuration.small_tree.as_ref().is_some_and(|small| small.paths == 0);
        if is_on_demand
            && let Some(tree) = [Tree::Main, Tree::Small].into_iter().find(|tree| memory.must_evict(*tree))
        {
            return tree;
        }
        let is_faulty =
            bugs.has(InjectedBug::NoPattern) && memory.small.as_ref().is_some_and(SmallOram::has_room);
        if is_on_demand || is_faulty {
            return self.queue.front().map_or(Tree::Small, |request| self.tree_of(request));
        }
        pattern.tree()
    }

    /// The tree whose path a request needs next.
    fn tree_of(&self, request: &Request) -> Tree {
        if self.is_admitted(request) {
            Tree::Small
        } else {
            self.machine.memory.tree_of(BlockId(request.line.0))
        }
    }

    /// Returns whether a request brings a dirty line into the small tree.
    fn is_admitted(&self, request: &Request) -> bool {
        request.reason == Reason::WriteBack && self.machine.memory.admits(BlockId(request.line.0))
    }

    /// The cycle of a dummy in a machine whose early work does not wait for it.
    fn early_fault(&mut self, start: Cycle, dummy: Option<Cycle>) -> Option<Cycle> {
        if self.early_line(start).is_some() { Some(self.machine.last.end) } else { dummy }
    }

    /// The line that a dummy at this cycle works for.
    fn early_line(&mut self, now: Cycle) -> Option<Line> {
        let State { memory, random, .. } = &mut *self.machine;
        let is_position_available = |line: Line| memory.main.oram.is_position_available(BlockId(line.0));
        self.early.as_mut()?.line(self.processor.cache(), now, random, is_position_available)
    }

    /// Accepts the requests that are sent before a cycle. Returns the end of the program, if it has been reached.
    fn receive(&mut self, limit: Cycle) -> Result<Option<Cycle>, RunError> {
        loop {
            match self.processor.advance_to(Cycle(limit.0.saturating_sub(self.begin.0))) {
                Next::Request(request) => {
                    self.accept_request(request)?;
                    if self.is_at_fetches() && !self.queue.is_empty() {
                        return Ok(None);
                    }
                }
                Next::Waits | Next::Reached => return Ok(None),
                Next::Done(end) if self.queue.is_empty() => return Ok(Some(end)),
                Next::Done(_) => return Ok(None),
            }
        }
    }

    /// Returns whether the program waits for each of its requests, and for each path.
    fn is_at_fetches(&self) -> bool {
        matches!(self.machine.configuration.pace, Pace::Fetches(_))
    }

    /// Accepts the next request. It accepts none if the program ends first, or if so many instructions are fetched that
    /// a dummy is due.
    fn receive_next(&mut self) -> Result<Received, RunError> {
        let rest = self.machine.configuration.pace.instructions();
        let limit = rest.map_or(u64::MAX, |rest| self.fetched.saturating_add(rest));
        Ok(match self.processor.advance_to_fetch(limit) {
            Next::Request(request) => {
                self.accept_request(request)?;
                Received::Request
            }
            Next::Reached => Received::Fetched(Cycle(self.begin.0 + self.processor.now().0)),
            Next::Done(end) if self.queue.is_empty() => Received::End(end),
            Next::Done(_) | Next::Waits => Received::Request,
        })
    }

    /// Takes a request in, and answers it at once if it needs no path.
    fn accept_request(&mut self, mut request: Request) -> Result<(), RunError> {
        request.at.0 += self.begin.0;
        self.machine.check(request.line)?;
        // Requests for a line are answered in their order.
        let waits = self.queue.iter().any(|other| other.line == request.line);
        if !(waits && self.access_kind(&request) == AccessKind::PutIn) && self.is_answered(&request)? {
            self.answer_at_once(&request, request.at);
        } else {
            self.queue.push_back(request);
            self.machine.memory.main.prefetch_positions(BlockId(request.line.0));
        }
        Ok(())
    }

    /// Serves a request without a path, if it needs none.
    pub(super) fn is_answered(&mut self, request: &Request) -> Result<bool, RunError> {
        if self.is_admitted(request) {
            return Ok(false);
        }
        let (block, access_kind) = (BlockId(request.line.0), self.access_kind(request));
        let (memory, cache) = (&mut self.machine.memory, self.processor.cache());
        if access_kind == AccessKind::PutIn
            && let Some(early) = &mut self.early
            && let Some(leaf) = early.leaf(cache, request.line)
        {
            let is_in = memory.main.put_in_at(block, leaf)?;
            if is_in {
                early.forget_remapped(cache, request.line);
            }
            return Ok(is_in);
        }
        Ok(memory.answer(block, access_kind)?)
    }

    /// Answers a request without a path.
    fn answer_at_once(&mut self, request: &Request, at: Cycle) {
        self.answer(request, Cycle(at.0 + self.machine.configuration.hit_cycles));
    }

    fn answer(&mut self, request: &Request, at: Cycle) {
        self.processor.answer(request, Cycle(at.0 - self.begin.0));
    }

    fn access_kind(&self, request: &Request) -> AccessKind {
        match (request.reason, self.machine.configuration.delayed_remapping) {
            (_, false) => AccessKind::Access,
            (Reason::Load | Reason::Store, true) => AccessKind::TakeOut,
            (Reason::WriteBack | Reason::CleanEviction, true) => AccessKind::PutIn,
        }
    }

    /// Serves the tree whose turn it is: does a step for the oldest request that needs a path of this tree. Fills the
    /// turn if no request does.
    fn serve(&mut self, start: Cycle) -> Result<(), RunError> {
        if self.labels.is_some() {
            return self.forked_path(start);
        }
        let (tree, memory) = (self.next_tree(), &mut self.machine.memory);
        if memory.is_full_of_leaving()
            && let Some(step) = memory.step_leaving(tree)?
        {
            return self.path(start, tree, step, None);
        }
        let needs_tree = |request: &Request| self.tree_of(request) == tree;
        let first = self.queue.iter().position(|request| request.at <= start && needs_tree(request));
        let Some((nth, request)) = first.map(|nth| (nth, self.queue[nth])) else {
            return self.fill_turn(start, tree);
        };
        if self.is_admitted(&request) {
            let step = self.machine.memory.admit(BlockId(request.line.0))?;
            return self.path(start, tree, step, None);
        }
        if self.is_answered(&request)? {
            return self.answer_from_queue(start, nth);
        }
        let access_kind = self.access_kind(&request);
        match self.machine.memory.step(BlockId(request.line.0), access_kind)? {
            Step::Answered => self.answer_from_queue(start, nth),
            // An eviction comes first.
            Step::TooFull if self.machine.memory.must_evict(tree) => Ok(()),
            Step::TooFull => self.fill_turn(start, tree),
            step => self.path(start, tree, step, Some(nth)),
        }
    }

    /// Answers the `nth` request that waits without a path, in a turn that something else may use.
    pub(super) fn answer_from_queue(&mut self, start: Cycle, nth: usize) -> Result<(), RunError> {
        if let Some(request) = self.queue.remove(nth) {
            self.answer_at_once(&request, start);
        }
        if self.machine.bugs.has(InjectedBug::HitSkipsItsTurn) {
            self.machine.last = LastPath { start, read: start, end: start };
        }
        Ok(())
    }

    /// Fills an unused turn with a step of an early write-back, a step for a block that leaves the small tree, or a
    /// dummy.
    fn fill_turn(&mut self, start: Cycle, tree: Tree) -> Result<(), RunError> {
        if self.labels.is_some() {
            return self.forked_path(start);
        }
        let step = match self.early_step(start)? {
            Some(step) => Some(step),
            None => self.machine.memory.step_leaving(tree)?,
        };
        let step = match step {
            Some(step) => step,
            None => self.machine.memory.dummy(tree)?,
        };
        self.path(start, tree, step, None)
    }

    /// Does a step for the line that is evicted next from the cache; `None` if there is none, or it needed no path.
    fn early_step(&mut self, now: Cycle) -> Result<Option<Step>, RunError> {
        while let Some(line) = self.early_line(now) {
            let State { memory, configuration, .. } = &mut *self.machine;
            let (Some(early), memory) = (&mut self.early, &mut memory.main) else { return Ok(None) };
            let step = if configuration.delayed_remapping {
                // The block of a line that a request waits for may still be in the tree.
                if self.queue.iter().any(|request| request.line == line) {
                    return Ok(None);
                }
                match memory.remap_ahead(BlockId(line.0))? {
                    RemapStep::Drawn(leaf) => {
                        early.finish_remap(leaf);
                        memory.counts.early_lines += 1;
                        continue;
                    }
                    RemapStep::Pending(step) => step,
                }
            } else {
                let step = memory.step(BlockId(line.0), AccessKind::Access)?;
                if !matches!(step, Step::TooFull | Step::Path { kind: PathKind::PosMap(_), .. }) {
                    self.processor.cache_mut().clean(line);
                    early.finish_write();
                    memory.counts.early_lines += 1;
                }
                step
            };
            return Ok(match step {
                Step::Answered | Step::TooFull => None,
                Step::Path { leaf, .. } => Some(Step::Path { leaf, kind: PathKind::Early }),
            });
        }
        Ok(None)
    }

    /// Measures the time of a path that was read, and writes the path back. Answers the request that it serves, which
    /// is the `nth` waiting one.
    pub(super) fn path(
        &mut self,
        start: Cycle,
        tree: Tree,
        step: Step,
        nth: Option<usize>,
    ) -> Result<(), RunError> {
        let Step::Path { leaf, kind } = step else { return Ok(()) };
        self.fetched = self.processor.counts().instructions;
        let State { memory, timer, last, pattern, bugs, configuration, .. } = &mut *self.machine;
        let is_late = matches!(kind, PathKind::PosMap(_)) && bugs.has(InjectedBug::PosMapComesLater);
        let start = Cycle(start.0 + if is_late { 64 } else { 0 });
        let refusals = memory.main.oram.tree().index_refusals();
        memory.main.counts.add_path(tree, kind);
        let slots = memory.main.store.take_moved().map(Box::new);
        let served = nth.filter(|_| kind == PathKind::Data);
        let next = self.queue.iter().enumerate().find(|(nth, _)| Some(*nth) != served);
        next.into_iter().for_each(|(_, request)| memory.main.prefetch_path(BlockId(request.line.0)));
        let times = timer.step(start, tree, moved(leaf, kind.is_eviction(), slots.as_deref()))?;
        if !kind.is_eviction() {
            memory.write_back(tree)?;
        }
        *last = LastPath { start, read: times.read, end: times.end };
        pattern.pass();
        // In Path ORAM an eviction is a path like any other.
        let evicts = kind.is_eviction() && configuration.oram.scheme != TreeScheme::Path;
        (self.observer)(VisiblePath { start, end: times.end, tree, leaf, evicts, slots });
        if bugs.has(InjectedBug::FullSetShows) && memory.main.oram.tree().index_refusals() > refusals {
            let (start, again) = (last.end, timer.step(last.end, tree, MovedBlocks::Access(leaf))?);
            let end = again.end;
            *last = LastPath { start, read: again.read, end };
            (self.observer)(VisiblePath { start, end, tree, leaf, evicts: false, slots: None });
        }
        let read = Cycle(last.read.0 - self.begin.0);
        if self.is_at_fetches() {
            self.processor.hold(read);
        }
        if let Some(nth) = nth.filter(|_| kind == PathKind::Data)
            && let Some(request) = self.queue.remove(nth)
        {
            self.answer(&request, times.read);
        }
        Ok(())
    }
}

/// The blocks that a step moves: those of a path, or of slots one by one.
pub(super) fn moved(leaf: Leaf, evicts: bool, slots: Option<&MovedSlots>) -> MovedBlocks<'_> {
    match slots {
        Some(slots) => MovedBlocks::Slots(slots),
        None if evicts => MovedBlocks::Eviction(leaf),
        None => MovedBlocks::Access(leaf),
    }
}
