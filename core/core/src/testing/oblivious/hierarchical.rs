//! Hierarchical ORAM's public schedule. The buffers are read whole and appended to. One bucket of each level that holds
//! something is read. A rebuild of a level is the same each time.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, Pick, ensure};
use super::sorting::{self, buckets, slots};
use crate::schemes::hierarchical::{HierarchicalParameters, LevelShape};
use crate::types::Slot;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The observer of a hierarchical ORAM whose buckets are numbered from 0.
pub fn observer(parameters: &HierarchicalParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    Box::new(HierarchicalObserver {
        parameters: parameters.clone(),
        levels: parameters.levels(),
        adversary,
        random: ChaCha8Rng::seed_from_u64(seed),
        epoch: Epoch { number: 1, ..Epoch::default() },
        access: VecDeque::new(),
        rebuild: None,
        observed: BTreeMap::new(),
        observations: Observations::default(),
    })
}

/// An operation of an access that is due.
#[derive(Debug)]
enum Due {
    /// Exactly this.
    Exactly(TraceEntry),
    /// A whole bucket of this level for each of the accesses.
    Buckets(usize),
}

/// A rebuild in flight: the step that carries it out, its level, and what is due of it.
struct Rebuilt {
    nth: usize,
    level: usize,
    due: VecDeque<TraceEntry>,
}

#[derive(Default)]
struct Epoch {
    number: u64,
    /// The number of accesses that are in the buffer, or on their way to it.
    accesses: u64,
    /// The number of copies in the other buffer.
    sinking: u64,
    /// The number of accesses before this epoch.
    before: u64,
    /// The levels that hold something.
    full: Vec<usize>,
    /// The number of rebuilds of the last level so far.
    last_rebuilt: u64,
}

// Wide: it keeps everything that the scheme keeps.
struct HierarchicalObserver {
    parameters: HierarchicalParameters,
    levels: Vec<LevelShape>,
    adversary: Adversary,
    random: ChaCha8Rng,
    epoch: Epoch,
    access: VecDeque<Due>,
    rebuild: Option<Rebuilt>,
    /// The bucket that was shown last for each level and each access of an epoch, by its place in the epoch.
    observed: BTreeMap<(usize, u64), f64>,
    observations: Observations,
}

impl HierarchicalObserver {
    fn buffer_slots(&self) -> u64 {
        self.parameters.buffer.into()
    }

    fn is_full(&self) -> bool {
        self.epoch.accesses + u64::from(self.parameters.max_batch) > self.buffer_slots()
    }

    /// The first slots of the buffer of an epoch.
    fn buffer(&self, epoch: u64, copies: Range<u64>) -> Range<u64> {
        let second = self.parameters.spread && epoch % 2 == 1;
        let first = if second { self.buffer_slots() } else { 0 };
        first + copies.start..first + copies.end
    }

    fn last(&self) -> usize {
        self.levels.len() - 1
    }

    /// The first bucket of a level's table: of the table in use, or of the other one.
    fn table(&self, level: usize, in_use: bool) -> u64 {
        let first: u64 = self.levels[..level].iter().map(|above| above.buckets + above.blocks).sum();
        let is_second =
            self.parameters.spread && level == self.last() && (self.epoch.last_rebuilt % 2 == 1) == in_use;
        let buffers = self.buffer_slots() << u64::from(self.parameters.spread);
        buffers + first + if is_second { self.levels[level].buckets } else { 0 }
    }

    /// The places of a level's list.
    fn list(&self, level: usize) -> Range<u64> {
        let both = self.parameters.spread && level == self.last();
        let buffers = self.buffer_slots() << u64::from(self.parameters.spread);
        let above: u64 = self.levels[..level].iter().map(|above| above.buckets + above.blocks).sum();
        let first = buffers + above + (self.levels[level].buckets << u64::from(both));
        first..first + self.levels[level].blocks
    }

