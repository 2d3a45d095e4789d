//! A scheme at work: one operation of its store after the other, from a seed.

use crate::catalogue;
use crate::code::{Stage, Work};
use crate::instance::{Instance, Setting};
use crate::memory::{Operation, SentMessage};
use crate::phase::{Phase, Place};
use crate::stepped_scheme::{Batch, RequestedAccess, Task};
use ameles_core::inspect::Inspection;
use ameles_core::types::BlockId;
use serde::Serialize;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

/// A scheme, its memory and the current work. The same setting and the same requests give the same steps.
pub struct Simulation {
    instance: Instance,
    capacity: u64,
    /// True if pending work waits until it must be done.
    lazy: bool,
    queued_batches: VecDeque<Batch>,
    idle_requested: bool,
    running: Option<Running>,
    last_inspection: Inspection,
    /// True while an operation has the trusted state, so that the last inspection is older.
    is_outdated: bool,
    steps: u64,
}

struct Running {
    work: Work,
    task: Task,
    /// The messages so far.
    place: Place,
}

/// The state after a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// The number of steps so far.
    pub step: u64,
    /// The work that the step belongs to; `None` if there was nothing to do.
    pub work: Option<Work>,
    /// True if that work has begun with this step.
    pub begun: bool,
    /// True if it has ended with this step.
    pub ended: bool,
    /// The result of each access of the batch that is a read.
    pub answers: Vec<Option<u32>>,
    /// The current request to the store: the provider sees it.
    pub operation: Option<VisibleOperation>,
    /// The lines of the pseudocode that have run, from 0.
    pub lines: Vec<usize>,
    /// True if nothing is in progress, requested or pending.
    pub rests: bool,
}

/// An operation as the provider sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VisibleOperation {
    /// True for a write.
    pub writes: bool,
    /// The slots, by their numbers in the whole memory.
    pub slots: Vec<u64>,
    /// The messages of a step of the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<SentMessage>,
    /// The part of a round to which the step of the network belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
}

impl Simulation {
    /// Makes a scheme that has done nothing yet.
    ///
    /// # Errors
    /// There is no such scheme, or it cannot have this size.
    pub fn new(scheme: &str, setting: Setting, lazy: bool) -> Result<Self, String> {
        let instance = catalogue::make(scheme, setting)?;
        let last_inspection = instance.scheme.inspect().unwrap_or_default();
        let (queued_batches, capacity) = (VecDeque::new(), setting.capacity);
        Ok(Simulation {
            instance,
            capacity,
            lazy,
            queued_batches,
            idle_requested: false,
            running: None,
            last_inspection,
            is_outdated: false,
            steps: 0,
        })
    }

    /// The scheme, and its memory.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The last trusted state that no operation owned.
    pub fn last_inspection(&self) -> &Inspection {
        &self.last_inspection
    }

    /// Returns whether an operation has the trusted state now.
    pub fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// Returns the number of steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Requests an access: it begins when the work before it is done.
    ///
    /// # Errors
    /// There is no such block.
    pub fn request_access(&mut self, request: RequestedAccess) -> Result<(), String> {
        self.request_batch(vec![Some(request)])
    }

    /// Requests a batch of accesses: it begins when the work before it is done.
    ///
    /// # Errors
    /// There are none or too many, or there is no such block.
    pub fn request_batch(&mut self, batch: Batch) -> Result<(), String> {
        let (max, capacity) = (self.instance.scheme.max_batch(), self.capacity);
        if !(1..=max).contains(&batch.len()) {
            return Err(format!("{} accesses at a time: choose from 1 to {max}", batch.len()));
        }
        if let Some(request) = batch.iter().flatten().find(|request| request.block.0 >= capacity) {
            return Err(format!("there is no block {}: choose from 0 to {}", request.block.0, capacity - 1));
        }
        self.queued_batches.push_back(batch);
        Ok(())
    }

    /// Requests a step of the pending work, which comes before the next access.
    pub fn request_idle_step(&mut self) {
        self.idle_requested = true;
    }

