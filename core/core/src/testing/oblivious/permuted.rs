//! The public schedule of permuted memory. Each place is read at most once in an epoch. A shelter in the store is read
//! and appended to. The rebuild is the same each time.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, Pick, ensure};
use super::sorting::{self, buckets, slots};
use crate::schemes::practical_os::PracticalOsParameters;
use crate::schemes::square_root::SquareRootParameters;
use crate::types::{Bucket, Slot};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The observer of a Square-Root ORAM whose buckets are numbered from 0.
pub fn square_root(parameters: &SquareRootParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    let SquareRootParameters { shelter, run_blocks, max_batch, .. } = *parameters;
    let (permuted, runs) = (parameters.permuted(), parameters.runs());
    // By block, and by place.
    let sorts = 2;
    let memory =
        Memory { permuted, epoch: shelter, max_batch, sheltered_in_store: true, runs, run_blocks, sorts };
    observer(memory, adversary, seed)
}

/// The observer of a PracticalOS whose buckets are numbered from 0.
pub fn practical_os(
    parameters: &PracticalOsParameters,
    adversary: Adversary,
    seed: u64,
) -> Box<dyn Observer> {
    let PracticalOsParameters { cache, run_blocks, max_batch, .. } = *parameters;
    let (permuted, runs) = (parameters.permuted(), parameters.runs());
    let memory =
        Memory { permuted, epoch: cache, max_batch, sheltered_in_store: false, runs, run_blocks, sorts: 1 };
    observer(memory, adversary, seed)
}

/// The public shape of a permuted memory.
struct Memory {
    /// The number of places that are permuted.
    permuted: u64,
    /// The number of accesses of an epoch.
    epoch: u32,
    max_batch: u32,
    /// True if the shelter follows the permuted memory in the store.
    sheltered_in_store: bool,
    /// The number of runs of a rebuild.
    runs: u64,
    /// The number of blocks of a run.
    run_blocks: u32,
    /// The number of sorts of the runs.
    sorts: u32,
}

fn observer(memory: Memory, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    Box::new(PermutedObserver {
        adversary,
        random: ChaCha8Rng::seed_from_u64(seed),
        due: VecDeque::new(),
        unread: (0..memory.permuted).collect(),
        sheltered: 0,
        rebuilds: None,
        accesses: 0,
        epoch: Vec::new(),
        earlier: Vec::new(),
        observations: Observations::default(),
        memory,
    })
}

/// An operation that is due.
#[derive(Clone, Debug)]
enum Due {
    /// These slots, then this many places of permuted memory that were not read in this epoch.
    Places(Range<u64>, usize),
    /// Exactly this.
    Exactly(TraceEntry),
}

// Wide: it keeps everything that the scheme keeps.
struct PermutedObserver {
    memory: Memory,
    adversary: Adversary,
    random: ChaCha8Rng,
    /// The due operations in order, each with its task.
    due: VecDeque<(Work, Due)>,
    /// The places of permuted memory that were not read in this epoch.
    unread: Vec<u64>,
    sheltered: u64,
    /// The step that rebuilds.
    rebuilds: Option<usize>,
    /// The number of accesses of the run.
    accesses: usize,
    /// The choices of this epoch and of the previous one.
    epoch: Vec<f64>,
    earlier: Vec<f64>,
    observations: Observations,
}

impl PermutedObserver {
    fn is_rebuild_due(&self) -> bool {
        self.sheltered + u64::from(self.memory.max_batch) > self.memory.epoch.into()
    }

    fn begin_access(&mut self, accesses: usize) {
        if accesses == 0 {
            return;
        }
        let shelter = self.memory.permuted;
        let end = if self.memory.sheltered_in_store { shelter + self.sheltered } else { shelter };
        self.due.push_back((Work::Access, Due::Places(shelter..end, accesses)));
        if self.memory.sheltered_in_store {
            let written = end..end + accesses as u64;
            self.due.push_back((Work::Access, Due::Exactly(TraceEntry::Write(buckets(written)))));
        }
        self.sheltered += accesses as u64;
    }

