//! A trace in the form that the core's tests read. The repetitions of recoveries are checked and removed, so that each
//! access and each step of off-line work occurs once.
//!
//! A step of off-line work reads, then writes, and only then the next one reads. So a read while one of them reads is
//! an access's. Otherwise the read itself shows its kind. Off-line work reads Z slots of its first bucket. A batch
//! reads that many slots of one bucket only if all its accesses see only that bucket. This may happen until every
//! bucket was written. During that time the client waits until the vault is quiet, so the read of the access comes
//! first.

use super::in_flight::{Access, Phase, Restore, Role, Step};
use super::redraws::Redraw;
use crate::support::intercepted::Request;
use crate::support::recorder::{TimedEvent, TraceEvent};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::store::{BucketVersion, Place};
use ameles_core::testing::{Event, TraceEntry, Work};
use ameles_core::types::{Bucket, Version};
use std::collections::{BTreeMap, VecDeque};

/// The maximum number of steps that had ended for a lost machine, whose ends its journal in the store may lack.
const MAX_ENDED: usize = 4;
/// The steps from which on a request is not counted: it follows a long pause.
const MAX_STEPS: u64 = 8;

/// The events so far, and how much recoveries repeated.
#[derive(Default)]
pub struct Transcript {
    pub events: Vec<Event>,
    /// The batches that have begun, by their places among those that were requested.
    pub begun: Vec<usize>,
    /// The number of reads that were repeated.
    pub repeated: usize,
    /// The number of writes that were cut off and repeated.
    pub redone: usize,
    /// The number of reads that were announced before a kill, and first made after it.
    pub belated: usize,
    /// The number of accesses that read while earlier off-line work was in progress.
    pub beside: usize,
    /// The number of restores that drew all positions again, and of accesses that they lost.
    pub redrawn: usize,
    pub lost: u64,
    /// The number of steps of off-line work that read while another one wrote.
    pub overlapping: usize,
    /// The sum of the steps of all new reads and writes, each since the store last answered.
    pub steps: u64,
}

/// Turns a trace into events. If not `strict`, a request of a recovery that differs from the announced one counts as
/// new. Before `quiet` batches have begun, the client waits until the vault is quiet. If the vault `announces` in the
/// store, it publishes a batch after the first requests that follow from it.
///
/// # Errors
/// A deviation of a recovery from what was announced, or anything else that no vault may show.
pub fn transcribe(
    trace: &[TimedEvent],
    ring: &RingParameters,
    quiet: usize,
    (strict, announces): (bool, bool),
) -> Result<Transcript, String> {
    let mut writer = TranscriptWriter {
        told: Transcript::default(),
        ring: ring.clone(),
        quiet,
        strict,
        announces,
        reads: Vec::new(),
        newest: BTreeMap::new(),
        opening: false,
        openings: 0,
        restore: None,
        requested: 0,
        deferred: VecDeque::new(),
        ended: VecDeque::new(),
        lacks_ends: false,
        next: 0,
        asked: BTreeMap::new(),
        waiting: VecDeque::new(),
        counted: 0,
        begun: 0,
        batches: 0,
        access: None,
        steps: Vec::new(),
        steps_begun: 0,
        is_fresh: false,
    };
    for (nth, (_, event)) in trace.iter().enumerate() {
        writer.observe(event).map_err(|deviation| format!("moment {nth}: {deviation}"))?;
    }
    Ok(writer.told)
}

struct TranscriptWriter {
    // Wide: one field for each thing that the reader of a trace must remember.
    told: Transcript,
    ring: RingParameters,
    quiet: usize,
    strict: bool,
    announces: bool,
    /// All reads without repetitions, each with the number of the last checkpoint before it.
    reads: Vec<(u64, Vec<Place>)>,
    newest: BTreeMap<Bucket, Version>,
    opening: bool,
    openings: usize,
    /// The restore on another machine, until the vault is open there.
    restore: Option<Restore>,
    /// The next read that the recovery must repeat.
    next: usize,
    asked: BTreeMap<usize, Role>,
    /// The batches that were requested and have not visibly begun, with their places and lengths; the number of those that
    /// were requested; the accesses of those that have begun, visibly and in all.
    waiting: VecDeque<(usize, usize)>,
    requested: usize,
    counted: u64,
    begun: u64,
    batches: usize,
    access: Option<Access>,
    /// The steps of off-line work in flight, the oldest first, and how many there were in all.
    steps: Vec<Step>,
    steps_begun: usize,
    /// The reads of steps that a recovery has made before the writes that they follow.
    deferred: VecDeque<TraceEntry>,
    /// The last steps whose writes something depended on.
    ended: VecDeque<Vec<Bucket>>,
    /// True if the store may have lacked their ends when the machine was lost, and nothing new was requested since.
    lacks_ends: bool,
    /// True if nothing new was requested since the vault was opened.
    is_fresh: bool,
}

