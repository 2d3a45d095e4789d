//! A trace as the core's judge reads it: what recoveries do again is checked and left out, so that each access and each
//! step of off-line work stands there once.
//!
//! The client is one that waits until all is quiet. So the first read after a batch has begun is the batch's, and
//! whatever follows is off-line work; what a watcher of the store sees is enough to say which step of it.

use crate::recorder::{Moment, Request, Timed};
use lethe_core::store::{BucketVersion, Place};
use lethe_core::testing::{Event, TraceEntry, Work};
use lethe_core::words::{Bucket, Version};
use std::collections::BTreeMap;

/// What was told, and how much recoveries did again.
#[derive(Default)]
pub struct Transcript {
    pub events: Vec<Event>,
    /// Reads that were repeated.
    pub repeated: usize,
    /// Writes that were cut off and done again.
    pub redone: usize,
    /// Reads that had been announced before a death, and were made for the first time after it.
    pub belated: usize,
}

/// Tells a trace as events. If not `strict`, what a recovery does otherwise than announced is taken for something new.
///
/// # Errors
/// What a recovery did otherwise than announced, or what else no vault may show.
pub fn transcribe(trace: &[Timed], strict: bool) -> Result<Transcript, String> {
    let mut scribe = Scribe { strict, ..Scribe::default() };
    for (nth, (_, moment)) in trace.iter().enumerate() {
        scribe.see(moment).map_err(|deviation| format!("moment {nth}: {deviation}"))?;
    }
    Ok(scribe.told)
}

#[derive(Default)]
struct Scribe {
    told: Transcript,
    strict: bool,
    /// All reads, repetitions left out, each with the number of the checkpoint that it came after.
    reads: Vec<(u64, Vec<Place>)>,
    newest: BTreeMap<Bucket, Version>,
    opening: bool,
    /// The next of the reads that the recovery must repeat.
    next: usize,
    asked: BTreeMap<usize, Role>,
    access: Option<Access>,
    idle: Option<Idle>,
    last_write: Vec<BucketVersion>,
    /// Whether the last write may be done again: nothing was built on it.
    may_redo: bool,
}

/// Whose request it is.
enum Role {
    Access,
    Idle,
    Repeated,
}

#[derive(Clone, Copy, PartialEq)]
enum Access {
    Begun,
    Reading,
    HasRead,
}

#[derive(Clone, Copy, PartialEq)]
enum Idle {
    Reading,
    MustWrite,
    Writing,
}

impl Scribe {
    fn see(&mut self, moment: &Moment) -> Result<(), String> {
        match moment {
            Moment::Opens { checkpoint } => {
                self.opening = true;
                self.asked.clear();
                let since = self.reads.iter().position(|(after, _)| after >= checkpoint);
                self.next = since.unwrap_or(self.reads.len());
            }
            Moment::IsOpen => self.recovered()?,
            Moment::Batch(accesses) => {
                self.tell(Event::AccessBegins(*accesses));
                self.access = Some(Access::Begun);
                self.may_redo = false;
            }
            Moment::Served => self.access_ends(),
            Moment::Asks { nth, request: Request::Read(places), checkpoint } => {
                let role = self.reads(places, *checkpoint)?;
                self.asked.insert(*nth, role);
            }
            Moment::Asks { nth, request: Request::Write(buckets), .. } => {
                self.writes(buckets)?;
                self.asked.insert(*nth, Role::Idle);
            }
            Moment::Asks { .. } | Moment::Dies => {}
            Moment::Answered(nth) => match self.asked.remove(nth) {
                Some(Role::Access) => self.access_has_read(),
                Some(Role::Idle) => self.idle_is_answered(),
                Some(Role::Repeated) | None => {}
            },
        }
        Ok(())
    }

    fn tell(&mut self, event: Event) {
        self.told.events.push(event);
    }

    /// The journal was run again: what had been announced was read, and its answers are there.
    fn recovered(&mut self) -> Result<(), String> {
        let left_out = self.reads.len() - self.next;
        if left_out > 0 && self.strict {
            return Err(format!("a recovery left out the last {left_out} of the announced reads"));
        }
        self.opening = false;
        self.may_redo = true;
        self.access_ends();
        if self.idle == Some(Idle::Reading) {
            self.idle_is_answered();
        }
        Ok(())
    }

    fn reads(&mut self, places: &[Place], checkpoint: u64) -> Result<Role, String> {
        if self.opening {
            if let Some((_, announced)) = self.reads.get(self.next) {
                if announced == places {
                    self.next += 1;
                    self.told.repeated += 1;
                    return Ok(Role::Repeated);
                }
                if self.strict {
                    return Err(format!("a recovery read {places:?}, announced was {announced:?}"));
                }
            }
            self.told.belated += 1;
        }
        let old = places.iter().find(|at| self.newest.get(&at.slot.bucket) != Some(&at.version));
        if let Some(old) = old {
            return Err(format!("{old:?} was read, which is not the newest version"));
        }
        self.reads.push((checkpoint, places.to_vec()));
        self.next = self.reads.len();
        let of_last = |at: &Place| self.last_write.iter().any(|written| written.version == at.version);
        self.may_redo &= !places.iter().any(of_last);
        let entry = TraceEntry::Read(places.iter().map(|at| at.slot).collect());
        if self.access == Some(Access::Begun) {
            self.access = Some(Access::Reading);
            self.tell(Event::Asks(Work::Access, entry));
            return Ok(Role::Access);
        }
        self.tell(Event::IdleBegins);
        self.tell(Event::Asks(Work::Idle, entry));
        self.idle = Some(Idle::Reading);
        self.may_redo = false;
        Ok(Role::Idle)
    }

    fn writes(&mut self, buckets: &[BucketVersion]) -> Result<(), String> {
        for BucketVersion { bucket, version } in buckets.iter().copied() {
            let newest = self.newest.values().max().copied().unwrap_or(Version::NEVER);
            if version <= newest {
                return Err(format!("{bucket} was written as {version} after {newest}"));
            }
            self.newest.insert(bucket, version);
        }
        let same = buckets.iter().map(|at| at.bucket).eq(self.last_write.iter().map(|at| at.bucket));
        self.last_write = buckets.to_vec();
        if self.idle != Some(Idle::MustWrite) && self.may_redo && same {
            self.told.redone += 1;
            return Ok(());
        }
        if self.idle != Some(Idle::MustWrite) {
            self.tell(Event::IdleBegins);
        }
        let written = buckets.iter().map(|at| at.bucket).collect();
        self.tell(Event::Asks(Work::Idle, TraceEntry::Write(written)));
        self.idle = Some(Idle::Writing);
        self.may_redo = false;
        Ok(())
    }

    fn access_has_read(&mut self) {
        if self.access == Some(Access::Reading) {
            self.access = Some(Access::HasRead);
            self.tell(Event::Answered(Work::Access));
        }
    }

    fn access_ends(&mut self) {
        if self.access.is_some() {
            self.access_has_read();
            self.access = None;
            self.tell(Event::Ends(Work::Access));
        }
    }

    fn idle_is_answered(&mut self) {
        match self.idle {
            Some(Idle::Reading) => {
                self.idle = Some(Idle::MustWrite);
                self.tell(Event::Answered(Work::Idle));
            }
            Some(Idle::Writing) => {
                self.idle = None;
                self.tell(Event::Answered(Work::Idle));
                self.tell(Event::Ends(Work::Idle));
            }
            // It had been answered before the death.
            Some(Idle::MustWrite) | None => {}
        }
    }
}
