//! Computes the public schedules of Path ORAM and of its recursive position map independently: from the parameters and
//! the trace alone.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, ShownLeaf, draw_below, ensure, written_buckets};
use crate::schemes::path::PathParameters;
use crate::types::Slot;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The observer of a Path ORAM with a flat position map, whose buckets are numbered from 0, from its first access on.
pub fn observer(parameters: &PathParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    recursive_observer(core::slice::from_ref(parameters), 0, adversary, seed)
}

/// The observer of a Path ORAM and the inner ORAMs of its position map. The largest ORAM comes first, and the numbers
/// of their buckets follow one another. All ORAMs are checked; the observations are those of ORAM number `shown`. If
/// there are inner ORAMs, the store must be ready at once.
pub fn recursive_observer(
    trees: &[PathParameters],
    shown: usize,
    adversary: Adversary,
    seed: u64,
) -> Box<dyn Observer> {
    let max_batch = trees.first().map_or(0, |parameters| parameters.max_batch as usize);
    let mut first = 0;
    let trees: Vec<Tree> = trees
        .iter()
        .map(|parameters| {
            let (leaf_level, top) = (parameters.leaf_level.0, parameters.top.0);
            let tree = Tree { leaf_level, top, first };
            first += (2 << leaf_level) - (1 << top);
            tree
        })
        .collect();
    match adversary {
        Adversary::Full => {
            let levels = trees
                .into_iter()
                .zip(0..)
                .map(|(tree, nth)| FullObserver::new(tree, seed.wrapping_mul(64) + nth))
                .collect();
            Box::new(RecursiveObserver { levels, shown, max_batch, at: 0, accesses: 0, off_line_level: 0 })
        }
        Adversary::Snapshot => Box::new(SnapshotObserver {
            trees,
            shown,
            random: ChaCha8Rng::seed_from_u64(seed),
            accesses: 0,
            since: 0,
            observations: Observations::default(),
        }),
    }
}

/// The tree's arithmetic.
pub(super) struct Tree {
    pub(super) leaf_level: u32,
    pub(super) top: u32,
    pub(super) first: u64,
}

impl Tree {
    pub(super) fn bucket(&self, level: u32, leaf: u64) -> u64 {
        self.first + (1 << level) - (1 << self.top) + (leaf >> (self.leaf_level - level))
    }

    /// The leaf whose bucket this is.
    pub(super) fn leaf(&self, bucket: u64) -> Option<u64> {
        let first = self.bucket(self.leaf_level, 0);
        (first..first + (1 << self.leaf_level)).contains(&bucket).then(|| bucket - first)
    }

    fn holds(&self, bucket: u64) -> bool {
        (self.first..self.first + (2 << self.leaf_level) - (1 << self.top)).contains(&bucket)
    }

    /// The buckets of a path that are on none of the others.
    pub(super) fn apart<'a>(&'a self, leaf: u64, others: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
        let path = (self.top..=self.leaf_level).map(move |level| (level, self.bucket(level, leaf)));
        path.filter(|(level, bucket)| others.iter().all(|other| self.bucket(*level, *other) != *bucket))
            .map(|(_, bucket)| bucket)
    }

    fn subtree(&self, leaf: u64) -> u64 {
        leaf >> (self.leaf_level - self.top)
    }

    /// Splits buckets at the leaves: each path ends with a leaf. Says which leaves they are.
    fn paths(&self, buckets: &[u64]) -> Result<Vec<(u64, Vec<u64>)>, String> {
        let mut paths = Vec::new();
        let mut path = Vec::new();
        for bucket in buckets {
            path.push(*bucket);
            if let Some(leaf) = self.leaf(*bucket) {
                paths.push((leaf, core::mem::take(&mut path)));
            }
        }
        ensure(path.is_empty(), || format!("buckets {path:?} lead to no leaf"))?;
        Ok(paths)
    }
}