impl TranscriptWriter {
    fn observe(&mut self, event: &TraceEvent) -> Result<(), String> {
        match event {
            TraceEvent::Restores { draws_again } => {
                self.asked.clear();
                self.lacks_ends = true;
                if let Some(Restore::Redraws(earlier)) = self.restore.take() {
                    // It may have shipped its checkpoint, and this restore starts from there.
                    self.newest.extend(earlier.written.iter().map(|at| (at.bucket, at.version)));
                }
                let redraws = Restore::Redraws(Redraw::default());
                self.restore = Some(if *draws_again { redraws } else { Restore::MovesNothing });
            }
            TraceEvent::Opens { checkpoint } => {
                if matches!(self.restore, Some(Restore::MovesNothing)) {
                    self.restore = None;
                }
                // An earlier machine may have gone on to later checkpoints, which this one does not have.
                self.reads.iter_mut().for_each(|(after, _)| *after = (*after).min(*checkpoint));
                self.repeats_from(*checkpoint);
            }
            TraceEvent::Follows { checkpoint } => {
                self.lacks_ends = true;
                self.repeats_from(*checkpoint);
            }
            TraceEvent::IsOpen => {
                self.openings += 1;
                match self.restore.take() {
                    Some(Restore::Redraws(redraw)) => self.redrawn(&redraw)?,
                    _ => self.recovered()?,
                }
                self.waiting.clear();
            }
            TraceEvent::Batch(accesses) => {
                self.waiting.push_back((self.requested, *accesses));
                self.requested += 1;
            }
            TraceEvent::Begun(accesses) => {
                self.begun = *accesses;
                if self.restore.is_none() {
                    // A vault that has lost some accesses counts them again.
                    self.counted = self.counted.min(*accesses);
                }
            }
            TraceEvent::Served => {
                self.access_begins();
                self.access_ends();
            }
            TraceEvent::Asks { request, .. } if self.restore.is_some() => self.restores(request)?,
            TraceEvent::Asks { nth, step, request: Request::Read(places), checkpoint } => {
                let role = self.reads(places, *checkpoint)?;
                self.note_step(&role, *step);
                self.asked.insert(*nth, role);
            }
            TraceEvent::Asks { nth, step, request: Request::Write(buckets), .. } => {
                let role = self.writes(buckets)?;
                self.note_step(&role, *step);
                self.asked.insert(*nth, role);
            }
            TraceEvent::Asks { .. } | TraceEvent::Dies => {}
            TraceEvent::Answered(nth) => {
                let role = self.asked.remove(nth);
                // The first reads of a recovery come in the announced order, also those of an access.
                if role.is_some() && !self.opening && self.is_published() {
                    self.access_begins();
                }
                match role {
                    Some(Role::Access) => self.access_has_read(),
                    Some(Role::Step(number)) => self.step_is_answered(number),
                    Some(Role::Repeated) | None => {}
                }
            }
        }
        Ok(())
    }

    /// Adds the step of a new request.
    fn note_step(&mut self, role: &Role, step: u64) {
        if !matches!(role, Role::Repeated) {
            self.told.steps += step.min(MAX_STEPS);
        }
    }

    fn emit(&mut self, event: Event) {
        self.told.events.push(event);
    }

    /// The reads since this checkpoint come again.
    fn repeats_from(&mut self, checkpoint: u64) {
        self.opening = true;
        self.asked.clear();
        let since = self.reads.iter().position(|(after, _)| *after >= checkpoint);
        self.next = since.unwrap_or(self.reads.len());
    }

    /// A request of a restore.
    fn restores(&mut self, request: &Request) -> Result<(), String> {
        match &mut self.restore {
            Some(Restore::Redraws(redraw)) => redraw.add(request, &self.ring, &self.newest),
            _ if matches!(request, Request::Read(_) | Request::Write(_)) => {
                Err(format!("a restore that moves no bucket: {request:?}"))
            }
            _ => Ok(()),
        }
    }