    fn begin_access(&mut self, accesses: usize) {
        if accesses == 0 {
            return;
        }
        let Epoch { number, accesses: held, sinking, .. } = self.epoch;
        let older = self.buffer(number + 1, 0..sinking);
        let copies = older.chain(self.buffer(number, 0..held));
        let copies = slots(copies);
        if !copies.is_empty() {
            self.access.push_back(Due::Exactly(TraceEntry::Read(copies)));
        }
        self.epoch.full.sort_unstable();
        self.access.extend(self.epoch.full.iter().map(|level| Due::Buckets(*level)));
        let written = self.buffer(number, held..held + accesses as u64);
        self.access.push_back(Due::Exactly(TraceEntry::Write(buckets(written))));
        self.epoch.accesses += accesses as u64;
    }

    fn begin_rebuild(&mut self, nth: usize) {
        let epoch = &mut self.epoch;
        let level = (epoch.number.trailing_zeros() as usize).min(self.levels.len() - 1);
        epoch.sinking = mem::take(&mut epoch.accesses);
        epoch.before += epoch.sinking;
        epoch.number += 1;
        let due = self.rebuild_of(level).into();
        self.rebuild = Some(Rebuilt { nth, level, due });
    }

    /// Returns what a rebuild of a level shows.
    fn rebuild_of(&self, level: usize) -> Vec<TraceEntry> {
        let run = u64::from(self.parameters.run_blocks);
        let area = self.list(self.last()).end;
        let LevelShape { blocks, buckets: bins, slots: room, .. } = self.levels[level];
        let room = u64::from(room);
        let sorts = |records: u64| sorting::sort(area, records.div_ceil(run), run);
        let mut trace = Vec::new();
        let mut to = area;
        let mut load_payload = |from: Range<u64>, trace: &mut Vec<TraceEntry>| {
            copy(from.clone(), to, run, trace);
            to += from.end - from.start;
        };
        load_payload(self.buffer(self.epoch.number - 1, 0..self.buffer_slots()), &mut trace);
        (0..level).for_each(|above| load_payload(self.list(above), &mut trace));
        if level == self.last() {
            load_payload(self.list(level), &mut trace);
        }
        let records = to - area;
        trace.extend(sorts(records));
        if level == self.last() {
            trace.extend(sorts(records));
        }
        copy(area..area + blocks, self.list(level).start, run, &mut trace);
        copy(self.list(level), area, run, &mut trace);
        trace.extend(sorts(blocks + bins * room));
        trace.extend(sorts(blocks + bins * room));
        let table = self.table(level, false);
        for first in (0..bins).step_by((run / room) as usize) {
            let end = bins.min(first + run / room);
            trace.push(TraceEntry::Read(slots(area + first * room..area + end * room)));
            trace.push(TraceEntry::Write(buckets(table + first..table + end)));
        }
        trace
    }

    fn end_rebuild(&mut self, level: usize) {
        self.epoch.sinking = 0;
        self.epoch.full.retain(|other| *other > level);
        self.epoch.full.push(level);
        self.epoch.last_rebuilt += u64::from(level == self.last());
        self.rebuild = None;
    }

    /// Records the buckets that were read of a level: each a choice among all.
    fn choose(&mut self, level: usize, read: &[Slot]) -> Result<(), String> {
        let LevelShape { buckets, slots, .. } = self.levels[level];
        let first = self.table(level, true);
        let begun = (self.epoch.before + self.epoch.accesses) as usize - read.len() / slots as usize;
        ensure(read.len().is_multiple_of(slots as usize), || format!("read {read:?} of level {level}"))?;
        for (nth, bucket) in read.chunks_exact(slots as usize).enumerate() {
            let is_whole =
                (0..slots).zip(bucket).all(|(index, slot)| *slot == Slot { bucket: bucket[0].bucket, index });
            let rank = bucket[0].bucket.0.checked_sub(first).filter(|rank| is_whole && *rank < buckets);
            let rank =
                rank.ok_or_else(|| format!("read {bucket:?}, which is not a bucket of level {level}"))?;
            let access = begun + nth;
            let at = (rank as usize, buckets as usize);
            let mut pick = Pick::of(&mut self.random, Some(access), level as u32, at, None);
            pick.before = self.observed.insert((level, access as u64 - self.epoch.before), pick.value);
            self.observations.picks.push(pick);
        }
        Ok(())
    }