pub(super) struct OnLine {
    pub(super) accesses: usize,
    pub(super) requested: bool,
    pub(super) is_waiting_for_store: bool,
    /// The paths that were being written when this batch should have read. The batch waited for them.
    pub(super) waited_for: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum OffLine {
    /// Waits until no access is in flight.
    Waiting,
    Writing,
    MustEnd,
}

/// The observer of one tree. An access that meets a path that is being written back waits; all else continues at once.
pub(super) struct FullObserver {
    pub(super) tree: Tree,
    random: ChaCha8Rng,
    /// The paths that were read and are not yet written back, each once.
    pub(super) held: Vec<u64>,
    /// The number of accesses since the last write-back whose path was held already.
    pub(super) repeats: usize,
    pub(super) accesses_held: usize,
    writing: Vec<u64>,
    pub(super) on_line: Option<OnLine>,
    off_line: Option<OffLine>,
    pub(super) observations: Observations,
}

impl FullObserver {
    pub(super) fn new(tree: Tree, seed: u64) -> Self {
        FullObserver {
            tree,
            random: ChaCha8Rng::seed_from_u64(seed),
            held: Vec::new(),
            repeats: 0,
            accesses_held: 0,
            writing: Vec::new(),
            on_line: None,
            off_line: None,
            observations: Observations::default(),
        }
    }

    pub(super) fn begin_access(&mut self, accesses: usize) {
        self.on_line = Some(OnLine {
            accesses,
            requested: accesses == 0,
            is_waiting_for_store: false,
            waited_for: Vec::new(),
        });
    }

    pub(super) fn read(&mut self, slots: &[Slot]) -> Result<(), String> {
        let Some(on_line) = self.on_line.as_mut().filter(|on_line| !on_line.requested) else {
            return Err(String::from("a second read for one batch"));
        };
        (on_line.requested, on_line.is_waiting_for_store) = (true, true);
        let (accesses, waited_for) = (on_line.accesses, core::mem::take(&mut on_line.waited_for));
        let buckets: Vec<u64> = slots.iter().map(|slot| slot.bucket.0).collect();
        let paths = self.tree.paths(&buckets)?;
        ensure(paths.len() <= accesses, || format!("{} paths for {accesses} accesses", paths.len()))?;
        let before = self.held.clone();
        for (leaf, path) in &paths {
            let due: Vec<u64> = self.tree.apart(*leaf, &self.held).collect();
            ensure(*path == due, || format!("read {path:?} of the path to {leaf}, due are {due:?}"))?;
            self.held.push(*leaf);
        }
        let shown: Vec<u64> = paths.iter().map(|(leaf, _)| *leaf).collect();
        let leaves = self.fill_in(&before, &shown, accesses, &waited_for)?;
        for leaf in leaves {
            let access = Some(self.observations.leaves.len());
            self.observations.leaves.push(ShownLeaf { access, leaf });
        }
        self.repeats += accesses - shown.len();
        self.accesses_held += accesses;
        self.observations.add("slots read on line", slots.len() as u64);
        self.observations.add("accesses that waited", u64::from(!waited_for.is_empty()));
        Ok(())
    }

    /// The leaves of a batch. An access to a held path shows only that. It may be at any place of the batch, and be any
    /// path that is held then: all are equally probable. It also shows what follows from whether the batch had to wait.
    fn fill_in(
        &mut self,
        before: &[u64],
        shown: &[u64],
        n: usize,
        waited_for: &[u64],
    ) -> Result<Vec<u64>, String> {
        let hidden = n - shown.len();
        // The number of ways to place the hidden accesses, given how many paths are held at each place.
        let masks: Vec<(usize, usize)> = (0..1usize << n)
            .filter(|mask| mask.count_ones() as usize == hidden)
            .map(|mask| {
                let mut held = before.len();
                let ways = (0..n).fold(1, |ways, at| {
                    if mask >> at & 1 == 1 {
                        ways * held
                    } else {
                        held += 1;
                        ways
                    }
                });
                (mask, ways)
            })
            .collect();
        let all: usize = masks.iter().map(|(_, ways)| ways).sum();
        ensure(all > 0, || format!("{} paths for {n} accesses, and none is held", shown.len()))?;
        for _ in 0..1000 {
            let mut nth = draw_below(&mut self.random, all);
            let chosen = masks.iter().find(|(_, ways)| match nth.checked_sub(*ways) {
                Some(rest) => {
                    nth = rest;
                    false
                }
                None => true,
            });
            let mask = chosen.expect("the ways add up").0;
            let mut held = before.to_vec();
            let mut rest = shown.iter();
            let mut leaves = Vec::new();
            for at in 0..n {
                let leaf = if mask >> at & 1 == 1 {
                    held[draw_below(&mut self.random, held.len())]
                } else {
                    let leaf = *rest.next().expect("as many as are not hidden");
                    held.push(leaf);
                    leaf
                };
                leaves.push(leaf);
            }
            let meets = |writing: &[u64]| {
                let same = |leaf: u64, other: u64| self.tree.subtree(leaf) == self.tree.subtree(other);
                leaves.iter().any(|leaf| writing.iter().any(|other| same(*leaf, *other)))
            };
            if (waited_for.is_empty() || meets(waited_for)) && !meets(&self.writing) {
                return Ok(leaves);
            }
        }
        Err(format!("a batch of paths to {shown:?} waited, or did not, against the schedule"))
    }