    /// Records that all positions were drawn again. What was in flight is lost, and nothing is repeated from now on.
    fn redrawn(&mut self, redraw: &Redraw) -> Result<(), String> {
        redraw.check(&self.ring)?;
        self.retract_access();
        self.told.redrawn += 1;
        self.told.lost += self.counted.saturating_sub(self.begun);
        self.counted = self.begun;
        (self.access, self.opening, self.next) = (None, false, 0);
        self.newest = redraw.written.iter().map(|at| (at.bucket, at.version)).collect();
        (self.reads, self.steps, self.ended, self.deferred) = Default::default();
        let buckets = redraw.written.iter().map(|at| at.bucket).collect();
        self.emit(Event::Redraws { accesses: self.begun, buckets });
        Ok(())
    }

    /// Takes back an access that has begun and read nothing: the machine was lost with it.
    fn retract_access(&mut self) {
        if self.access == Some(Access::Begun)
            && let Some(at) = self.told.events.iter().rposition(|it| matches!(it, Event::AccessBegins(_)))
            && let Event::AccessBegins(accesses) = self.told.events.remove(at)
        {
            self.told.begun.pop();
            self.counted -= accesses as u64;
            self.batches -= 1;
            self.access = None;
        }
    }

    /// Records that the journal was replayed: everything announced was read, and the answers are there.
    fn recovered(&mut self) -> Result<(), String> {
        let left_out = self.reads.len() - self.next;
        if left_out > 0 && self.strict {
            return Err(format!("a recovery left out the last {left_out} of the announced reads"));
        }
        self.opening = false;
        if self.counted > self.begun {
            self.retract_access();
        }
        if self.is_published() {
            self.access_begins();
        }
        self.access_has_read();
        let reads = self.steps.iter().find(|step| step.phase == Phase::Reading);
        if let Some(number) = reads.map(|step| step.number) {
            self.step_is_answered(number);
        }
        self.access_ends();
        self.is_fresh = true;
        Ok(())
    }

    /// Returns whether a batch has begun that is not among the events yet.
    fn has_begun(&self) -> bool {
        self.access.is_none() && (self.is_published() || self.announces) && !self.waiting.is_empty()
    }

    /// Returns whether the vault has published accesses that are not among the events yet.
    fn is_published(&self) -> bool {
        self.begun > self.counted
    }

    fn access_begins(&mut self) {
        if self.has_begun()
            && let Some((place, accesses)) = self.waiting.pop_front()
        {
            self.told.begun.push(place);
            self.steps_end();
            self.silent_steps();
            self.counted += accesses as u64;
            self.batches += 1;
            (self.is_fresh, self.lacks_ends) = (false, false);
            self.access = Some(Access::Begun);
            self.emit(Event::AccessBegins(accesses));
        }
    }

