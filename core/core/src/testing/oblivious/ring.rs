//! Computes Ring ORAM's public schedule independently: from the parameters and the trace alone.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, Pick, ShownLeaf, draw_below, ensure};
use super::ring_snapshot::SnapshotObserver;
use super::ring_tree::Tree;
use crate::schemes::ring::RingParameters;
use crate::types::{Bucket, Slot};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The observer of a Ring ORAM whose buckets are numbered from 0, from its first access on.
pub fn observer(parameters: &RingParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    let tree = Tree::of(parameters);
    match adversary {
        Adversary::Full => Box::new(FullObserver::new(tree, parameters, seed)),
        Adversary::Snapshot => Box::new(SnapshotObserver::new(tree)),
    }
}

/// The known state of a bucket.
#[derive(Clone, Default)]
struct BucketState {
    written: bool,
    unread: Vec<u32>,
    reads: u32,
    in_flight: bool,
    last_pick: Option<f64>,
}

impl BucketState {
    /// A bucket that was just written.
    fn whole(slots: u32, in_flight: bool) -> Self {
        BucketState { written: true, unread: (0..slots).collect(), reads: 0, in_flight, last_pick: None }
    }
}

/// A batch in flight.
struct OnLine {
    accesses: usize,
    requested: bool,
    is_waiting_for_store: bool,
    /// True if one of the access's possible leaves lies below a bucket that is being read.
    may_meet: bool,
    must_meet: bool,
    /// The round of reads that was open when the access was planned.
    round: u64,
}

#[derive(PartialEq)]
enum Phase {
    /// The work of the step is not decided yet: another step reads, or the buckets that it would read are being
    /// written.
    Waits,
    MustRead,
    Reading,
    MustWrite,
    Writing,
    MustEnd,
}

struct OffLine {
    step: usize,
    /// True for a slice of an eviction, false for a reshuffle.
    evicts: bool,
    reads: Vec<u64>,
    writes: Vec<u64>,
    phase: Phase,
    /// True for the last slice of an eviction, which fills the buckets of its path once these batches are served.
    fills: bool,
    after: u64,
}

struct FullObserver {
    tree: Tree,
    parameters: RingParameters,
    random: ChaCha8Rng,
    buckets: Vec<BucketState>,
    worn: VecDeque<u64>,
    accesses: u64,
    /// The number of slices of evictions so far.
    turns: u64,
    /// The batches in flight, the oldest first, and the number of those that have ended.
    on_line: VecDeque<OnLine>,
    ended: u64,
    off_line: Vec<OffLine>,
    /// The number of groups of evictions' reads so far.
    rounds: u64,
    observations: Observations,
}

impl Observer for FullObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        if self.on_line.back().is_some_and(|on_line| !on_line.requested) && !is_request_of_access(event) {
            // It began and requested nothing: all of its paths must be in flight or never written.
            self.plan(&[])?;
        }
        match event {
            Event::Pending { pending_steps, must_step } => {
                let due = (self.behind() + self.worn.len() as u64, self.must_step());
                ensure((*pending_steps, *must_step) == due, || {
                    format!("pending: {pending_steps}, {must_step}; due is {due:?}")
                })
            }
            Event::AccessBegins(accesses) => {
                ensure(!self.must_step(), || String::from("an access began before a pending step"))?;
                self.accesses += *accesses as u64;
                self.on_line.push_back(OnLine {
                    accesses: *accesses,
                    requested: false,
                    is_waiting_for_store: false,
                    may_meet: false,
                    must_meet: false,
                    round: 0,
                });
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Read(slots)) => self.plan(slots),
            Event::StoreRequest(Work::Access, TraceEntry::Write(_)) => Err(String::from("an access wrote")),
            Event::StoreAnswer(Work::Access, nth) => {
                self.answer_access(*nth);
                Ok(())
            }
            Event::Ends(Work::Access) => self.end_access(),
            Event::StepBegins(step) => {
                let (evicts, reads, writes, phase) = (false, Vec::new(), Vec::new(), Phase::Waits);
                self.off_line.push(OffLine {
                    step: *step,
                    evicts,
                    reads,
                    writes,
                    phase,
                    fills: false,
                    after: 0,
                });
                self.decide();
                Ok(())
            }
            Event::StoreRequest(Work::Step(step), TraceEntry::Read(slots)) => self.evacuate(*step, slots),
            Event::StoreRequest(Work::Step(step), TraceEntry::Write(buckets)) => {
                self.rewrite(*step, &buckets.iter().map(|bucket| bucket.0).collect::<Vec<_>>())?;
                self.decide();
                Ok(())
            }
            Event::StoreAnswer(Work::Step(step), _) => {
                let Some(off_line) = self.off_line.iter_mut().find(|idle| idle.step == *step) else {
                    return Err(String::from("an answer that no work waits for"));
                };
                off_line.phase = match off_line.phase {
                    Phase::Reading if !off_line.writes.is_empty() => Phase::MustWrite,
                    _ => Phase::MustEnd,
                };
                Ok(())
            }
            Event::Ends(Work::Step(step)) => {
                self.end_step(*step)?;
                self.decide();
                Ok(())
            }
            Event::Quiescent => self.rest(),
            Event::Redraws { accesses, buckets } => self.redraw(*accesses, buckets),
            Event::ProcessorAction(..) => Err(format!("several processors: {event:?}")),
            Event::Recovers(_) | Event::Yields(_) => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}

