//! Square-Root ORAM's public schedule: the shelter is read and appended to, places of permuted memory are read once in an
//! epoch, and the rebuild is the same each time.

use super::super::stage::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::watch::{Adversary, Pick, Sights, Watch, ensure, spread};
use crate::schemes::square_root::SquareRootParameters;
use crate::words::{Bucket, Slot};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The watch over a Square-Root ORAM whose buckets are numbered from 0.
pub fn watch(parameters: &SquareRootParameters, adversary: Adversary, seed: u64) -> Box<dyn Watch> {
    Box::new(SquareRootWatch {
        parameters: parameters.clone(),
        adversary,
        random: ChaCha8Rng::seed_from_u64(seed),
        due: VecDeque::new(),
        unread: (0..parameters.permuted()).collect(),
        sheltered: 0,
        rebuilds: None,
        accesses: 0,
        epoch: Vec::new(),
        earlier: Vec::new(),
        sights: Sights::default(),
    })
}

/// An operation that is due.
#[derive(Clone, Debug)]
enum Due {
    /// These slots, then so many places of permuted memory that were not read in this epoch.
    Places(Range<u64>, usize),
    /// Exactly this.
    Exactly(TraceEntry),
}

// Wide: an account of its own of all that the scheme keeps.
struct SquareRootWatch {
    parameters: SquareRootParameters,
    adversary: Adversary,
    random: ChaCha8Rng,
    /// The operations that are due, in order, each of a work.
    due: VecDeque<(Work, Due)>,
    /// Places of permuted memory that were not read in this epoch.
    unread: Vec<u64>,
    sheltered: u64,
    /// The step of `idle` that rebuilds.
    rebuilds: Option<usize>,
    /// Accesses of the run.
    accesses: usize,
    /// The choices of this epoch and of the one before.
    epoch: Vec<f64>,
    earlier: Vec<f64>,
    sights: Sights,
}

fn slots(places: impl Iterator<Item = u64>) -> Vec<Slot> {
    places.map(|place| Slot { bucket: Bucket(place), index: 0 }).collect()
}

fn buckets(places: impl Iterator<Item = u64>) -> Vec<Bucket> {
    places.map(Bucket).collect()
}

impl SquareRootWatch {
    fn owes(&self) -> bool {
        self.sheltered + u64::from(self.parameters.max_batch) > self.parameters.shelter.into()
    }

    fn begin_access(&mut self, accesses: usize) {
        if accesses == 0 {
            return;
        }
        let shelter = self.parameters.capacity + u64::from(self.parameters.shelter);
        let end = shelter + self.sheltered;
        self.due.push_back((Work::Access, Due::Places(shelter..end, accesses)));
        let written = end..end + accesses as u64;
        self.due.push_back((Work::Access, Due::Exactly(TraceEntry::Write(buckets(written)))));
        self.sheltered += accesses as u64;
    }

    fn begin_idle(&mut self, nth: usize) {
        if !self.owes() || self.rebuilds.is_some() {
            return;
        }
        self.rebuilds = Some(nth);
        for _sort in ["by block", "by place"] {
            (0..self.parameters.runs()).for_each(|run| self.rewrite(nth, &[run]));
            for (one, other) in comparators(self.parameters.runs()) {
                self.rewrite(nth, &[one, other]);
            }
        }
    }

    fn end_rebuild(&mut self) {
        self.rebuilds = None;
        self.sheltered = 0;
        self.unread = (0..self.parameters.permuted()).collect();
        self.earlier = mem::take(&mut self.epoch);
    }

    /// Expects a step of `idle` to read runs and write them.
    fn rewrite(&mut self, nth: usize, runs: &[u64]) {
        let length = u64::from(self.parameters.run_blocks);
        let places = || runs.iter().flat_map(|run| run * length..(run + 1) * length);
        for entry in [TraceEntry::Read(slots(places())), TraceEntry::Write(buckets(places()))] {
            self.due.push_back((Work::Idle(nth), Due::Exactly(entry)));
        }
    }

    /// Notes places that were read: each a choice among those that were not.
    fn choose(&mut self, places: &[Slot]) -> Result<(), String> {
        for slot in places {
            let rank = self.unread.iter().position(|place| Slot::only(Bucket(*place)) == *slot);
            let rank = rank.ok_or_else(|| format!("read {slot}, which is no unread place"))?;
            let value = spread(&mut self.random, rank, self.unread.len());
            self.unread.remove(rank);
            let before = self.earlier.get(self.epoch.len()).copied();
            self.epoch.push(value);
            self.sights.picks.push(Pick { access: Some(self.accesses), level: 0, value, before });
            self.accesses += 1;
        }
        Ok(())
    }

    fn asked(&mut self, work: Work, entry: &TraceEntry) -> Result<(), String> {
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

    /// Forgets the reads that are due: they do not show.
    fn skip_reads(&mut self) {
        let shows = |due: &Due| matches!(due, Due::Exactly(TraceEntry::Write(_)));
        while self.due.front().is_some_and(|(_, due)| !shows(due)) {
            self.due.pop_front();
        }
    }
}

impl Watch for SquareRootWatch {
    fn see(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Owes { owed, must_idle } => {
                ensure((*owed, *must_idle) == (u64::from(self.owes()), self.owes()), || {
                    format!("owes {owed}, {must_idle}")
                })
            }
            Event::AccessBegins(accesses) => {
                ensure(!self.owes(), || String::from("an access begins that has no room"))?;
                self.begin_access(*accesses);
                Ok(())
            }
            Event::IdleBegins(nth) => {
                self.begin_idle(*nth);
                Ok(())
            }
            Event::Asks(_, TraceEntry::Read(_)) if self.adversary == Adversary::Snapshot => Ok(()),
            Event::Asks(work, entry) => {
                if self.adversary == Adversary::Snapshot {
                    self.skip_reads();
                }
                self.asked(*work, entry)
            }
            Event::Ends(work) => {
                if self.rebuilds.is_some_and(|nth| *work == Work::Idle(nth)) {
                    self.end_rebuild();
                }
                let is_left = self.due.iter().any(|(of, _)| of == work);
                ensure(!is_left, || format!("{work:?} ended early: {:?} are due", self.due))
            }
            Event::Answered(_) | Event::Rests | Event::Recovers(_) => Ok(()),
        }
    }

    fn sights(&self) -> &Sights {
        &self.sights
    }
}

/// The comparators of merge exchange, as Knuth has the algorithm: steps M1 to M6.
fn comparators(places: u64) -> Vec<(u64, u64)> {
    let mut comparators = Vec::new();
    let most = places.next_power_of_two() / 2;
    let mut p = most;
    while p > 0 {
        let (mut q, mut r, mut d) = (most, 0, p);
        loop {
            for i in (0..places.saturating_sub(d)).filter(|i| i & p == r) {
                comparators.push((i, i + d));
            }
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    comparators
}
