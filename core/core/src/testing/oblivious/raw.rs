//! RAW ORAM's public schedule, computed a second time. On line it has the paths of Path ORAM, and off line their
//! headers. After every A accesses it has the next path in the order of evictions.

use super::super::driver::Event;
use super::alternating::{AlternatingObserver, AlternatingSchedule, InFlight};
use super::observer::{Adversary, Observations, Observer, ShownLeaf, ensure, written_buckets};
use super::path::{FullObserver, Tree};
use super::reverse_bits::reverse_bits;
use crate::schemes::raw::RawParameters;
use crate::types::{Bucket, Slot};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The observer of a RAW ORAM with a flat position map, from its first access on. The driver must have one access and
/// one step at a time.
pub fn observer(parameters: &RawParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    let (leaf_level, top) = (parameters.leaf_level.0, parameters.top.0);
    let headers = (2 << leaf_level) - (1 << top);
    let bodies = Tree { leaf_level, top, first: headers };
    let schedule = Schedule { rate: parameters.eviction_rate.into(), accesses: 0, evictions: 0 };
    match adversary {
        // Path ORAM's observer is for bodies: no path is held from one batch to the next.
        Adversary::Full => {
            let in_flight = RawSchedule {
                headers,
                body_slots: parameters.blocks_per_bucket,
                max_batch: parameters.max_batch as usize,
                held: Vec::new(),
                unwritten: 0,
                writes_headers: false,
                schedule,
            };
            Box::new(AlternatingObserver::new(bodies, seed, in_flight))
        }
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

struct RawSchedule {
    /// The number of headers: they are the first buckets.
    headers: u64,
    /// Z.
    body_slots: u32,
    max_batch: usize,
    /// The headers read since the last writing, in that order.
    held: Vec<u64>,
    /// The number of accesses since then.
    unwritten: usize,
    /// True while a step writes headers.
    writes_headers: bool,
    schedule: Schedule,
}

impl RawSchedule {
    /// The slots of a body, after its header where that is to be read.
    fn slots(&self, body: u64, with_header: bool) -> impl Iterator<Item = Slot> + use<> {
        let header = with_header.then(|| Slot::only(Bucket(body - self.headers)));
        header.into_iter().chain((0..self.body_slots).map(move |index| Slot { bucket: Bucket(body), index }))
    }
}

impl AlternatingSchedule for RawSchedule {
    fn due(&self) -> (u64, bool) {
        let due = self.schedule.due();
        (u64::from(self.unwritten > 0) + due, self.unwritten >= self.max_batch || due > 1)
    }

    /// Checks that each bucket is read as a whole, except held headers. Checks the paths as Path ORAM's.
    fn access(&mut self, in_flight: &mut InFlight, slots: &[Slot]) -> Result<(), String> {
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
        in_flight.on_line.held.clear();
        in_flight
            .on_line
            .read(&bodies.into_iter().map(|body| Slot::only(Bucket(body))).collect::<Vec<_>>())?;
        let accesses = in_flight.accesses();
        self.unwritten += accesses;
        self.schedule.accesses += accesses as u64;
        Ok(())
    }

    fn evict(&mut self, tree: &Tree, read: &[Slot]) -> Result<Vec<u64>, String> {
        ensure(self.unwritten == 0, || String::from("a step read out of turn"))?;
        let path = self.schedule.evict(tree, self.headers)?;
        let due: Vec<Slot> =
            path.iter().skip(1).step_by(2).flat_map(|body| self.slots(*body, true)).collect();
        ensure(read == due, || format!("read {read:?}, due are {due:?}"))?;
        Ok(path)
    }

    fn take_due_without_reading(&mut self) -> Option<Vec<u64>> {
        self.writes_headers = self.unwritten > 0;
        self.writes_headers.then(|| core::mem::take(&mut self.held))
    }

    fn on_write(&mut self, on_line: &mut FullObserver, buckets: &[u64]) {
        if self.writes_headers {
            on_line.observations.add("headers written", buckets.len() as u64);
        }
    }

    fn on_written(&mut self) {
        if core::mem::take(&mut self.writes_headers) {
            self.unwritten = 0;
        }
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
        match event {
            Event::AccessBegins(accesses) => self.schedule.accesses += *accesses as u64,
            Event::StepBegins(_) => self.included = self.schedule.accesses,
            _ => {}
        }
        let Some(changed) = written_buckets(event) else { return Ok(()) };
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