fn is_request_of_access(event: &Event) -> bool {
    matches!(event, Event::StoreRequest(Work::Access, _))
}

impl FullObserver {
    fn new(tree: Tree, parameters: &RingParameters, seed: u64) -> Self {
        FullObserver {
            buckets: vec![BucketState::default(); tree.buckets() as usize],
            tree,
            parameters: parameters.clone(),
            random: ChaCha8Rng::seed_from_u64(seed),
            worn: VecDeque::new(),
            accesses: 0,
            turns: 0,
            on_line: VecDeque::new(),
            ended: 0,
            off_line: Vec::new(),
            rounds: 0,
            observations: Observations::default(),
        }
    }

    /// The store has answered a batch: the one after this many others that wait for it.
    fn answer_access(&mut self, nth: usize) {
        let mut waiting = self.on_line.iter_mut().filter(|on_line| on_line.is_waiting_for_store);
        if let Some(on_line) = waiting.nth(nth) {
            on_line.is_waiting_for_store = false;
        }
    }

    fn behind(&self) -> u64 {
        let due = self.accesses * self.tree.slices() / u64::from(self.parameters.eviction_rate);
        due.saturating_sub(self.turns)
    }

    fn must_step(&self) -> bool {
        // A slice counts until its reads have ended.
        let unfilled = |idle: &OffLine| {
            let reads = matches!(idle.phase, Phase::MustRead | Phase::Reading | Phase::MustWrite);
            idle.evicts && (reads || self.waits_to_fill(idle))
        };
        let late = self.behind() + u64::from(self.off_line.iter().any(unfilled)) > self.tree.slices();
        late || !self.worn.is_empty()
    }

    /// Returns whether an eviction has its reads and waits for batches that began before it.
    fn waits_to_fill(&self, idle: &OffLine) -> bool {
        let has_reads = matches!(idle.phase, Phase::MustWrite | Phase::MustEnd);
        has_reads && idle.fills && self.ended < idle.after
    }

    fn shape(&self, bucket: u64) -> (u32, u32) {
        let of = if self.tree.level(bucket) == self.tree.leaf_level {
            self.parameters.leaf
        } else {
            self.parameters.inner
        };
        (of.blocks, of.slots)
    }

    /// The leaves of which an access that reads now shows just these buckets: they lie below the last of them.
    fn leaves_showing(&self, shown: &[u64]) -> Vec<u64> {
        let visible = |bucket: &u64| {
            let observed = &self.buckets[*bucket as usize];
            observed.written && !observed.in_flight
        };
        let leaves = shown.last().map_or(0..self.tree.leaves(), |last| self.tree.below(*last));
        leaves.filter(|leaf| self.tree.path(*leaf).filter(visible).eq(shown.iter().copied())).collect()
    }

