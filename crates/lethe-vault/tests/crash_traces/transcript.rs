//! A trace as the core's judge reads it: what recoveries do again is checked and left out, so that each access and each
//! step of off-line work stands there once.
//!
//! Off-line work is one step at a time: it reads, it writes, and only then comes the next. So a read beside it is an
//! access's. Otherwise nothing is in flight, and the first read of an access shows two buckets of a path one after the
//! other, that of off-line work two slots of one bucket. (Before every bucket was written that need not be so: there
//! the client waits until all is quiet, and the access's read comes first.)

use crate::support::recorder::{Moment, Request, Timed};
use lethe_core::store::{BucketVersion, Place};
use lethe_core::testing::{Event, TraceEntry, Work};
use lethe_core::words::{Bucket, Version};
use std::collections::{BTreeMap, VecDeque};

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
    /// Accesses that read beside off-line work that had begun before them.
    pub beside: usize,
}

/// Tells a trace as events. If not `strict`, what a recovery does otherwise than announced is taken for something new.
/// Before `quiet` batches have begun, the client waits until all is quiet.
///
/// # Errors
/// What a recovery did otherwise than announced, or what else no vault may show.
pub fn transcribe(trace: &[Timed], quiet: usize, strict: bool) -> Result<Transcript, String> {
    let mut scribe = Scribe { quiet, strict, ..Scribe::default() };
    for (nth, (_, moment)) in trace.iter().enumerate() {
        scribe.see(moment).map_err(|deviation| format!("moment {nth}: {deviation}"))?;
    }
    Ok(scribe.told)
}

#[derive(Default)]
struct Scribe {
    told: Transcript,
    quiet: usize,
    strict: bool,
    /// All reads, repetitions left out, each with the number of the checkpoint that it came after.
    reads: Vec<(u64, Vec<Place>)>,
    newest: BTreeMap<Bucket, Version>,
    opening: bool,
    /// The next of the reads that the recovery must repeat.
    next: usize,
    asked: BTreeMap<usize, Role>,
    /// Batches that were asked for and have not been seen to begin; the accesses of the others, and how many begun.
    waiting: VecDeque<usize>,
    counted: u64,
    begun: u64,
    batches: usize,
    access: Option<Access>,
    idle: Option<Idle>,
    last_write: Vec<Bucket>,
    /// Since the vault was opened, nothing new was asked for.
    is_fresh: bool,
}

/// Whose request it is.
enum Role {
    Access,
    Idle,
    Repeated,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Access {
    Begun,
    Reading,
    HasRead,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Idle {
    Reading,
    MustWrite,
    Writing,
    /// The write is done; but if the vault dies before it has noted that, it will be done again.
    Written,
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
            Moment::IsOpen => {
                self.recovered()?;
                self.waiting.clear();
            }
            Moment::Batch(accesses) => self.waiting.push_back(*accesses),
            Moment::Begun(accesses) => {
                // A vault that has forgotten some counts them again.
                self.counted -= self.begun.saturating_sub(*accesses);
                self.begun = *accesses;
            }
            Moment::Served => {
                self.access_begins();
                self.access_ends();
            }
            Moment::Asks { nth, request: Request::Read(places), checkpoint } => {
                let role = self.reads(places, *checkpoint)?;
                self.asked.insert(*nth, role);
            }
            Moment::Asks { nth, request: Request::Write(buckets), .. } => {
                self.writes(buckets)?;
                self.asked.insert(*nth, Role::Idle);
            }
            Moment::Asks { .. } | Moment::Dies => {}
            Moment::Answered(nth) => {
                let role = self.asked.remove(nth);
                if role.is_some() {
                    self.access_begins();
                }
                match role {
                    Some(Role::Access) => self.access_has_read(),
                    Some(Role::Idle) => self.idle_is_answered(),
                    Some(Role::Repeated) | None => {}
                }
            }
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
        self.is_fresh = true;
        self.access_begins();
        self.access_has_read();
        if self.idle == Some(Idle::Reading) {
            self.idle_is_answered();
        }
        self.access_ends();
        Ok(())
    }

    /// Whether a batch has begun that was not told yet.
    fn has_begun(&self) -> bool {
        self.access.is_none() && self.begun > self.counted && !self.waiting.is_empty()
    }

    fn access_begins(&mut self) {
        if self.has_begun()
            && let Some(accesses) = self.waiting.pop_front()
        {
            self.idle_ends();
            self.counted += accesses as u64;
            self.batches += 1;
            self.is_fresh = false;
            self.access = Some(Access::Begun);
            self.tell(Event::AccessBegins(accesses));
        }
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
        self.is_fresh = false;
        let entry = TraceEntry::Read(places.iter().map(|at| at.slot).collect());
        self.idle_ends();
        let can_be_access = self.has_begun() || self.access == Some(Access::Begun);
        let one_bucket = places.len() > 1 && places[0].slot.bucket == places[1].slot.bucket;
        if can_be_access && (self.idle.is_some() || self.batches < self.quiet || !one_bucket) {
            self.told.beside += usize::from(self.idle.is_some());
            self.access_begins();
            self.access = Some(Access::Reading);
            self.tell(Event::Asks(Work::Access, entry));
            return Ok(Role::Access);
        }
        self.tell(Event::IdleBegins);
        self.tell(Event::Asks(Work::Idle, entry));
        self.idle = Some(Idle::Reading);
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
        let buckets: Vec<Bucket> = buckets.iter().map(|at| at.bucket).collect();
        let was_begun = matches!(self.idle, Some(Idle::Writing | Idle::Written));
        if was_begun && self.is_fresh && buckets == self.last_write {
            self.told.redone += 1;
            self.idle = Some(Idle::Writing);
            return Ok(());
        }
        self.is_fresh = false;
        self.last_write.clone_from(&buckets);
        self.idle_ends();
        if self.idle != Some(Idle::MustWrite) {
            // Nothing was there to be read, for the access before it neither.
            self.access_begins();
            self.tell(Event::IdleBegins);
        }
        self.tell(Event::Asks(Work::Idle, TraceEntry::Write(buckets)));
        self.idle = Some(Idle::Writing);
        Ok(())
    }

    fn access_has_read(&mut self) {
        if self.access == Some(Access::Reading) {
            self.access = Some(Access::HasRead);
            self.tell(Event::Answered(Work::Access));
        }
    }

    fn access_ends(&mut self) {
        if self.access.take().is_some() {
            self.tell(Event::Ends(Work::Access));
        }
    }

    fn idle_is_answered(&mut self) {
        match self.idle {
            Some(Idle::Reading) => {
                self.idle = Some(Idle::MustWrite);
                self.tell(Event::Answered(Work::Idle));
            }
            Some(Idle::Writing) => self.idle = Some(Idle::Written),
            // It had been answered before the death.
            Some(Idle::MustWrite | Idle::Written) | None => {}
        }
    }

    /// Something was built on what was written: it will not be written again.
    fn idle_ends(&mut self) {
        if self.idle == Some(Idle::Written) {
            self.idle = None;
            self.tell(Event::Answered(Work::Idle));
            self.tell(Event::Ends(Work::Idle));
        }
    }
}
