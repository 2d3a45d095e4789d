//! RAW ORAM's public schedule, accounted for a second time: on line the paths of Path ORAM, off line their headers, and
//! after every A accesses the next path around the leaves.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, ShownLeaf, ensure};
use super::path::{FullObserver, Tree};
use super::reverse_bits::reverse_bits;
use crate::schemes::raw::RawParameters;
use crate::types::{Bucket, Slot};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The observer of a RAW ORAM with a flat position map, from its first access on; for a driver with one access and one
/// step at a time.
pub fn observer(parameters: &RawParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    let (leaf_level, top) = (parameters.leaf_level.0, parameters.top.0);
    let headers = (2 << leaf_level) - (1 << top);
    let bodies = Tree { leaf_level, top, first: headers };
    let schedule = Schedule { rate: parameters.eviction_rate.into(), accesses: 0, evictions: 0 };
    match adversary {
        Adversary::Full => Box::new(RawObserver {
            on_line: FullObserver::new(bodies, seed),
            headers,
            body_slots: parameters.blocks_per_bucket,
            max_batch: parameters.max_batch as usize,
            held: Vec::new(),
            unwritten: 0,
            schedule,
            off_line: None,
        }),
        Adversary::Snapshot => Box::new(SnapshotObserver {
            bodies,
            headers,
            schedule,
            written: 0,
            included: 0,
            observations: Observations::default(),
        }),
    }
}

/// The counts that say which eviction is due.
struct Schedule {
    rate: u64,
    accesses: u64,
    evictions: u64,
}

impl Schedule {
    fn due(&self) -> u64 {
        self.accesses / self.rate - self.evictions
    }

    /// The buckets of the path that is due next, each header before its body.
    fn evict(&mut self, bodies: &Tree, headers: u64) -> Result<Vec<u64>, String> {
        ensure(self.due() > 0, || String::from("an eviction that is not due"))?;
        let leaf = reverse_bits(bodies.leaf_level, self.evictions);
        self.evictions += 1;
        Ok(bodies.apart(leaf, &[]).flat_map(|body| [body - headers, body]).collect())
    }
}

#[derive(Clone, Debug, PartialEq)]
enum StepState {
    /// Waits until no access is in flight.
    Waiting,
    Headers,
    Reading(Vec<u64>),
    MustWrite(Vec<u64>),
    Writing,
    MustEnd,
}

struct RawObserver {
    /// Path ORAM's account of an access, for bodies: no path is held from one batch to the next.
    on_line: FullObserver,
    /// The number of headers: they are the first buckets.
    headers: u64,
    /// Z.
    body_slots: u32,
    max_batch: usize,
    /// The headers read since the last writing, in that order.
    held: Vec<u64>,
    /// Accesses since then.
    unwritten: usize,
    schedule: Schedule,
    off_line: Option<StepState>,
}

impl RawObserver {
    fn has_requested(&self) -> bool {
        self.on_line.on_line.as_ref().is_some_and(|on_line| on_line.requested)
    }

    /// The slots of a body, after its header where that is to be read.
    fn slots(&self, body: u64, with_header: bool) -> impl Iterator<Item = Slot> + use<> {
        let header = with_header.then(|| Slot::only(Bucket(body - self.headers)));
        header.into_iter().chain((0..self.body_slots).map(move |index| Slot { bucket: Bucket(body), index }))
    }

    /// Checks that each bucket is read as a whole, but for headers that are held, and the paths as Path ORAM's.
    fn access(&mut self, slots: &[Slot]) -> Result<(), String> {
        let may_read = matches!(self.off_line, None | Some(StepState::Waiting));
        ensure(may_read, || String::from("an access read during a step"))?;
        let mut bodies: Vec<u64> = slots.iter().map(|slot| slot.bucket.0).collect();
        bodies.retain(|bucket| *bucket >= self.headers);
        bodies.dedup();
        let mut due = Vec::new();
        for body in bodies.iter().copied() {
            let is_held = self.held.contains(&(body - self.headers));
            due.extend(self.slots(body, !is_held));
            if !is_held {
                self.held.push(body - self.headers);
            }
        }
        ensure(slots == due, || format!("read {slots:?}, due are {due:?}"))?;
        self.on_line.held.clear();
        self.on_line.read(&bodies.into_iter().map(|body| Slot::only(Bucket(body))).collect::<Vec<_>>())?;
        let accesses = self.on_line.on_line.as_ref().map_or(0, |on_line| on_line.accesses);
        self.unwritten += accesses;
        self.schedule.accesses += accesses as u64;
        Ok(())
    }

    fn evict(&mut self, read: &[Slot]) -> Result<(), String> {
        ensure(
            self.off_line == Some(StepState::Waiting) && !self.has_requested() && self.unwritten == 0,
            || String::from("a step read out of turn"),
        )?;
        let path = self.schedule.evict(&self.on_line.tree, self.headers)?;
        let due: Vec<Slot> =
            path.iter().skip(1).step_by(2).flat_map(|body| self.slots(*body, true)).collect();
        ensure(read == due, || format!("read {read:?}, due are {due:?}"))?;
        self.off_line = Some(StepState::Reading(path));
        Ok(())
    }