    fn is_being_read(&self, bucket: u64) -> bool {
        self.off_line.iter().any(|idle| idle.phase == Phase::Reading && idle.reads.contains(&bucket))
    }

    /// Returns whether the reads of this round are still in flight.
    fn is_open(&self, round: u64) -> bool {
        round == self.rounds && self.off_line.iter().any(|idle| idle.phase == Phase::Reading)
    }

    /// The reads of a batch: for each access one unread slot of every visible bucket of one path.
    fn plan(&mut self, slots: &[Slot]) -> Result<(), String> {
        let Some(on_line) = self.on_line.back_mut().filter(|on_line| !on_line.requested) else {
            return Err(String::from("a second read for one batch"));
        };
        on_line.requested = true;
        on_line.is_waiting_for_store = !slots.is_empty();
        let accesses = on_line.accesses;
        let mut groups = self.groups(slots);
        ensure(groups.len() <= accesses, || format!("{} paths for {accesses} accesses", groups.len()))?;
        // An access shows nothing if all of its path is invisible. The trace does not show the places of these accesses
        // in the batch either: any places, with equal probability.
        while groups.len() < accesses {
            let at = draw_below(&mut self.random, groups.len() + 1);
            groups.insert(at, Vec::new());
        }
        let first = self.observations.leaves.len();
        let (mut may_meet, mut must_meet) = (false, false);
        for group in &groups {
            let shown: Vec<u64> = group.iter().map(|slot| slot.bucket.0).collect();
            let cell = self.leaves_showing(&shown);
            ensure(!cell.is_empty(), || format!("buckets {shown:?} are not the visible ones of a path"))?;
            let meets = |leaf: &u64| self.tree.path(*leaf).any(|bucket| self.is_being_read(bucket));
            may_meet |= cell.iter().any(meets);
            must_meet |= cell.iter().all(meets);
            let leaf = cell[draw_below(&mut self.random, cell.len())];
            let access = Some(self.observations.leaves.len());
            self.observations.leaves.push(ShownLeaf { access, leaf });
        }
        for (nth, slot) in
            groups.iter().enumerate().flat_map(|(nth, group)| group.iter().map(move |slot| (nth, slot)))
        {
            self.take(*slot, Some(first + nth))?;
        }
        self.observations.add("slots read on line", slots.len() as u64);
        if let Some(on_line) = self.on_line.back_mut() {
            (on_line.may_meet, on_line.must_meet, on_line.round) = (may_meet, must_meet, self.rounds);
        }
        Ok(())
    }

    /// Returns the slots, grouped by path. The buckets of a path lie below one another, and the next path begins
    /// elsewhere.
    fn groups(&self, slots: &[Slot]) -> Vec<Vec<Slot>> {
        let mut groups: Vec<Vec<Slot>> = Vec::new();
        for slot in slots {
            let goes_on = groups.last().and_then(|group| group.last()).is_some_and(|last| {
                let (upper, lower) = (self.tree.below(last.bucket.0), self.tree.below(slot.bucket.0));
                upper.start <= lower.start && lower.end <= upper.end && upper != lower
            });
            match groups.last_mut() {
                Some(group) if goes_on => group.push(*slot),
                _ => groups.push(vec![*slot]),
            }
        }
        groups
    }

    /// An access reads a slot: it must not have been read since its bucket was written.
    fn take(&mut self, slot: Slot, access: Option<usize>) -> Result<(), String> {
        let level = self.tree.level(slot.bucket.0);
        let observed = &mut self.buckets[slot.bucket.0 as usize];
        let Ok(rank) = observed.unread.binary_search(&slot.index) else {
            return Err(format!("{slot} was read twice"));
        };
        let at = (rank, observed.unread.len());
        let pick = Pick::of(&mut self.random, access, level, at, observed.last_pick);
        observed.unread.remove(rank);
        observed.reads += 1;
        observed.last_pick = Some(pick.value);
        self.observations.picks.push(pick);
        if observed.reads == self.parameters.reads - self.parameters.max_batch + 1 {
            self.worn.push_back(slot.bucket.0);
        }
        Ok(())
    }