    fn begin_step(&mut self) {
        self.off_line = Some(if self.accesses_held > 0 || self.on_line.is_some() {
            OffLine::Waiting
        } else {
            OffLine::MustEnd
        });
    }

    /// Checks that all held paths are written, the one read last at the end, each without what it shares with later
    /// ones.
    fn write(&mut self, buckets: &[u64]) -> Result<(), String> {
        ensure(self.off_line == Some(OffLine::Waiting) && self.on_line.is_none(), || {
            String::from("a step wrote out of turn")
        })?;
        self.off_line = Some(OffLine::Writing);
        let order: Vec<u64> = self.tree.paths(buckets)?.into_iter().map(|(leaf, _)| leaf).collect();
        for (nth, leaf) in order.iter().enumerate() {
            ensure(!order[nth + 1..].contains(leaf), || format!("the path to {leaf} was written twice"))?;
        }
        let due: Vec<u64> = order
            .iter()
            .enumerate()
            .flat_map(|(nth, leaf)| self.tree.apart(*leaf, &order[nth + 1..]))
            .collect();
        ensure(buckets == due, || format!("wrote {buckets:?}, due are {due:?}"))?;
        let places: Option<Vec<usize>> =
            order.iter().map(|leaf| self.held.iter().position(|held| held == leaf)).collect();
        let places = places.filter(|places| places.len() == self.held.len());
        let Some(places) = places else {
            return Err(format!("wrote the paths to {order:?}, held are {:?}", self.held));
        };
        // A path that was read again is at its last place: no more paths are out of order than before.
        ensure(places.len() - longest_rise(&places) <= self.repeats, || {
            format!("paths out of order: {places:?}")
        })?;
        self.writing = core::mem::take(&mut self.held);
        (self.repeats, self.accesses_held) = (0, 0);
        self.observations.add("buckets written", buckets.len() as u64);
        Ok(())
    }

    fn on_quiescent(&mut self) -> Result<(), String> {
        if let Some(on_line) = self.on_line.as_mut().filter(|on_line| !on_line.requested) {
            on_line.waited_for.clone_from(&self.writing);
        }
        let access_may_wait = self.on_line.as_ref().is_none_or(|on_line| {
            on_line.is_waiting_for_store || (!on_line.requested && !self.writing.is_empty())
        });
        ensure(access_may_wait, || String::from("an access waits for nothing"))?;
        let step_may_wait = match self.off_line {
            None | Some(OffLine::Writing) => true,
            Some(OffLine::Waiting) => self.on_line.is_some(),
            Some(OffLine::MustEnd) => false,
        };
        ensure(step_may_wait, || String::from("a step waits for nothing"))
    }

    pub(super) fn end_access(&mut self) -> Result<(), String> {
        let done =
            self.on_line.take().is_some_and(|on_line| on_line.requested && !on_line.is_waiting_for_store);
        ensure(done, || String::from("an access ended before its reads"))
    }

