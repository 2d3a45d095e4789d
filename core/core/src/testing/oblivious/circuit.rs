//! Circuit ORAM's public schedule, accounted for a second time: on line it is that of Path ORAM, off line two paths for
//! each access go round the leaves.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, ShownLeaf, draw_below, ensure};
use super::path::{FullObserver, Tree};
use super::reverse_bits::reverse_bits;
use crate::schemes::circuit::CircuitParameters;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The observer of a Circuit ORAM with a flat position map, from its first access on; for a driver with one access and
/// one step at a time.
pub fn observer(parameters: &CircuitParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    let tree = Tree { leaf_level: parameters.leaf_level.0, top: parameters.top.0, first: 0 };
    match adversary {
        Adversary::Full => Box::new(CircuitObserver {
            on_line: FullObserver::new(tree, seed),
            max_batch: parameters.max_batch as usize,
            held: Vec::new(),
            due: 0,
            evictions: 0,
            off_line: None,
        }),
        Adversary::Snapshot => Box::new(SnapshotObserver {
            tree,
            random: ChaCha8Rng::seed_from_u64(seed),
            accesses: 0,
            written: 0,
            included: 0,
            evictions: 0,
            observations: Observations::default(),
        }),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum StepState {
    /// Waits until no access is in flight.
    Waiting,
    Reading,
    MustWrite,
    Writing,
    MustEnd,
}

struct CircuitObserver {
    /// Path ORAM's account of an access.
    on_line: FullObserver,
    max_batch: usize,
    /// The buckets read since the last writing, in that order.
    held: Vec<u64>,
    /// Accesses since the last evictions.
    due: usize,
    evictions: u64,
    off_line: Option<StepState>,
}

impl CircuitObserver {
    fn has_requested(&self) -> bool {
        self.on_line.on_line.as_ref().is_some_and(|on_line| on_line.requested)
    }

    /// Checks that the buckets read are those of the next paths in order that are not held, and no others.
    fn evict(&mut self, read: &[u64]) -> Result<(), String> {
        ensure(self.off_line == Some(StepState::Waiting) && !self.has_requested(), || {
            String::from("a step read out of turn")
        })?;
        let before = self.held.len();
        for eviction in self.evictions..self.evictions + 2 * self.due as u64 {
            let leaf = reverse_bits(self.on_line.tree.leaf_level, eviction);
            for bucket in self.on_line.tree.apart(leaf, &[]) {
                if !self.held.contains(&bucket) {
                    self.held.push(bucket);
                }
            }
        }
        ensure(read == &self.held[before..], || {
            format!("read {read:?}, due are {:?}", &self.held[before..])
        })?;
        self.evictions += 2 * self.due as u64;
        (self.due, self.off_line) = (0, Some(StepState::Reading));
        Ok(())
    }

    fn write(&mut self, written: &[u64]) -> Result<(), String> {
        ensure(self.off_line == Some(StepState::MustWrite), || String::from("a step wrote out of turn"))?;
        ensure(written == self.held, || format!("wrote {written:?}, held are {:?}", self.held))?;
        self.held.clear();
        self.on_line.held.clear();
        (self.on_line.repeats, self.on_line.accesses_held) = (0, 0);
        self.on_line.observations.add("buckets written", written.len() as u64);
        self.off_line = Some(StepState::Writing);
        Ok(())
    }

    fn on_quiescent(&self) -> Result<(), String> {
        let evicts = matches!(self.off_line, Some(StepState::Reading | StepState::Writing));
        let access_waits =
            |is_waiting_for_store: bool| is_waiting_for_store || (evicts && !self.has_requested());
        let access =
            self.on_line.on_line.as_ref().is_none_or(|on_line| access_waits(on_line.is_waiting_for_store));
        ensure(access, || String::from("an access waits for nothing"))?;
        let off_line = self.off_line.is_none()
            || evicts
            || (self.off_line == Some(StepState::Waiting) && self.has_requested());
        ensure(off_line, || String::from("a step waits for nothing"))
    }
}

impl Observer for CircuitObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => {
                let due = (u64::from(self.due > 0), self.due >= self.max_batch);
                ensure((*pending_steps, *must_step) == due, || {
                    format!("pending: {pending_steps}, {must_step}; due is {due:?}")
                })
            }
            Event::AccessBegins(accesses) => {
                self.on_line.begin_access(*accesses);
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Read(slots)) => {
                let may_read = matches!(self.off_line, None | Some(StepState::Waiting));
                ensure(may_read, || String::from("an access read during an eviction"))?;
                self.on_line.read(slots)?;
                self.held.extend(slots.iter().map(|slot| slot.bucket.0));
                self.due += self.on_line.on_line.as_ref().map_or(0, |on_line| on_line.accesses);
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Write(_)) => Err(String::from("an access wrote")),
            Event::StoreAnswer(Work::Access, _) => {
                if let Some(on_line) = &mut self.on_line.on_line {
                    on_line.is_waiting_for_store = false;
                }
                Ok(())
            }
            Event::Ends(Work::Access) => self.on_line.end_access(),
            Event::StepBegins(_) => {
                let works = self.due > 0 || self.on_line.on_line.is_some();
                self.off_line = Some(if works { StepState::Waiting } else { StepState::MustEnd });
                Ok(())
            }
            Event::StoreRequest(Work::Step(_), TraceEntry::Read(slots)) => {
                self.evict(&slots.iter().map(|slot| slot.bucket.0).collect::<Vec<_>>())
            }
            Event::StoreRequest(Work::Step(_), TraceEntry::Write(buckets)) => {
                self.write(&buckets.iter().map(|bucket| bucket.0).collect::<Vec<_>>())
            }
            Event::StoreAnswer(Work::Step(_), _) => {
                let reads = self.off_line == Some(StepState::Reading);
                self.off_line = Some(if reads { StepState::MustWrite } else { StepState::MustEnd });
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

/// The observer for an adversary that sees writes only: it sees the paths of the accesses among those of the evictions.
struct SnapshotObserver {
    tree: Tree,
    random: ChaCha8Rng,
    /// Accesses so far; those that were written back; those that the next writing is for.
    accesses: usize,
    written: usize,
    included: usize,
    evictions: u64,
    observations: Observations,
}

impl Observer for SnapshotObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        let buckets = match event {
            Event::AccessBegins(accesses) => {
                self.accesses += accesses;
                return Ok(());
            }
            Event::StepBegins(_) => {
                self.included = self.accesses;
                return Ok(());
            }
            Event::StoreRequest(_, TraceEntry::Write(buckets)) => buckets,
            _ => return Ok(()),
        };
        // The order in which they were written does not show.
        let changed: BTreeSet<u64> = buckets.iter().map(|bucket| bucket.0).collect();
        let leaves: BTreeSet<u64> = changed.iter().filter_map(|bucket| self.tree.leaf(*bucket)).collect();
        let due: BTreeSet<u64> = leaves.iter().flat_map(|leaf| self.tree.apart(*leaf, &[])).collect();
        ensure(changed == due, || format!("{changed:?} changed, which are not whole paths"))?;
        let accesses = self.included - self.written;
        let evictions = self.evictions..self.evictions + 2 * accesses as u64;
        let evicted: BTreeSet<u64> =
            evictions.clone().map(|turn| reverse_bits(self.tree.leaf_level, turn)).collect();
        ensure(evicted.is_subset(&leaves), || format!("{leaves:?} changed, due were {evicted:?}"))?;
        let accessed: Vec<u64> = leaves.difference(&evicted).copied().collect();
        ensure(accessed.len() <= accesses, || format!("{accessed:?} changed for {accesses} accesses"))?;
        if accesses == 1 {
            // A path that does not show is one of those evicted, each as probable.
            let hidden: Vec<u64> = evicted.into_iter().collect();
            let among = if accessed.is_empty() { &hidden } else { &accessed };
            let leaf = among[draw_below(&mut self.random, among.len())];
            self.observations.leaves.push(ShownLeaf { access: Some(self.written), leaf });
        }
        self.observations.add("paths written", leaves.len() as u64);
        (self.written, self.evictions) = (self.included, evictions.end);
        Ok(())
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