    /// Runs until the next operation of the store is done.
    ///
    /// # Errors
    /// The scheme has failed.
    pub fn step(&mut self) -> Result<StepResult, String> {
        let mut result = StepResult { step: self.steps, ..StepResult::default() };
        match self.running {
            Some(_) => self.instance.memory.complete(),
            None => {
                self.running = self.next();
                result.begun = true;
            }
        }
        let Some(running) = &mut self.running else {
            return Ok(StepResult { rests: true, begun: false, ..result });
        };
        self.steps += 1;
        let work = running.work;
        let polled = running.task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        (result.step, result.work) = (self.steps, Some(work));
        match polled {
            Poll::Ready(answer) => {
                self.running = None;
                (result.ended, result.answers) = (true, answer?);
            }
            Poll::Pending => {
                let operation = self.instance.memory.waiting();
                let operation = operation.ok_or("the scheme waits for something other than its store")?;
                let mut phase = None;
                match (operation.messages.first(), self.instance.processors) {
                    (Some(sent), Some(processors)) => {
                        phase = Some(running.place.send(processors.count, sent.bytes));
                    }
                    _ => running.place.read(),
                }
                let Operation { writes, slots, messages, .. } = operation;
                result.operation = Some(VisibleOperation { writes, slots, messages, phase });
            }
        }
        let last_inspection = self.instance.scheme.inspect();
        self.is_outdated = last_inspection.is_none();
        self.last_inspection = last_inspection.unwrap_or_else(|| std::mem::take(&mut self.last_inspection));
        result.lines = self.lines(&result, work);
        result.rests = self.rests();
        Ok(result)
    }

    /// The next work: pending work before requested accesses.
    fn next(&mut self) -> Option<Running> {
        let scheme = &self.instance.scheme;
        let requested = std::mem::take(&mut self.idle_requested);
        let is_due =
            scheme.pending_steps() > 0 && !self.lazy || scheme.must_step() && !self.queued_batches.is_empty();
        if requested || is_due {
            return Some(Running { work: Work::Idle, task: scheme.step(), place: Place::default() });
        }
        let batch = self.queued_batches.pop_front()?;
        let writes = batch.iter().flatten().any(|request| request.write.is_some());
        let work = if writes { Work::Write } else { Work::Read };
        Some(Running { work, task: scheme.access(batch), place: Place::default() })
    }

    fn rests(&self) -> bool {
        let has_pending_work = self.instance.scheme.pending_steps() > 0 && !self.lazy;
        self.running.is_none() && self.queued_batches.is_empty() && !self.idle_requested && !has_pending_work
    }

    fn lines(&self, result: &StepResult, work: Work) -> Vec<usize> {
        let mut stages = Vec::new();
        stages.extend(result.begun.then_some(Stage::Started));
        stages.extend(result.ended.then_some(Stage::Ended));
        let Some(VisibleOperation { writes, slots, phase, .. }) = &result.operation else {
            return self.instance.code.running(work, &stages, "");
        };
        if let Some(phase) = phase {
            stages.push(Stage::Sends);
            return self.instance.code.running(work, &stages, phase.word());
        }
        let mut lines = Vec::new();
        for area in &self.instance.areas {
            if slots.iter().any(|slot| area.numbers().contains(slot)) {
                let now = match (area.map, writes) {
                    (Some(_), _) => Stage::Maps,
                    (None, true) => Stage::Writes,
                    (None, false) => Stage::Reads,
                };
                let stages: Vec<Stage> = stages.iter().copied().chain([now]).collect();
                lines.extend(self.instance.code.running(work, &stages, &area.name));
            }
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

/// Reads of a block.
pub fn read(block: u64) -> RequestedAccess {
    RequestedAccess { block: BlockId(block), write: None }
}

/// Writes of a number into a block.
pub fn write(block: u64, number: u32) -> RequestedAccess {
    RequestedAccess { block: BlockId(block), write: Some(number) }
}