    fn end_step(&mut self) -> Result<(), String> {
        ensure(self.off_line.take() == Some(OffLine::MustEnd), || String::from("a step ended out of turn"))
    }
}

/// The length of the longest rising subsequence.
fn longest_rise(places: &[usize]) -> usize {
    let mut longest = vec![0usize; places.len()];
    for at in 0..places.len() {
        let before = (0..at).filter(|earlier| places[*earlier] < places[at]).map(|earlier| longest[earlier]);
        longest[at] = 1 + before.max().unwrap_or(0);
    }
    longest.into_iter().max().unwrap_or(0)
}

/// The trees of a recursion. An access goes through them from the smallest to the largest. A step does work of the
/// largest tree that holds paths.
struct RecursiveObserver {
    levels: Vec<FullObserver>,
    shown: usize,
    max_batch: usize,
    /// The level that the access in flight has come to, and the number of accesses in it.
    at: usize,
    accesses: usize,
    /// The level that the step in flight is for.
    off_line_level: usize,
}

impl Observer for RecursiveObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => {
                let due = self.levels.iter().filter(|level| level.accesses_held > 0).count() as u64;
                let must = self.levels.iter().any(|level| level.accesses_held >= self.max_batch);
                ensure((*pending_steps, *must_step) == (due, must), || {
                    format!("pending: {pending_steps}, {must_step}; due is {due}, {must}")
                })
            }
            Event::AccessBegins(accesses) => {
                self.accesses = *accesses;
                self.at = if *accesses == 0 { 0 } else { self.levels.len() - 1 };
                self.levels[self.at].begin_access(*accesses);
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Read(slots)) => self.levels[self.at].read(slots),
            Event::StoreRequest(Work::Access, TraceEntry::Write(_)) => Err(String::from("an access wrote")),
            Event::StoreAnswer(Work::Access, _) => {
                if let Some(on_line) = &mut self.levels[self.at].on_line {
                    on_line.is_waiting_for_store = false;
                }
                if self.at > 0 {
                    self.levels[self.at].end_access()?;
                    self.at -= 1;
                    self.levels[self.at].begin_access(self.accesses);
                }
                Ok(())
            }
            Event::Ends(Work::Access) => {
                ensure(self.at == 0, || String::from("an access ended before it came to the largest tree"))?;
                self.levels[0].end_access()
            }
            Event::StepBegins(_) => {
                let holds = |level: &FullObserver| level.accesses_held > 0 || level.on_line.is_some();
                self.off_line_level = self.levels.iter().position(holds).unwrap_or(0);
                self.levels[self.off_line_level].begin_step();
                Ok(())
            }
            Event::StoreRequest(Work::Step(_), TraceEntry::Read(_)) => Err(String::from("a step read")),
            Event::StoreRequest(Work::Step(_), TraceEntry::Write(buckets)) => self.levels
                [self.off_line_level]
                .write(&buckets.iter().map(|bucket| bucket.0).collect::<Vec<_>>()),
            Event::StoreAnswer(Work::Step(_), _) => {
                self.levels[self.off_line_level].off_line = Some(OffLine::MustEnd);
                self.levels[self.off_line_level].writing.clear();
                Ok(())
            }
            Event::Ends(Work::Step(_)) => self.levels[self.off_line_level].end_step(),
            Event::Quiescent => self.levels.iter_mut().try_for_each(FullObserver::on_quiescent),
            Event::ProcessorAction(..) | Event::Redraws { .. } => {
                Err(format!("not of this scheme: {event:?}"))
            }
            Event::Recovers(_) | Event::Yields(_) => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.levels[self.shown].observations
    }
}

/// The observer for an adversary that sees writes only: it sees which paths were written back.
struct SnapshotObserver {
    trees: Vec<Tree>,
    shown: usize,
    random: ChaCha8Rng,
    accesses: usize,
    since: usize,
    observations: Observations,
}

impl Observer for SnapshotObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        if let Event::AccessBegins(accesses) = event {
            self.accesses += accesses;
            self.since += accesses;
        }
        let Some(changed) = written_buckets(event) else { return Ok(()) };
        let of = changed.first().and_then(|first| self.trees.iter().position(|tree| tree.holds(*first)));
        let Some(tree) = of.map(|of| &self.trees[of]) else {
            return Err(format!("{changed:?} changed, which is not a tree's"));
        };
        let leaves: Vec<u64> = changed.iter().filter_map(|bucket| tree.leaf(*bucket)).collect();
        let due: BTreeSet<u64> = leaves.iter().flat_map(|leaf| tree.apart(*leaf, &[])).collect();
        ensure(changed == due, || format!("{changed:?} changed, which are not whole paths"))?;
        if of == Some(self.shown) {
            let leaf = leaves[draw_below(&mut self.random, leaves.len())];
            let access = (self.since == 1).then(|| self.accesses - 1);
            self.since = 0;
            self.observations.leaves.push(ShownLeaf { access, leaf });
            self.observations.add("paths written", leaves.len() as u64);
        }
        Ok(())
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