    fn accessed(&mut self, entry: &TraceEntry) -> Result<(), String> {
        match (self.access.pop_front(), entry) {
            (Some(Due::Exactly(due)), entry) if due == *entry => Ok(()),
            (Some(Due::Buckets(level)), TraceEntry::Read(read)) => self.choose(level, read),
            (due, entry) => Err(format!("asked for {entry:?}, due is {due:?}")),
        }
    }

    fn rebuilt(&mut self, nth: usize, entry: &TraceEntry) -> Result<(), String> {
        if self.rebuild.is_none() {
            ensure(self.is_full() && self.access.is_empty(), || format!("a rebuild begins with {entry:?}"))?;
            self.begin_rebuild(nth);
        }
        if self.adversary == Adversary::Snapshot && matches!(entry, TraceEntry::Read(_)) {
            return Ok(());
        }
        let rebuild = self.rebuild.as_mut().filter(|rebuild| rebuild.nth == nth);
        let rebuild = rebuild.ok_or_else(|| String::from("two rebuilds at once"))?;
        if self.adversary == Adversary::Snapshot {
            while matches!(rebuild.due.front(), Some(TraceEntry::Read(_))) {
                rebuild.due.pop_front();
            }
        }
        let due = rebuild.due.pop_front();
        ensure(due.as_ref() == Some(entry), || format!("asked for {entry:?}, due is {due:?}"))
    }

    fn ended(&mut self, work: Work) -> Result<(), String> {
        match (work, &self.rebuild) {
            (Work::Access, _) => {
                let is_left = !self.access.is_empty();
                ensure(!is_left, || format!("an access ended early: {:?} are due", self.access))
            }
            (Work::Step(nth), Some(rebuild)) if rebuild.nth == nth => {
                ensure(rebuild.due.is_empty(), || String::from("a rebuild ended early"))?;
                self.end_rebuild(rebuild.level);
                Ok(())
            }
            (Work::Step(_), _) => ensure(!self.is_full(), || String::from("a rebuild was left out")),
        }
    }
}

/// The copies of a range to the places from `to` on.
fn copy(from: Range<u64>, to: u64, run: u64, trace: &mut Vec<TraceEntry>) {
    for first in from.clone().step_by(run as usize) {
        let end = from.end.min(first + run);
        trace.push(TraceEntry::Read(slots(first..end)));
        trace.push(TraceEntry::Write(buckets(to + first - from.start..to + end - from.start)));
    }
}

impl Observer for HierarchicalObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => {
                let is_pending = self.is_full() || self.rebuild.is_some();
                let must = self.is_full() || !self.parameters.spread && self.rebuild.is_some();
                ensure((*pending_steps, *must_step) == (u64::from(is_pending), must), || {
                    format!("pending: {pending_steps}, {must_step}")
                })
            }
            Event::AccessBegins(accesses) => {
                ensure(!self.is_full(), || String::from("an access begins that has no room"))?;
                self.begin_access(*accesses);
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Read(_))
                if self.adversary == Adversary::Snapshot =>
            {
                Ok(())
            }
            Event::StoreRequest(Work::Access, entry) => {
                if self.adversary == Adversary::Snapshot {
                    self.access.retain(|due| matches!(due, Due::Exactly(TraceEntry::Write(_))));
                }
                self.accessed(entry)
            }
            Event::StoreRequest(Work::Step(nth), entry) => self.rebuilt(*nth, entry),
            Event::Ends(work) => self.ended(*work),
            Event::ProcessorAction(..) | Event::Redraws { .. } => {
                Err(format!("not of this scheme: {event:?}"))
            }
            Event::StepBegins(_)
            | Event::StoreAnswer(..)
            | Event::Quiescent
            | Event::Recovers(_)
            | Event::Yields(_) => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