    fn write(&mut self, written: &[u64]) -> Result<(), String> {
        let (due, next) = match self.off_line.take() {
            Some(StepState::MustWrite(path)) => (path, StepState::Writing),
            Some(StepState::Waiting) if !self.has_requested() && self.unwritten > 0 => {
                self.on_line.observations.add("headers written", written.len() as u64);
                (core::mem::take(&mut self.held), StepState::Headers)
            }
            other => return Err(format!("a step wrote out of turn: {other:?}")),
        };
        ensure(written == due, || format!("wrote {written:?}, due are {due:?}"))?;
        self.off_line = Some(next);
        Ok(())
    }

    fn on_quiescent(&self) -> Result<(), String> {
        let works =
            matches!(self.off_line, Some(StepState::Headers | StepState::Reading(_) | StepState::Writing));
        let access_waits =
            |is_waiting_for_store: bool| is_waiting_for_store || (works && !self.has_requested());
        let access =
            self.on_line.on_line.as_ref().is_none_or(|on_line| access_waits(on_line.is_waiting_for_store));
        ensure(access, || String::from("an access waits for nothing"))?;
        let off_line = self.off_line.is_none()
            || works
            || (self.off_line == Some(StepState::Waiting) && self.has_requested());
        ensure(off_line, || String::from("a step waits for nothing"))
    }

    fn answer_step(&mut self) {
        self.off_line = match self.off_line.take() {
            Some(StepState::Reading(path)) => Some(StepState::MustWrite(path)),
            Some(StepState::Headers) => {
                self.unwritten = 0;
                Some(StepState::MustEnd)
            }
            _ => Some(StepState::MustEnd),
        };
    }
}

impl Observer for RawObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => {
                let due = self.schedule.due();
                let all = u64::from(self.unwritten > 0) + due;
                let must = self.unwritten >= self.max_batch || due > 1;
                ensure((*pending_steps, *must_step) == (all, must), || {
                    format!("pending: {pending_steps}, {must_step}; due is {all}, {must}")
                })
            }
            Event::AccessBegins(accesses) => {
                self.on_line.begin_access(*accesses);
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Read(slots)) => self.access(slots),
            Event::StoreRequest(Work::Access, TraceEntry::Write(_)) => Err(String::from("an access wrote")),
            Event::StoreAnswer(Work::Access, _) => {
                if let Some(on_line) = &mut self.on_line.on_line {
                    on_line.is_waiting_for_store = false;
                }
                Ok(())
            }
            Event::Ends(Work::Access) => self.on_line.end_access(),
            Event::StepBegins(_) => {
                let works = self.unwritten > 0 || self.schedule.due() > 0 || self.on_line.on_line.is_some();
                self.off_line = Some(if works { StepState::Waiting } else { StepState::MustEnd });
                Ok(())
            }
            Event::StoreRequest(Work::Step(_), TraceEntry::Read(slots)) => self.evict(slots),
            Event::StoreRequest(Work::Step(_), TraceEntry::Write(buckets)) => {
                self.write(&buckets.iter().map(|bucket| bucket.0).collect::<Vec<_>>())
            }
            Event::StoreAnswer(Work::Step(_), _) => {
                self.answer_step();
                Ok(())
            }
            Event::Ends(Work::Step(_)) => {
                let off_line = self.off_line.take();
                ensure(off_line == Some(StepState::MustEnd), || format!("a step ended while {off_line:?}"))
            }
            Event::Quiescent => self.on_quiescent(),
            Event::ProcessorAction(..) => Err(format!("several processors: {event:?}")),
            Event::Recovers(_) | Event::Yields(_) => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.on_line.observations
    }
}

/// The observer for an adversary that sees writes only: the headers of the paths of accesses, and the paths of
/// evictions.
struct SnapshotObserver {
    bodies: Tree,
    headers: u64,
    schedule: Schedule,
    /// The accesses whose headers were written, and those that the next writing is for.
    written: u64,
    included: u64,
    observations: Observations,
}

impl Observer for SnapshotObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        let buckets = match event {
            Event::AccessBegins(accesses) => {
                self.schedule.accesses += *accesses as u64;
                return Ok(());
            }
            Event::StepBegins(_) => {
                self.included = self.schedule.accesses;
                return Ok(());
            }
            Event::StoreRequest(_, TraceEntry::Write(buckets)) => buckets,
            _ => return Ok(()),
        };
        // The order in which they were written does not show.
        let changed: BTreeSet<u64> = buckets.iter().map(|bucket| bucket.0).collect();
        let accesses = self.included - self.written;
        if accesses == 0 {
            let due: BTreeSet<u64> = self.schedule.evict(&self.bodies, self.headers)?.into_iter().collect();
            return ensure(changed == due, || format!("{changed:?} changed, due were {due:?}"));
        }
        let leaves: BTreeSet<u64> =
            changed.iter().filter_map(|header| self.bodies.leaf(header + self.headers)).collect();
        let bodies = leaves.iter().flat_map(|leaf| self.bodies.apart(*leaf, &[]));
        let due: BTreeSet<u64> = bodies.map(|body| body - self.headers).collect();
        ensure(changed == due && !due.is_empty() && leaves.len() as u64 <= accesses, || {
            format!("{changed:?} changed, which are not the headers of {accesses} paths")
        })?;
        if let (1, Some(leaf)) = (accesses, leaves.first()) {
            self.observations.leaves.push(ShownLeaf { access: Some(self.written as usize), leaf: *leaf });
        }
        self.observations.add("paths written", leaves.len() as u64);
        self.written = self.included;
        Ok(())
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
