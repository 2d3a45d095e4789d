//! Drives a scheme step by step and records the trace. Accesses and steps run in parallel. The test decides when store
//! operations end, and in which order.

use super::array_model::{ArrayModel, Operation};
use super::executor::Task;
use super::trace_store::{ProcessorAction, Recorded, TraceEntry, TraceStore};
use crate::oram::Oram;
use crate::types::Bucket;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;

/// The work that an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// On-line work: an access. Several end in the order in which they began.
    Access,
    /// Off-line work: the step that was begun after this many others.
    Step(usize),
}

/// The events that show, in order: the trace, and what the driver does. All of it is public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The driver asked the scheme for its pending steps.
    Pending {
        /// The number of pending steps.
        pending_steps: u64,
        /// True if a step must come before the next access.
        must_step: bool,
    },
    /// A batch of this many accesses begins.
    AccessBegins(usize),
    /// The step of this number begins.
    StepBegins(usize),
    /// The store gets a request.
    StoreRequest(Work, TraceEntry),
    /// A processor of several asks its store for something, or they send each other messages.
    ProcessorAction(Work, ProcessorAction),
    /// The store has finished a request of this task: the one that the task sent after this many others, of those in
    /// flight.
    StoreAnswer(Work, usize),
    /// An access yielded although it waited for nothing. Steps may wake themselves: some poll several tasks of their
    /// own.
    Yields(Work),
    /// The task is done.
    Ends(Work),
    /// All that could continue has continued.
    Quiescent,
    /// The process died, and another process continues from a snapshot. The new process announces that it will repeat
    /// this many of the events before this one.
    Recovers(usize),
    /// The machine was lost with everything in flight. Another one gave every block a new position, and wrote all buckets
    /// that exist.
    Redraws {
        /// The number of accesses after which the schedule continues. Those that were lost do not count.
        accesses: u64,
        /// The buckets that were written.
        buckets: Vec<Bucket>,
    },
}

/// A scheme, its store, and the work in flight. Every answer is compared with a plain array.
pub struct Driver<'a, O> {
    oram: &'a O,
    store: &'a TraceStore,
    model: ArrayModel,
    current_work: Rc<Cell<Work>>,
    /// The accesses in flight, the oldest first.
    accesses: VecDeque<Task<'a>>,
    /// The steps in flight, the oldest first, and how many were ever begun.
    steps: Vec<(usize, Task<'a>)>,
    steps_begun: usize,
    /// The tasks that wait for the store, in the order of their requests.
    waiting_for_store: Vec<Work>,
    holding_back: bool,
    events: Vec<Event>,
}

impl<'a, O: Oram> Driver<'a, O> {
    /// A driver for an ORAM whose blocks hold what `model` holds.
    pub fn new(oram: &'a O, store: &'a TraceStore, model: ArrayModel) -> Self {
        Driver {
            oram,
            store,
            model,
            current_work: Rc::new(Cell::new(Work::Access)),
            accesses: VecDeque::new(),
            steps: Vec::new(),
            steps_begun: 0,
            waiting_for_store: Vec::new(),
            holding_back: false,
            events: Vec::new(),
        }
    }

    /// Reports whose work is being polled, for stores that need it.
    pub fn report_current_work(&mut self, current_work: Rc<Cell<Work>>) {
        self.current_work = current_work;
    }

    /// Sets whether store operations from now on wait for [`complete`](Self::complete).
    pub fn hold_back(&mut self, holding_back: bool) {
        self.holding_back = holding_back;
        self.store.hold_back(holding_back);
    }

    /// Asks the scheme for its pending steps. Returns them, and whether one must run before the next access.
    pub fn query_pending(&mut self) -> (u64, bool) {
        let (pending_steps, must_step) = (self.oram.pending_steps(), self.oram.must_step());
        self.events.push(Event::Pending { pending_steps, must_step });
        (pending_steps, must_step)
    }

    /// Begins a batch.
    ///
    /// # Panics
    /// If as many are in flight as the scheme allows.
    pub fn begin_access(&mut self, operations: &[Operation]) {
        assert!(
            self.accesses.len() < self.oram.max_concurrent_batches(),
            "more accesses than may be in flight"
        );
        self.events.push(Event::AccessBegins(operations.len()));
        self.accesses.push_back(Task::new(self.model.prepare(operations).run(self.oram)));
        self.run();
    }

    /// Begins a step.
    pub fn begin_step(&mut self) {
        let (oram, nth) = (self.oram, self.steps_begun);
        self.steps_begun += 1;
        self.events.push(Event::StepBegins(nth));
        let step = Task::new(async move {
            if let Err(error) = oram.step().await {
                panic!("a step failed: {error}");
            }
        });
        self.steps.push((nth, step));
        self.run();
    }

    /// Accesses in flight.
    pub fn accesses(&self) -> usize {
        self.accesses.len()
    }

    /// The number of steps in flight.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The tasks that wait for the store, in the order of their requests.
    pub fn waiting_for_store(&self) -> &[Work] {
        &self.waiting_for_store
    }

    /// Lets the `nth` of the waiting store operations end, and continues everything that can continue.
    ///
    /// # Panics
    /// If there is no such waiting operation.
    pub fn complete(&mut self, nth: usize) {
        let work = self.waiting_for_store.remove(nth);
        let earlier = self.waiting_for_store[..nth].iter().filter(|other| **other == work).count();
        self.events.push(Event::StoreAnswer(work, earlier));
        self.store.complete(nth);
        self.run();
    }

    /// Lets store operations end, the oldest first, until nothing is in flight.
    ///
    /// # Panics
    /// If work waits although the store has done all that was asked: it would wait forever.
    pub fn finish(&mut self) {
        while !self.accesses.is_empty() || !self.steps.is_empty() {
            assert!(
                !self.waiting_for_store.is_empty(),
                "work waits for an operation that no one will complete"
            );
            self.complete(0);
        }
    }

    /// Takes the events so far.
    pub fn take_events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.events)
    }

    /// Returns the plain array.
    pub fn into_model(self) -> ArrayModel {
        self.model
    }

    fn run(&mut self) {
        let mut progress = true;
        while progress {
            progress = false;
            for (nth, access) in core::mem::take(&mut self.accesses).into_iter().enumerate() {
                let (progressed, access) = self.poll(Work::Access, access);
                progress |= progressed;
                assert!(
                    access.is_some() || self.accesses.is_empty(),
                    "access {nth} ended before an earlier one"
                );
                self.accesses.extend(access);
            }
            for (nth, step) in core::mem::take(&mut self.steps) {
                let (progressed, step) = self.poll(Work::Step(nth), step);
                progress |= progressed;
                self.steps.extend(step.map(|step| (nth, step)));
            }
        }
        self.events.push(Event::Quiescent);
    }

    /// Returns whether it continued, and the rest of it.
    fn poll(&mut self, work: Work, mut running: Task<'a>) -> (bool, Option<Task<'a>>) {
        self.current_work.set(work);
        let progress = running.poll();
        let ended = running.has_ended();
        for recorded in self.store.take_recorded() {
            self.events.push(match recorded {
                Recorded::Single(entry) => Event::StoreRequest(work, entry),
                Recorded::Processor(act) => Event::ProcessorAction(work, act),
            });
            if self.holding_back {
                self.waiting_for_store.push(work);
            } else {
                self.events.push(Event::StoreAnswer(work, 0));
            }
        }
        if ended {
            self.events.push(Event::Ends(work));
        } else if progress && work == Work::Access && running.is_woken() {
            self.events.push(Event::Yields(work));
        }
        (progress, (!ended).then_some(running))
    }
}
