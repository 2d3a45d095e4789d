//! Computes the public schedule of partitions independently: from the parameters and the trace alone.

mod levels;
mod sub_orams;
mod trees;

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, ShownLeaf, draw_below, ensure};
use crate::partitions::PartitionsParameters;
use crate::schemes::curious::CuriousParameters;
use crate::schemes::oblivistore::ObliviStoreParameters;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use sub_orams::{Shown, SubOrams};

/// The observer of a CURIOUS, whose buckets are numbered from 0. The leaves of all its trees have consecutive numbers.
pub fn curious(parameters: &CuriousParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    observer(&parameters.partitions, trees::Trees::new(parameters), adversary, seed)
}

/// The observer of an ObliviStore, whose buckets are numbered from 0. Its partitions pass for leaves.
pub fn oblivistore(parameters: &ObliviStoreParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    observer(&parameters.partitions, levels::Partitions::new(parameters), adversary, seed)
}

fn observer<K: SubOrams + 'static>(
    parameters: &PartitionsParameters,
    sub_orams: K,
    adversary: Adversary,
    seed: u64,
) -> Box<dyn Observer> {
    let random = ChaCha8Rng::seed_from_u64(seed);
    let partitions = parameters.partitions as usize;
    match adversary {
        Adversary::Full => Box::new(FullObserver {
            sub_orams,
            parameters: parameters.clone(),
            random,
            states: vec![PartitionState::default(); partitions],
            waiting_for_store: BTreeMap::new(),
            access: None,
            steps: Vec::new(),
            pending_puts: 0,
            begun: 0,
            swept: 0,
            accesses: 0,
            observations: Observations::default(),
        }),
        Adversary::Snapshot => Box::new(SnapshotObserver {
            sub_orams,
            random,
            written: Vec::new(),
            observations: Observations::default(),
        }),
    }
}

/// An operation at a partition: the read of a take, the read of a put, and its write.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Take,
    Drain,
    Fill,
}

/// The state of a partition, as far as the trace shows it.
#[derive(Clone, Default)]
struct PartitionState {
    /// True if the last take has no put yet.
    has_pending_put: bool,
    /// The work whose operation is in flight here.
    busy: Option<(Work, Step)>,
    /// The work whose put has read and must write.
    drained: Option<Work>,
    /// True if an operation ended here since all rested.
    freed: bool,
    /// True if the access in flight has put here: it must take.
    must_take: bool,
    /// The number of the sweep's evictions that the step must still make in this partition.
    sweeps: u64,
}

struct OnLine {
    accesses: usize,
    /// True until all rests.
    begins: bool,
    /// The partition and the leaf of each take, in order.
    takes: Vec<(usize, u64)>,
    /// The partitions that the access came to when it began, in order.
    at_once: Vec<usize>,
}

struct OffLine {
    nth: usize,
    /// The partitions that must be put to before it ends, because of a take.
    pending_puts: Vec<usize>,
    begins: bool,
}

struct FullObserver<K> {
    sub_orams: K,
    parameters: PartitionsParameters,
    random: ChaCha8Rng,
    states: Vec<PartitionState>,
    /// The partitions at which each task waits for the store, in the order of the requests.
    waiting_for_store: BTreeMap<usize, Vec<usize>>,
    access: Option<OnLine>,
    /// The steps in flight, the oldest first: only that one works.
    steps: Vec<OffLine>,
    /// The number of takes whose put has not finished.
    pending_puts: usize,
    /// The number of accesses that were begun.
    begun: u64,
    /// The number of evictions of the sweep that were begun.
    swept: u64,
    /// The number of accesses that ended.
    accesses: usize,
    observations: Observations,
}

/// A number for each task.
fn number(work: Work) -> usize {
    match work {
        Work::Access => 0,
        Work::Step(nth) => nth + 1,
    }
}

impl<K: SubOrams> FullObserver<K> {
    /// Returns the number of evictions of the sweep that are due.
    fn due(&self) -> u64 {
        let all = self.begun * u64::from(self.parameters.sweep_evictions);
        (all / u64::from(self.parameters.sweep_accesses)).saturating_sub(self.swept)
    }

    /// Lets the oldest step begin to work.
    fn begin_step(&mut self) {
        if self.steps.is_empty() {
            return;
        }
        let due = self.due();
        for nth in self.swept..self.swept + due {
            let at = (nth % self.states.len() as u64) as usize;
            self.states[at].sweeps += 1;
        }
        self.swept += due;
        let has_pending_put = |partition: &PartitionState| {
            partition.has_pending_put || matches!(partition.busy, Some((Work::Access, _)))
        };
        let pending_puts = (0..self.states.len()).filter(|at| has_pending_put(&self.states[*at])).collect();
        (self.steps[0].pending_puts, self.steps[0].begins) = (pending_puts, true);
    }

