//! Circuit ORAM's public schedule, computed a second time. On line it is that of Path ORAM. Off line it has two paths
//! for each access, in the order of evictions.

use super::super::driver::Event;
use super::alternating::{AlternatingObserver, AlternatingSchedule, InFlight};
use super::observer::{Adversary, Observations, Observer, ShownLeaf, draw_below, ensure, written_buckets};
use super::path::{FullObserver, Tree};
use super::reverse_bits::reverse_bits;
use crate::schemes::circuit::CircuitParameters;
use crate::types::Slot;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The observer of a Circuit ORAM with a flat position map, from its first access on. The driver must have one access
/// and one step at a time.
pub fn observer(parameters: &CircuitParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    let tree = Tree { leaf_level: parameters.leaf_level.0, top: parameters.top.0, first: 0 };
    match adversary {
        Adversary::Full => {
            let max_batch = parameters.max_batch as usize;
            let in_flight = CircuitSchedule { max_batch, held: Vec::new(), due: 0, evictions: 0 };
            Box::new(AlternatingObserver::new(tree, seed, in_flight))
        }
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

struct CircuitSchedule {
    max_batch: usize,
    /// The buckets read since the last writing, in that order.
    held: Vec<u64>,
    /// The number of accesses since the last evictions.
    due: usize,
    evictions: u64,
}

impl AlternatingSchedule for CircuitSchedule {
    fn due(&self) -> (u64, bool) {
        (u64::from(self.due > 0), self.due >= self.max_batch)
    }

    fn access(&mut self, in_flight: &mut InFlight, slots: &[Slot]) -> Result<(), String> {
        in_flight.on_line.read(slots)?;
        self.held.extend(slots.iter().map(|slot| slot.bucket.0));
        self.due += in_flight.accesses();
        Ok(())
    }

    /// Checks that the buckets read are those of the next paths in order that are not held, and no others.
    fn evict(&mut self, tree: &Tree, read: &[Slot]) -> Result<Vec<u64>, String> {
        let before = self.held.len();
        let end = self.evictions + 2 * self.due as u64;
        for eviction in self.evictions..end {
            let leaf = reverse_bits(tree.leaf_level, eviction);
            for bucket in tree.apart(leaf, &[]) {
                if !self.held.contains(&bucket) {
                    self.held.push(bucket);
                }
            }
        }
        let due = &self.held[before..];
        ensure(read.iter().map(|slot| slot.bucket.0).eq(due.iter().copied()), || {
            format!("read {read:?}, due are {due:?}")
        })?;
        (self.due, self.evictions) = (0, end);
        Ok(core::mem::take(&mut self.held))
    }

    fn on_write(&mut self, on_line: &mut FullObserver, buckets: &[u64]) {
        on_line.held.clear();
        (on_line.repeats, on_line.accesses_held) = (0, 0);
        on_line.observations.add("buckets written", buckets.len() as u64);
    }
}

/// The observer for an adversary that sees writes only: it sees the paths of the accesses among those of the evictions.
struct SnapshotObserver {
    tree: Tree,
    random: ChaCha8Rng,
    /// The number of accesses so far.
    accesses: usize,
    /// The number of accesses that were written back.
    written: usize,
    /// The number of accesses that the next writing is for.
    included: usize,
    evictions: u64,
    observations: Observations,
}

impl Observer for SnapshotObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::AccessBegins(accesses) => self.accesses += accesses,
            Event::StepBegins(_) => self.included = self.accesses,
            _ => {}
        }
        let Some(changed) = written_buckets(event) else { return Ok(()) };
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
