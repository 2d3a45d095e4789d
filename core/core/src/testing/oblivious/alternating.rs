//! The expected trace of schemes whose accesses and steps wait for one another. An access reads paths as Path ORAM's
//! does. A step reads and then writes, or only writes.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Observations, Observer, ensure};
use super::path::{FullObserver, Tree};
use crate::types::Slot;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The progress of a step.
#[derive(Clone, Debug, PartialEq)]
enum StepState {
    /// Waits until no access is in flight.
    Waiting,
    /// Reads; afterwards these buckets must be written.
    Reading(Vec<u64>),
    MustWrite(Vec<u64>),
    Writing,
    MustEnd,
}

/// The access and the step in flight.
pub(super) struct InFlight {
    /// Path ORAM's observer, for accesses.
    pub(super) on_line: FullObserver,
    step: Option<StepState>,
}

impl InFlight {
    /// The accesses of the batch in flight.
    pub(super) fn accesses(&self) -> usize {
        self.on_line.on_line.as_ref().map_or(0, |on_line| on_line.accesses)
    }

    fn has_requested(&self) -> bool {
        self.on_line.on_line.as_ref().is_some_and(|on_line| on_line.requested)
    }

    /// Returns whether a step is in flight that may begin its work.
    fn may_step(&self) -> bool {
        self.step == Some(StepState::Waiting) && !self.has_requested()
    }

    fn on_quiescent(&self) -> Result<(), String> {
        let works = matches!(self.step, Some(StepState::Reading(_) | StepState::Writing));
        let access = self
            .on_line
            .on_line
            .as_ref()
            .is_none_or(|on_line| on_line.is_waiting_for_store || (works && !self.has_requested()));
        ensure(access, || String::from("an access waits for nothing"))?;
        let step =
            self.step.is_none() || works || (self.step == Some(StepState::Waiting) && self.has_requested());
        ensure(step, || String::from("a step waits for nothing"))
    }
}

/// The public schedule of a scheme that alternates between accesses and steps.
pub(super) trait AlternatingSchedule {
    /// The steps that are due, and whether one must run before the next access.
    fn due(&self) -> (u64, bool);

    /// Checks what an access reads.
    fn access(&mut self, in_flight: &mut InFlight, slots: &[Slot]) -> Result<(), String>;

    /// Checks what a step reads, and returns the buckets that it must write afterwards.
    fn evict(&mut self, tree: &Tree, read: &[Slot]) -> Result<Vec<u64>, String>;

    /// Returns the buckets that a step must write without a reading, if that is due.
    fn take_due_without_reading(&mut self) -> Option<Vec<u64>> {
        None
    }

    /// Checks the write of the due buckets when it begins.
    fn on_write(&mut self, on_line: &mut FullObserver, buckets: &[u64]);

    /// Checks the write when it ends.
    fn on_written(&mut self) {}
}

/// The observer of a scheme that alternates between accesses and steps.
pub(super) struct AlternatingObserver<S> {
    in_flight: InFlight,
    schedule: S,
}

impl<S: AlternatingSchedule> AlternatingObserver<S> {
    pub(super) fn new(tree: Tree, seed: u64, schedule: S) -> Self {
        AlternatingObserver {
            in_flight: InFlight { on_line: FullObserver::new(tree, seed), step: None },
            schedule,
        }
    }

    fn write(&mut self, written: &[u64]) -> Result<(), String> {
        let due = if let Some(StepState::MustWrite(due)) = &self.in_flight.step {
            Some(due.clone())
        } else if self.in_flight.may_step() {
            self.schedule.take_due_without_reading()
        } else {
            None
        };
        let due = due.ok_or_else(|| String::from("a step wrote out of turn"))?;
        ensure(written == due, || format!("wrote {written:?}, due are {due:?}"))?;
        self.in_flight.step = Some(StepState::Writing);
        self.schedule.on_write(&mut self.in_flight.on_line, written);
        Ok(())
    }
}

impl<S: AlternatingSchedule> Observer for AlternatingObserver<S> {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => {
                let due = self.schedule.due();
                ensure((*pending_steps, *must_step) == due, || {
                    format!("pending: {pending_steps}, {must_step}; due is {due:?}")
                })
            }
            Event::AccessBegins(accesses) => {
                self.in_flight.on_line.begin_access(*accesses);
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Read(slots)) => {
                let may_read = matches!(self.in_flight.step, None | Some(StepState::Waiting));
                ensure(may_read, || String::from("an access read during a step"))?;
                self.schedule.access(&mut self.in_flight, slots)
            }
            Event::StoreRequest(Work::Access, TraceEntry::Write(_)) => Err(String::from("an access wrote")),
            Event::StoreAnswer(Work::Access, _) => {
                if let Some(on_line) = &mut self.in_flight.on_line.on_line {
                    on_line.is_waiting_for_store = false;
                }
                Ok(())
            }
            Event::Ends(Work::Access) => self.in_flight.on_line.end_access(),
            Event::StepBegins(_) => {
                let works = self.schedule.due().0 > 0 || self.in_flight.on_line.on_line.is_some();
                self.in_flight.step = Some(if works { StepState::Waiting } else { StepState::MustEnd });
                Ok(())
            }
            Event::StoreRequest(Work::Step(_), TraceEntry::Read(slots)) => {
                ensure(self.in_flight.may_step(), || String::from("a step read out of turn"))?;
                let due = self.schedule.evict(&self.in_flight.on_line.tree, slots)?;
                self.in_flight.step = Some(StepState::Reading(due));
                Ok(())
            }
            Event::StoreRequest(Work::Step(_), TraceEntry::Write(buckets)) => {
                self.write(&buckets.iter().map(|bucket| bucket.0).collect::<Vec<_>>())
            }
            Event::StoreAnswer(Work::Step(_), _) => {
                let step = self.in_flight.step.take();
                if step == Some(StepState::Writing) {
                    self.schedule.on_written();
                }
                self.in_flight.step = Some(match step {
                    Some(StepState::Reading(due)) => StepState::MustWrite(due),
                    _ => StepState::MustEnd,
                });
                Ok(())
            }
            Event::Ends(Work::Step(_)) => {
                let step = self.in_flight.step.take();
                ensure(step == Some(StepState::MustEnd), || format!("a step ended while {step:?}"))
            }
            Event::Quiescent => self.in_flight.on_quiescent(),
            Event::ProcessorAction(..) | Event::Redraws { .. } => {
                Err(format!("not of this scheme: {event:?}"))
            }
            Event::Recovers(_) | Event::Yields(_) => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.in_flight.on_line.observations
    }
}