    /// Checks that an operation at a partition came as soon as it could.
    fn visit(&mut self, work: Work, at: usize) -> Result<(), String> {
        let partition = &self.states[at];
        ensure(partition.busy.is_none(), || format!("partition {at} is worked on by two at a time"))?;
        let begins = match work {
            Work::Access => {
                let Some(on_line) = &mut self.access else {
                    return Err(String::from("an operation without an access"));
                };
                if on_line.begins && !on_line.at_once.contains(&at) {
                    on_line.at_once.push(at);
                }
                on_line.begins
            }
            Work::Step(nth) => {
                let off_line = self.steps.first().filter(|off_line| off_line.nth == nth);
                off_line.ok_or_else(|| String::from("a step works out of turn"))?.begins
            }
        };
        ensure(begins || partition.freed, || format!("an operation at partition {at} was late"))
    }

    fn requested(&mut self, work: Work, entry: &TraceEntry) -> Result<(), String> {
        let (buckets, reads) = match entry {
            TraceEntry::Read(slots) => (slots.iter().map(|slot| slot.bucket.0).collect::<Vec<u64>>(), true),
            TraceEntry::Write(buckets) => (buckets.iter().map(|bucket| bucket.0).collect(), false),
        };
        let first = *buckets.first().ok_or_else(|| format!("{work:?} asked for nothing"))?;
        let at = self.sub_orams.partition(first);
        self.visit(work, at)?;
        let partition = &mut self.states[at];
        let mut shown = Shown { random: &mut self.random, picks: &mut self.observations.picks };
        let puts = partition.has_pending_put || (work != Work::Access && partition.sweeps > 0);
        let step = if reads
            && work == Work::Access
            && !partition.has_pending_put
            && partition.drained.is_none()
        {
            let leaf = self.sub_orams.take(at, &buckets, &mut shown)?;
            if let Some(on_line) = &mut self.access {
                on_line.takes.push((at, leaf));
                ensure(on_line.takes.len() <= on_line.accesses, || String::from("more takes than accesses"))?;
            }
            partition.must_take = false;
            Step::Take
        } else if reads {
            ensure(puts && self.sub_orams.drains(at), || format!("a read of partition {at} was not due"))?;
            self.sub_orams.drain(at, &buckets, &mut shown)?;
            Step::Drain
        } else {
            let may = match partition.drained.take() {
                Some(by) => by == work,
                None => puts && !self.sub_orams.drains(at),
            };
            ensure(may, || format!("a write of partition {at} was not due"))?;
            self.sub_orams.fill(at, &buckets, true)?;
            partition.must_take |= work == Work::Access;
            Step::Fill
        };
        partition.busy = Some((work, step));
        self.waiting_for_store.entry(number(work)).or_default().push(at);
        Ok(())
    }

    fn answered(&mut self, work: Work, nth: usize) -> Result<(), String> {
        let waiting_for_store = self
            .waiting_for_store
            .get_mut(&number(work))
            .filter(|waiting_for_store| nth < waiting_for_store.len());
        let at = waiting_for_store
            .ok_or_else(|| format!("{work:?} was answered what it did not ask"))?
            .remove(nth);
        let partition = &mut self.states[at];
        partition.freed = true;
        match partition.busy.take().map(|(_, step)| step) {
            Some(Step::Take) => partition.has_pending_put = true,
            Some(Step::Drain) => partition.drained = Some(work),
            Some(Step::Fill) if partition.has_pending_put => {
                partition.has_pending_put = false;
                self.pending_puts -= 1;
                for off_line in &mut self.steps {
                    off_line.pending_puts.retain(|other| *other != at);
                }
            }
            Some(Step::Fill) => partition.sweeps = partition.sweeps.saturating_sub(1),
            None => return Err(String::from("nothing was asked there")),
        }
        Ok(())
    }

    fn on_quiescent(&mut self) -> Result<(), String> {
        if let Some(on_line) = &mut self.access {
            on_line.begins = false;
            let others =
                self.states.iter().any(|partition| matches!(partition.busy, Some((Work::Step(_), _))));
            let asks =
                self.waiting_for_store.get(&0).is_some_and(|waiting_for_store| !waiting_for_store.is_empty());
            let may_wait = asks || (others && on_line.takes.len() < on_line.accesses);
            ensure(may_wait, || String::from("an access waits for nothing"))?;
        }
        let steps = !self.steps.is_empty();
        for (at, partition) in self.states.iter_mut().enumerate() {
            partition.freed = false;
            let is_due = partition.drained.is_some() || (steps && partition.sweeps > 0);
            ensure(!is_due || partition.busy.is_some(), || format!("a put to partition {at} lingers"))?;
        }
        if let Some(off_line) = self.steps.first_mut() {
            off_line.begins = false;
            let is_late = off_line.pending_puts.iter().find(|at| self.states[**at].busy.is_none());
            ensure(is_late.is_none(), || format!("a step waits for nothing at partition {is_late:?}"))?;
        }
        Ok(())
    }

