//! Computes Freecursive ORAM's public schedule independently: from the parameters and the trace alone.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, ShownLeaf, ensure};
use super::{front_end, raw, ring};
use crate::schemes::freecursive::{BackendParameters, FreecursiveParameters};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The observer of a Freecursive ORAM whose buckets are numbered from 0, from its first access on, driven promptly or
/// late. All paths of an access are checked; the observations are those of path number `shown`. A Ring ORAM must have
/// its root in untrusted memory, so that only the paths before its first eviction show nothing.
pub fn observer(
    parameters: &FreecursiveParameters,
    shown: u32,
    adversary: Adversary,
    seed: u64,
) -> Box<dyn Observer> {
    let paths = parameters.paths_per_access();
    match &parameters.tree {
        BackendParameters::Path { .. } => path_observer(parameters, (paths, shown), adversary),
        BackendParameters::Raw(raw) => {
            let tree = |adversary| raw::observer(raw, adversary, seed);
            front_end::observer(tree, (paths, shown), adversary)
        }
        BackendParameters::Ring(ring) => {
            let tree = |adversary| ring::observer(ring, adversary, seed);
            front_end::observer(tree, (paths, shown), adversary)
        }
    }
}

fn path_observer(
    parameters: &FreecursiveParameters,
    (paths, shown): (u32, u32),
    adversary: Adversary,
) -> Box<dyn Observer> {
    Box::new(FreecursiveObserver {
        leaf_level: parameters.tree.leaf_level().0,
        top: parameters.tree.top().0,
        paths: paths as usize,
        shown: shown as usize,
        sees_reads: adversary == Adversary::Full,
        accesses: 0,
        remaining: 0,
        begun: 0,
        held: None,
        observations: Observations::default(),
    })
}

/// The observer of a front end whose tree is a Path ORAM.
struct FreecursiveObserver {
    leaf_level: u32,
    top: u32,
    /// The number of paths of an access.
    paths: usize,
    shown: usize,
    sees_reads: bool,
    /// The number of accesses that began before this batch.
    accesses: usize,
    /// The number of paths of the batch in flight that are still to be read.
    remaining: usize,
    /// The number of all paths of the batch in flight.
    begun: usize,
    /// The path that was read and is not written back.
    held: Option<u64>,
    observations: Observations,
}

impl FreecursiveObserver {
    /// The leaf to which exactly these buckets lead, those of a whole path in untrusted memory.
    fn path(&self, buckets: &[u64]) -> Result<u64, String> {
        let first_leaf = (1 << self.leaf_level) - 1;
        let leaf = buckets.last().and_then(|last| last.checked_sub(first_leaf));
        let leaf = leaf.ok_or_else(|| format!("{buckets:?} lead to no leaf"))?;
        let bucket = |level: u32| (1 << level) - 1 + (leaf >> (self.leaf_level - level));
        let due: Vec<u64> = (self.top..=self.leaf_level).map(bucket).collect();
        ensure(*buckets == due, || format!("{buckets:?} are not the path {due:?}"))?;
        Ok(leaf)
    }

    fn read(&mut self, leaf: u64) -> Result<(), String> {
        ensure(self.remaining > 0, || String::from("a path too many was read"))?;
        ensure(self.held.is_none(), || String::from("a path was read before the last was written back"))?;
        let nth = self.begun - self.remaining;
        self.remaining -= 1;
        self.held = Some(leaf);
        if self.sees_reads && nth % self.paths == self.shown {
            let access = Some(self.accesses + nth / self.paths);
            self.observations.leaves.push(ShownLeaf { access, leaf });
        }
        Ok(())
    }

    fn write(&mut self, leaf: u64) -> Result<(), String> {
        let held = self.held.take();
        ensure(held == Some(leaf), || format!("the path to {leaf} was written, held is {held:?}"))?;
        if !self.sees_reads {
            self.observations.leaves.push(ShownLeaf { access: None, leaf });
        }
        Ok(())
    }
}

impl Observer for FreecursiveObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => {
                let due = (u64::from(self.held.is_some()), self.held.is_some());
                ensure((*pending_steps, *must_step) == due, || {
                    format!("pending: {pending_steps}, {must_step}; due is {due:?}")
                })
            }
            Event::AccessBegins(accesses) => {
                self.begun = accesses * self.paths;
                self.remaining = self.begun;
                Ok(())
            }
            Event::StoreRequest(work, TraceEntry::Read(slots)) => {
                ensure(*work == Work::Access, || String::from("a step read"))?;
                let buckets: Vec<u64> = slots.iter().map(|slot| slot.bucket.0).collect();
                self.read(self.path(&buckets)?)
            }
            Event::StoreRequest(_, TraceEntry::Write(buckets)) => {
                let buckets: Vec<u64> = buckets.iter().map(|bucket| bucket.0).collect();
                self.write(self.path(&buckets)?)
            }
            Event::Ends(Work::Access) => {
                ensure(self.remaining == 0, || format!("an access ended {} paths early", self.remaining))?;
                self.accesses += self.begun / self.paths;
                Ok(())
            }
            Event::Ends(Work::Step(_)) => {
                ensure(self.held.is_none(), || String::from("a step ended before it wrote"))
            }
            Event::StepBegins(_)
            | Event::StoreAnswer(..)
            | Event::Quiescent
            | Event::Recovers(_)
            | Event::Yields(_) => Ok(()),
            Event::ProcessorAction(..) | Event::Redraws { .. } => {
                Err(format!("not of this scheme: {event:?}"))
            }
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