    fn end_access(&mut self) -> Result<(), String> {
        let Some(on_line) = self.on_line.pop_front() else {
            return Err(String::from("an access ended that had not begun"));
        };
        self.ended += 1;
        ensure(!on_line.is_waiting_for_store, || String::from("an access ended before its reads"))?;
        ensure(!(on_line.must_meet && self.is_open(on_line.round)), || {
            String::from("an access did not wait for an eviction's reads")
        })
    }

    /// Returns whether a step can choose its work: no other step reads, and at most one rewrite is in flight, outside
    /// of the next slice.
    fn can_decide(&self) -> bool {
        let reads = |idle: &OffLine| {
            matches!(idle.phase, Phase::MustRead | Phase::Reading | Phase::MustWrite)
                || self.waits_to_fill(idle)
        };
        let next = self.tree.reads(self.turns);
        let written: Vec<&OffLine> = self
            .off_line
            .iter()
            .filter(|idle| matches!(idle.phase, Phase::Writing | Phase::MustEnd))
            .collect();
        let is_in_the_way = |idle: &&OffLine| idle.writes.iter().any(|bucket| next.contains(bucket));
        !self.off_line.iter().any(reads) && written.len() < 2 && !written.iter().any(is_in_the_way)
    }

    /// Decides which buckets come next: those that were read too often, then the slices whose turn it is.
    fn decide(&mut self) {
        let Some(waits) = self.off_line.iter().position(|idle| idle.phase == Phase::Waits) else { return };
        if !self.can_decide() {
            return;
        }
        let mut evicts = false;
        let (reads, writes) = if let Some(bucket) = self.worn.pop_front() {
            self.observations.add("early reshuffles", 1);
            (vec![bucket], vec![bucket])
        } else if self.behind() > 0 {
            self.turns += 1;
            evicts = true;
            (self.tree.reads(self.turns - 1), self.tree.writes(self.turns - 1))
        } else {
            (Vec::new(), Vec::new())
        };
        let fetches = reads.iter().any(|bucket| self.evacuated(*bucket) > 0);
        let phase = match (writes.is_empty(), fetches) {
            (_, true) => Phase::MustRead,
            (true, false) => Phase::MustEnd,
            (false, false) => Phase::MustWrite,
        };
        // From now on an access skips them, until they are written: by this step, or by one of the next eviction.
        for bucket in &reads {
            self.buckets[*bucket as usize].in_flight = true;
        }
        let (step, after) = (self.off_line[waits].step, self.ended + self.on_line.len() as u64);
        let fills = evicts && self.turns.is_multiple_of(self.tree.slices());
        self.off_line[waits] = OffLine { step, evicts, reads, writes, phase, fills, after };
    }

    fn step(&mut self, step: usize, phase: Phase) -> Option<&mut OffLine> {
        self.off_line.iter_mut().find(|idle| idle.step == step && idle.phase == phase)
    }

    /// The number of slots that an eviction reads from a bucket: Z, or as many as are unread.
    fn evacuated(&self, bucket: u64) -> usize {
        let observed = &self.buckets[bucket as usize];
        if observed.written { observed.unread.len().min(self.shape(bucket).0 as usize) } else { 0 }
    }