    fn end_access(&mut self) -> Result<(), String> {
        let on_line = self.access.take().ok_or_else(|| String::from("no access was in flight"))?;
        let must_take = self.states.iter().any(|partition| partition.must_take);
        let waits =
            self.waiting_for_store.get(&0).is_some_and(|waiting_for_store| !waiting_for_store.is_empty());
        let is_whole = on_line.takes.len() == on_line.accesses && !must_take && !waits;
        ensure(is_whole, || format!("an access ended after {} takes", on_line.takes.len()))?;
        for (access, leaf) in (self.accesses..).zip(self.arrange(&on_line)) {
            self.observations.leaves.push(ShownLeaf { access: Some(access), leaf });
        }
        self.accesses += on_line.accesses;
        Ok(())
    }

    fn end_step(&mut self, nth: usize) -> Result<(), String> {
        let is_first = self
            .steps
            .first()
            .is_some_and(|off_line| off_line.nth == nth && off_line.pending_puts.is_empty());
        let is_swept = self.states.iter().all(|partition| partition.sweeps == 0);
        ensure(is_first && is_swept, || String::from("a step ended out of turn"))?;
        self.steps.remove(0);
        self.begin_step();
        Ok(())
    }

    /// The leaves of a batch in its order, as far as this order shows. Partitions come in the order of their first
    /// access, and takes of one partition in the order of its accesses. Of the arrangements that are left one is drawn:
    /// all are equally probable.
    fn arrange(&mut self, on_line: &OnLine) -> Vec<u64> {
        loop {
            let mut left = on_line.takes.clone();
            let mut order: Vec<(usize, u64)> = Vec::new();
            while !left.is_empty() {
                // Any take that is left, if the takes of its partition stay in their order.
                let at = left[draw_below(&mut self.random, left.len())].0;
                let next = left.iter().position(|(of, _)| *of == at).unwrap_or(0);
                order.push(left.remove(next));
            }
            let mut first: Vec<usize> = Vec::new();
            for (at, _) in &order {
                if !first.contains(at) && on_line.at_once.contains(at) {
                    first.push(*at);
                }
            }
            if first == on_line.at_once {
                return order.into_iter().map(|(_, leaf)| leaf).collect();
            }
        }
    }
}

impl<K: SubOrams> Observer for FullObserver<K> {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => {
                let due = u64::from(self.pending_puts > 0 || self.due() > 0);
                ensure((*pending_steps, *must_step) == (due, false), || {
                    format!("pending: {pending_steps}, {must_step}; due is {due}")
                })
            }
            Event::AccessBegins(0) => Ok(()),
            Event::AccessBegins(accesses) => {
                let (takes, at_once) = <_>::default();
                self.access = Some(OnLine { accesses: *accesses, begins: true, takes, at_once });
                self.pending_puts += accesses;
                self.begun += *accesses as u64;
                Ok(())
            }
            Event::StepBegins(nth) => {
                self.steps.push(OffLine { nth: *nth, pending_puts: Vec::new(), begins: false });
                if self.steps.len() == 1 {
                    self.begin_step();
                }
                Ok(())
            }
            Event::StoreRequest(work, entry) => self.requested(*work, entry),
            Event::ProcessorAction(..) | Event::Redraws { .. } => {
                Err(format!("not of this scheme: {event:?}"))
            }
            Event::StoreAnswer(work, nth) => self.answered(*work, *nth),
            Event::Ends(Work::Access) if self.access.is_none() => Ok(()),
            Event::Ends(Work::Access) => self.end_access(),
            Event::Ends(Work::Step(nth)) => self.end_step(*nth),
            Event::Quiescent => self.on_quiescent(),
            Event::Recovers(_) | Event::Yields(_) => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}

/// The observer for an adversary that sees writes only: it sees which partitions were put to.
struct SnapshotObserver<K> {
    sub_orams: K,
    random: ChaCha8Rng,
    /// The leaves that the step showed.
    written: Vec<u64>,
    observations: Observations,
}

impl<K: SubOrams> Observer for SnapshotObserver<K> {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::StoreRequest(_, TraceEntry::Write(buckets)) => {
                let buckets: Vec<u64> = buckets.iter().map(|bucket| bucket.0).collect();
                let first = *buckets.first().ok_or_else(|| String::from("a write of nothing"))?;
                let at = self.sub_orams.partition(first);
                self.written.extend(self.sub_orams.fill(at, &buckets, false)?);
                self.observations.add("puts", 1);
            }
            Event::Ends(Work::Step(_)) => {
                // The order of a step tells nothing: partition after partition.
                let written = mem::take(&mut self.written);
                if !written.is_empty() {
                    let leaf = written[draw_below(&mut self.random, written.len())];
                    self.observations.leaves.push(ShownLeaf { access: None, leaf });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