    /// Tells the slices of the first eviction that are due, if there are several: they request nothing, because nothing
    /// was written before.
    fn silent_steps(&mut self) {
        let slices = self.ring.slices().len() as u64;
        let silent = if slices > 1 { slices } else { 0 };
        let due = (self.counted * slices / u64::from(self.ring.eviction_rate)).min(silent);
        while (self.steps_begun as u64) < due {
            self.access_is_served();
            let number = self.step_begins(Phase::Written);
            self.steps.pop();
            self.emit(Event::Ends(Work::Step(number)));
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
        (self.is_fresh, self.lacks_ends) = (false, false);
        let entry = TraceEntry::Read(places.iter().map(|at| at.slot).collect());
        self.steps_end();
        let can_be_access = self.has_begun() || self.access == Some(Access::Begun);
        let one_reads = self.steps.iter().any(|step| step.phase != Phase::Writing);
        // An access whose whole path is held reads nothing, so with slices the first read may be a step's.
        let access_is_first = self.batches < self.quiet && !self.ring.is_sliced();
        // The steps that an earlier opening has left come before the first batch.
        let access_is_first = access_is_first && (self.is_published() || self.openings <= 1);
        if can_be_access && (one_reads || access_is_first || !self.is_evacuation(places)) {
            self.told.beside += usize::from(!self.steps.is_empty());
            self.access_begins();
            self.access = Some(Access::Reading);
            self.emit(Event::StoreRequest(Work::Access, entry));
            return Ok(Role::Access);
        }
        // A batch begins before the step that it makes due, so it has made no request.
        if self.is_published() {
            self.access_begins();
        }
        self.silent_steps();
        let must_write = |step: &Step| matches!(step.phase, Phase::Reading | Phase::MustWrite);
        if self.opening && self.steps.iter().any(must_write) {
            // It follows a write that was announced, and will be sent when the vault is open.
            self.deferred.push_back(entry);
            return Ok(Role::Repeated);
        }
        self.told.overlapping += usize::from(!self.steps.is_empty());
        let number = self.step_begins(Phase::Reading);
        self.emit(Event::StoreRequest(Work::Step(number), entry));
        Ok(Role::Step(number))
    }

    /// Returns whether this many slots of the first bucket are read only by off-line work.
    fn is_evacuation(&self, places: &[Place]) -> bool {
        let Some(first) = places.first().map(|at| at.slot.bucket) else { return false };
        let (below_top, below_leaves) = (1u64 << self.ring.top.0, 1u64 << self.ring.leaf_level.0);
        let shape = if first.0 + below_top >= below_leaves { self.ring.leaf } else { self.ring.inner };
        places.iter().take_while(|at| at.slot.bucket == first).count() == shape.blocks as usize
    }

    fn step_begins(&mut self, phase: Phase) -> usize {
        let number = self.steps_begun;
        self.steps_begun += 1;
        self.steps.push(Step { number, phase, buckets: Vec::new() });
        self.emit(Event::StepBegins(number));
        number
    }

    fn writes(&mut self, buckets: &[BucketVersion]) -> Result<Role, String> {
        for BucketVersion { bucket, version } in buckets.iter().copied() {
            let newest = self.newest.values().max().copied().unwrap_or(Version::NEVER);
            if version <= newest {
                return Err(format!("{bucket} was written as {version} after {newest}"));
            }
            self.newest.insert(bucket, version);
        }
        let buckets: Vec<Bucket> = buckets.iter().map(|at| at.bucket).collect();
        let was_begun = |step: &&mut Step| matches!(step.phase, Phase::Writing | Phase::Written);
        let mut again = self.steps.iter_mut().filter(was_begun).filter(|step| step.buckets == buckets);
        if self.is_fresh
            && let Some(step) = again.next()
        {
            self.told.redone += 1;
            step.phase = Phase::Writing;
            return Ok(Role::Step(step.number));
        }
        if self.is_fresh && self.lacks_ends && self.ended.contains(&buckets) {
            self.told.redone += 1;
            return Ok(Role::Repeated);
        }
        (self.is_fresh, self.lacks_ends) = (false, false);
        self.steps_end();
        let number = match self.steps.iter().find(|step| step.phase == Phase::MustWrite) {
            Some(step) => step.number,
            None => {
                // There was nothing to read, for the access before it neither.
                self.access_begins();
                self.silent_steps();
                self.step_begins(Phase::MustWrite)
            }
        };
        if let Some(step) = self.steps.iter_mut().find(|step| step.number == number) {
            (step.phase, step.buckets) = (Phase::Writing, buckets.clone());
        }
        self.access_is_served();
        self.emit(Event::StoreRequest(Work::Step(number), TraceEntry::Write(buckets)));
        if let Some(entry) = self.deferred.pop_front() {
            let next = self.step_begins(Phase::Reading);
            self.emit(Event::StoreRequest(Work::Step(next), entry));
            self.step_is_answered(next);
        }
        Ok(Role::Step(number))
    }

    fn access_has_read(&mut self) {
        if self.access == Some(Access::Reading) {
            self.access = Some(Access::HasRead);
            self.emit(Event::StoreAnswer(Work::Access, 0));
        }
    }

    /// Ends an access that has its reads: an eviction fills its buckets after it. Its caller is answered later.
    fn access_is_served(&mut self) {
        if self.access != Some(Access::Reading) {
            self.access_ends();
        }
    }

    fn access_ends(&mut self) {
        if self.access.take().is_some() {
            self.emit(Event::Ends(Work::Access));
        }
    }

    fn step_is_answered(&mut self, number: usize) {
        let Some(step) = self.steps.iter_mut().find(|step| step.number == number) else { return };
        match step.phase {
            Phase::Reading => {
                step.phase = Phase::MustWrite;
                self.emit(Event::StoreAnswer(Work::Step(number), 0));
            }
            Phase::Writing => step.phase = Phase::Written,
            // It had been answered before the kill.
            Phase::MustWrite | Phase::Written => {}
        }
    }

    /// Ends the steps whose writes something already depends on: they will not be repeated.
    fn steps_end(&mut self) {
        let written: Vec<Step> = self.steps.extract_if(.., |step| step.phase == Phase::Written).collect();
        for Step { number, buckets, .. } in written {
            self.emit(Event::StoreAnswer(Work::Step(number), 0));
            self.emit(Event::Ends(Work::Step(number)));
            self.ended.push_back(buckets);
            if self.ended.len() > MAX_ENDED {
                self.ended.pop_front();
            }
        }
    }
}
