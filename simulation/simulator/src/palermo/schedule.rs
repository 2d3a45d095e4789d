//! The times at which steps begin.

use super::configuration::{Overlap, PalermoConfiguration, TREES};
use super::tree::Visit;
use ameles_core::types::Leaf;
use ameles_dram::{Batch, Cycle, Direction, DramError, Memory};
use std::collections::VecDeque;

/// A step as the watcher of the memory's bus sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleStep {
    /// The number of the request, from 0.
    pub request: u64,
    /// The tree.
    pub tree: usize,
    /// The number of the step in the visit, from 0.
    pub step: usize,
    /// The path that the visit is for.
    pub leaf: Leaf,
    /// The cycle of the memory in which its reads begin.
    pub start: Cycle,
    /// The cycle in which its blocks have arrived.
    pub end: Cycle,
    /// The number of blocks that it reads.
    pub reads: usize,
    /// The number of blocks that it writes.
    pub writes: usize,
}

/// Requests in flight, the oldest first.
pub(super) struct Schedule<W> {
    overlap: Overlap,
    max: usize,
    in_flight: VecDeque<Request>,
    /// The number of requests that are finished.
    finished: u64,
    observer: W,
}

struct Request {
    visits: [VisitInFlight; TREES],
}

/// A visit, and the steps of it that are done.
struct VisitInFlight {
    visit: Visit,
    done: usize,
    /// The reads of the step after these, or, if writes are waited for, its writes.
    pending: Option<Pending>,
}

struct Pending {
    batch: Batch,
    start: Cycle,
    writes: bool,
}

impl VisitInFlight {
    fn is_finished(&self) -> bool {
        self.done == self.visit.steps.len()
    }

    fn is_begun(&self) -> bool {
        self.done > 0 || self.pending.is_some()
    }

    /// Returns whether the block has arrived.
    fn is_answered(&self) -> bool {
        self.is_begun() && self.done >= self.visit.answers_after
    }

    /// Returns whether the next request may visit the tree.
    fn is_released(&self) -> bool {
        self.is_begun() && self.done >= self.visit.releases_after
    }
}

impl<W: FnMut(VisibleStep)> Schedule<W> {
    pub(super) fn new(configuration: &PalermoConfiguration, observer: W) -> Self {
        let max = match configuration.overlap {
            Overlap::Nothing | Overlap::Writes => 1,
            Overlap::Requests | Overlap::Trees => configuration.requests,
        };
        Schedule { overlap: configuration.overlap, max, in_flight: VecDeque::new(), finished: 0, observer }
    }

    /// Returns whether another request may be in flight.
    pub(super) fn has_room(&self) -> bool {
        self.in_flight.len() < self.max
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Requests that are finished.
    pub(super) fn requests(&self) -> u64 {
        self.finished
    }

    pub(super) fn admit(&mut self, visits: [Visit; TREES]) {
        let visits = visits.map(|visit| VisitInFlight { visit, done: 0, pending: None });
        self.in_flight.push_back(Request { visits });
    }

    /// Ends steps and begins others, in the memory's present cycle, and drops the oldest request if it is finished.
    /// Returns whether it changed anything: if so, more may begin in the same cycle.
    pub(super) fn proceed(&mut self, memory: &mut Memory) -> Result<bool, DramError> {
        let mut has_changed = false;
        for nth in 0..self.in_flight.len() {
            for tree in 0..TREES {
                has_changed |= self.end_step(memory, nth, tree)?;
                has_changed |= self.begin_step(memory, nth, tree)?;
            }
        }
        while self
            .in_flight
            .front()
            .is_some_and(|request| request.visits.iter().all(VisitInFlight::is_finished))
        {
            self.in_flight.pop_front();
            self.finished += 1;
            has_changed = true;
        }
        Ok(has_changed)
    }

    /// Ends the step of a visit if its blocks have arrived.
    fn end_step(&mut self, memory: &mut Memory, nth: usize, tree: usize) -> Result<bool, DramError> {
        let visit = &mut self.in_flight[nth].visits[tree];
        let Some(pending) = visit.pending.take_if(|pending| memory.done(&pending.batch).is_some()) else {
            return Ok(false);
        };
        let end = memory.wait(pending.batch);
        let step = &visit.visit.steps[visit.done];
        if !pending.writes {
            (self.observer)(VisibleStep {
                request: self.finished + nth as u64,
                tree,
                step: visit.done,
                leaf: visit.visit.leaf,
                start: pending.start,
                end,
                reads: step.reads.len(),
                writes: step.writes.len(),
            });
            if self.overlap == Overlap::Nothing && !step.writes.is_empty() {
                let batch = memory.write(&step.writes)?;
                visit.pending = Some(Pending { batch, start: end, writes: true });
                return Ok(true);
            }
            memory.post(Direction::Write, &step.writes)?;
        }
        visit.done += 1;
        Ok(true)
    }

    /// Begins the next step of a visit, if it may.
    fn begin_step(&mut self, memory: &mut Memory, nth: usize, tree: usize) -> Result<bool, DramError> {
        let may_begin = self.may_begin(nth, tree);
        let visit = &mut self.in_flight[nth].visits[tree];
        let is_idle = visit.pending.is_none() && !visit.is_finished();
        if !is_idle || !(visit.is_begun() || may_begin) {
            return Ok(false);
        }
        let (start, batch) = (memory.now(), memory.read(&visit.visit.steps[visit.done].reads)?);
        visit.pending = Some(Pending { batch, start, writes: false });
        Ok(true)
    }

    /// Returns whether a request may visit a tree.
    fn may_begin(&self, nth: usize, tree: usize) -> bool {
        let visits = &self.in_flight[nth].visits;
        let before = nth.checked_sub(1).map(|before| &self.in_flight[before].visits);
        let is_answered = tree.checked_sub(1).is_none_or(|tree| match self.overlap {
            Overlap::Nothing | Overlap::Writes => visits[tree].is_finished(),
            Overlap::Requests | Overlap::Trees => visits[tree].is_answered(),
        });
        let awaited = if self.overlap == Overlap::Requests { TREES - 1 } else { tree };
        is_answered && before.is_none_or(|before| before[tree].is_released() && before[awaited].is_released())
    }
}