    fn begin_step(&mut self, nth: usize) {
        if !self.is_rebuild_due() || self.rebuilds.is_some() {
            return;
        }
        self.rebuilds = Some(nth);
        for _sort in 0..self.memory.sorts {
            let sort = sorting::sort(0, self.memory.runs, self.memory.run_blocks.into());
            self.due.extend(sort.map(|entry| (Work::Step(nth), Due::Exactly(entry))));
        }
    }

    fn end_rebuild(&mut self) {
        self.rebuilds = None;
        self.sheltered = 0;
        self.unread = (0..self.memory.permuted).collect();
        self.earlier = mem::take(&mut self.epoch);
    }

    /// Records places that were read: each a choice among those that were not.
    fn choose(&mut self, places: &[Slot]) -> Result<(), String> {
        for slot in places {
            let rank = self.unread.iter().position(|place| Slot::only(Bucket(*place)) == *slot);
            let rank = rank.ok_or_else(|| format!("read {slot}, which is not an unread place"))?;
            let before = self.earlier.get(self.epoch.len()).copied();
            let at = (rank, self.unread.len());
            let pick = Pick::of(&mut self.random, Some(self.accesses), 0, at, before);
            self.unread.remove(rank);
            self.epoch.push(pick.value);
            self.observations.picks.push(pick);
            self.accesses += 1;
        }
        Ok(())
    }

    fn requested(&mut self, work: Work, entry: &TraceEntry) -> Result<(), String> {
        let due = self.due.pop_front().filter(|(of, _)| *of == work);
        let (_, due) = due.ok_or_else(|| format!("{work:?} asked for {entry:?}, and it was not due"))?;
        match (&due, entry) {
            (Due::Exactly(due), entry) => {
                ensure(due == entry, || format!("asked for {entry:?}, due is {due:?}"))
            }
            (Due::Places(shelter, accesses), TraceEntry::Read(read)) => {
                let shelter = slots(shelter.clone());
                let is_whole = read.starts_with(&shelter) && read.len() == shelter.len() + accesses;
                ensure(is_whole, || format!("read {read:?}, due are {due:?}"))?;
                self.choose(&read[shelter.len()..])
            }
            (Due::Places(..), TraceEntry::Write(_)) => Err(format!("asked for {entry:?}, due is {due:?}")),
        }
    }

    /// Forgets the reads that are due: the trace does not show them.
    fn skip_reads(&mut self) {
        let shows = |due: &Due| matches!(due, Due::Exactly(TraceEntry::Write(_)));
        while self.due.front().is_some_and(|(_, due)| !shows(due)) {
            self.due.pop_front();
        }
    }
}

impl Observer for PermutedObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => ensure(
                (*pending_steps, *must_step) == (u64::from(self.is_rebuild_due()), self.is_rebuild_due()),
                || format!("pending: {pending_steps}, {must_step}"),
            ),
            Event::AccessBegins(accesses) => {
                ensure(!self.is_rebuild_due(), || String::from("an access begins that has no room"))?;
                self.begin_access(*accesses);
                Ok(())
            }
            Event::StepBegins(nth) => {
                self.begin_step(*nth);
                Ok(())
            }
            Event::StoreRequest(_, TraceEntry::Read(_)) if self.adversary == Adversary::Snapshot => Ok(()),
            Event::StoreRequest(work, entry) => {
                if self.adversary == Adversary::Snapshot {
                    self.skip_reads();
                }
                self.requested(*work, entry)
            }
            Event::Ends(work) => {
                if self.adversary == Adversary::Snapshot {
                    self.skip_reads();
                }
                if self.rebuilds.is_some_and(|nth| *work == Work::Step(nth)) {
                    self.end_rebuild();
                }
                let is_left = self.due.iter().any(|(of, _)| of == work);
                ensure(!is_left, || format!("{work:?} ended early: {:?} are due", self.due))
            }
            Event::ProcessorAction(..) | Event::Redraws { .. } => {
                Err(format!("not of this scheme: {event:?}"))
            }
            Event::StoreAnswer(..) | Event::Quiescent | Event::Recovers(_) | Event::Yields(_) => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
