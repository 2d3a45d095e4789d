//! The public schedule of a deterministic write-only ORAM, computed a second time: slot by slot, without its formula.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Observations, Observer, ensure};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The schedule that says which slots change, and when.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// N, the number of slots of the main area: buckets `0..N`.
    pub main: u64,
    /// M, the number of slots of the holding area: buckets `N..N + M`.
    pub holding: u64,
    /// The number of writes (and dummies) of each batch.
    pub writes: Vec<usize>,
    /// The number of writes that may not have changed their slots yet when an access ends: 0, or 1 for the eager form.
    pub late: u64,
}

/// The observer of a deterministic write-only ORAM. It refuses a change that is not due next, or is due but does not
/// come. Reads it lets pass: they follow the program, and are for a judge that
/// [compares views](super::views::judge_views).
pub fn observer(schedule: Schedule) -> Box<dyn Observer> {
    let next = schedule.main;
    Box::new(ScheduleObserver {
        schedule,
        batches: 0,
        requested: 0,
        changed: 0,
        next,
        main: 0,
        holding: 0,
        rest: 0,
        observations: Observations::default(),
    })
}

struct ScheduleObserver {
    schedule: Schedule,
    /// The number of batches begun.
    batches: usize,
    /// The number of writes that were requested.
    requested: u64,
    /// The number of writes all of whose slots have changed.
    changed: u64,
    /// The bucket that changes next.
    next: u64,
    /// The next main slot and holding slot.
    main: u64,
    holding: u64,
    /// The main slots that the writes so far leave due, in parts of M.
    rest: u64,
    observations: Observations,
}

impl ScheduleObserver {
    /// Records that the slot that was due has changed.
    fn step(&mut self) {
        let schedule = &self.schedule;
        if self.next >= schedule.main {
            self.holding = (self.holding + 1) % schedule.holding;
            self.rest += schedule.main;
        } else {
            self.main = (self.main + 1) % schedule.main;
            self.rest -= schedule.holding;
        }
        if self.rest >= schedule.holding {
            self.next = self.main;
        } else {
            self.changed += 1;
            self.next = schedule.main + self.holding;
        }
    }
}

impl Observer for ScheduleObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::AccessBegins(_) => {
                let writes = self.schedule.writes.get(self.batches);
                self.requested += *writes.ok_or_else(|| String::from("a batch too many"))? as u64;
                self.batches += 1;
                Ok(())
            }
            Event::StoreRequest(_, TraceEntry::Write(buckets)) => buckets.iter().try_for_each(|bucket| {
                ensure(self.changed < self.requested, || format!("{bucket} changed, and nothing was due"))?;
                ensure(bucket.0 == self.next, || format!("{bucket} changed, due was {}", self.next))?;
                self.step();
                Ok(())
            }),
            Event::Pending { pending_steps, must_step } => {
                let as_due = match self.schedule.late {
                    0 => *pending_steps == 0,
                    _ => *pending_steps > 0 || self.changed == self.requested,
                };
                ensure(as_due && !must_step, || format!("pending: {pending_steps}, {must_step}"))
            }
            Event::Ends(Work::Access) => ensure(self.requested - self.changed <= self.schedule.late, || {
                format!("{} of {} writes have changed their slots", self.changed, self.requested)
            }),
            _ => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