    fn evacuate(&mut self, step: usize, slots: &[Slot]) -> Result<(), String> {
        let Some(off_line) = self.step(step, Phase::MustRead) else {
            return Err(String::from("a step read out of turn"));
        };
        off_line.phase = Phase::Reading;
        let buckets = off_line.reads.clone();
        self.rounds += 1;
        let mut rest = slots;
        for bucket in buckets {
            let due = self.evacuated(bucket);
            let split = rest.iter().position(|slot| slot.bucket.0 != bucket).unwrap_or(rest.len());
            let (here, others) = rest.split_at(split);
            rest = others;
            ensure(here.len() == due, || format!("{} slots of bucket {bucket}, due are {due}", here.len()))?;
            ensure(here.is_sorted_by_key(|slot| slot.index), || String::from("slots out of order"))?;
            if here.is_empty() {
                continue;
            }
            let level = self.tree.level(bucket);
            let observed = &self.buckets[bucket as usize];
            let ranks: Result<Vec<usize>, _> =
                here.iter().map(|slot| observed.unread.binary_search(&slot.index)).collect();
            let Ok(mut ranks) = ranks else {
                return Err(format!("an eviction read a slot of bucket {bucket} twice"));
            };
            ranks.dedup();
            ensure(ranks.len() == due, || format!("an eviction asked twice for a slot of bucket {bucket}"))?;
            // Any pick out of a uniform choice of several is a uniform choice.
            let rank = ranks[draw_below(&mut self.random, ranks.len())];
            let at = (rank, observed.unread.len());
            self.observations.picks.push(Pick::of(&mut self.random, None, level, at, observed.last_pick));
        }
        self.observations.add("slots read off line", slots.len() as u64);
        ensure(rest.is_empty(), || format!("an eviction read {} slots too many", rest.len()))
    }

    fn rewrite(&mut self, step: usize, buckets: &[u64]) -> Result<(), String> {
        let is_early = self.off_line.iter().any(|idle| idle.step == step && self.waits_to_fill(idle));
        let Some(off_line) = self.step(step, Phase::MustWrite) else {
            return Err(String::from("a step wrote out of turn"));
        };
        ensure(!is_early, || String::from("an eviction wrote before the batches before it were served"))?;
        off_line.phase = Phase::Writing;
        ensure(off_line.writes == buckets, || format!("wrote {buckets:?}, due are {:?}", off_line.writes))?;
        for bucket in buckets {
            self.buckets[*bucket as usize] = BucketState::whole(self.shape(*bucket).1, true);
        }
        self.observations.add("buckets written", buckets.len() as u64);
        Ok(())
    }

    /// Every block got a new position, and every bucket that exists was written, in the order of the numbers.
    fn redraw(&mut self, accesses: u64, buckets: &[Bucket]) -> Result<(), String> {
        (self.accesses, self.turns) = (accesses, 0);
        (self.on_line, self.off_line, self.worn) = Default::default();
        self.turns = self.behind();
        let (exist, held) = (self.tree.written(self.turns), self.tree.held(self.turns));
        ensure(buckets.iter().map(|bucket| bucket.0).eq(exist.iter().copied()), || {
            format!("a redraw after {accesses} accesses wrote {buckets:?}, there are {exist:?}")
        })?;
        self.buckets.fill(BucketState::default());
        for bucket in exist {
            self.buckets[bucket as usize] = BucketState::whole(self.shape(bucket).1, held.contains(&bucket));
        }
        Ok(())
    }

    fn end_step(&mut self, step: usize) -> Result<(), String> {
        let Some(at) =
            self.off_line.iter().position(|idle| idle.step == step && idle.phase == Phase::MustEnd)
        else {
            return Err(String::from("a step ended out of turn"));
        };
        ensure(!self.waits_to_fill(&self.off_line[at]), || {
            String::from("an eviction ended before the batches before it were served")
        })?;
        for bucket in self.off_line.remove(at).writes {
            self.buckets[bucket as usize].in_flight = false;
        }
        Ok(())
    }

    /// Checks that no work is left that could continue.
    fn rest(&mut self) -> Result<(), String> {
        let may_wait = |idle: &OffLine| match idle.phase {
            Phase::Reading | Phase::Writing => true,
            Phase::Waits => !self.can_decide(),
            Phase::MustRead | Phase::MustWrite | Phase::MustEnd => self.waits_to_fill(idle),
        };
        ensure(self.off_line.iter().all(may_wait), || String::from("a step waits for nothing"))?;
        let access_may_wait = self.on_line.front().is_none_or(|on_line| {
            on_line.is_waiting_for_store || (on_line.may_meet && self.is_open(on_line.round))
        });
        ensure(access_may_wait, || String::from("an access waits for nothing"))
    }
}
