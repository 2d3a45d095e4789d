//! Computes a second time which evictions and reshuffles the schedules of RAW and Ring ORAM require.

use super::*;
use crate::tree::store::MovedSlots;
use crate::tree_scheme::{Headers, TreeScheme};
use std::collections::{BTreeMap, BTreeSet};

/// Returns whether the schedule is right. Evictions come after every A paths, in reverse lexicographic order; Path ORAM
/// has none. Only buckets that were read S times are reshuffled. Nothing is outside of the schedule.
pub(super) fn is_followed(configuration: &Configuration, observed: &[VisiblePath]) -> bool {
    match configuration.oram.scheme {
        TreeScheme::Path => observed.iter().all(|path| !path.evicts && path.slots.is_none()),
        TreeScheme::Raw { eviction_rate, .. } => {
            let mut evictions = Evictions { rate: eviction_rate, accesses: 0, evictions: 0 };
            observed.iter().all(|path| path.slots.is_none() && evictions.follow(path))
        }
        TreeScheme::Ring { eviction_rate, reads, .. } => {
            let top = configuration.oram.top_levels;
            let mut ring = Ring {
                evictions: Evictions { rate: eviction_rate, accesses: 0, evictions: 0 },
                reads,
                levels: top..LEVELS,
                read: BTreeMap::new(),
                worn: BTreeSet::new(),
                written: BTreeSet::new(),
            };
            observed.iter().all(|path| ring.follow(path))
        }
    }
}

/// The count of accesses and evictions.
struct Evictions {
    rate: u32,
    /// The number of accesses since the last eviction.
    accesses: u32,
    evictions: u64,
}

impl Evictions {
    fn follow(&mut self, path: &VisiblePath) -> bool {
        if !path.evicts {
            self.accesses += 1;
            return self.accesses <= self.rate;
        }
        let due = self.evictions.reverse_bits() >> (u64::BITS - (LEVELS - 1));
        self.evictions += 1;
        std::mem::take(&mut self.accesses) == self.rate && path.leaf.0 == due
    }
}

/// The slots of Ring ORAM's buckets that were read since each was written.
struct Ring {
    evictions: Evictions,
    /// S.
    reads: u32,
    levels: std::ops::Range<u32>,
    read: BTreeMap<(u32, u64), BTreeSet<u32>>,
    /// Buckets that were read S times.
    worn: BTreeSet<(u32, u64)>,
    /// Buckets that were written. For the others it is unknown how often they were read before the run.
    written: BTreeSet<(u32, u64)>,
}

impl Ring {
    fn follow(&mut self, path: &VisiblePath) -> bool {
        let Some(moved) = &path.slots else { return false };
        let written: Vec<_> = moved.written.iter().map(|(level, index)| (level.0, *index)).collect();
        match written[..] {
            [] => self.access(path, moved),
            [bucket] => {
                self.read.remove(&bucket);
                let is_due = self.worn.remove(&bucket) || !self.written.contains(&bucket);
                self.written.insert(bucket);
                path.evicts && is_due
            }
            _ => {
                written.iter().for_each(|bucket| _ = self.read.remove(bucket));
                self.written.extend(&written);
                self.worn.is_empty() && written == self.path(path.leaf) && self.evictions.follow(path)
            }
        }
    }

    /// A slot of each bucket of the path, which was not read since the bucket was written.
    fn access(&mut self, path: &VisiblePath, moved: &MovedSlots) -> bool {
        let buckets: Vec<_> = moved.read.iter().map(|(level, index, _)| (level.0, *index)).collect();
        let is_fresh = moved.read.iter().all(|(level, index, slot)| {
            let read = self.read.entry((level.0, *index)).or_default();
            let is_fresh = read.insert(*slot);
            if read.len() == self.reads as usize {
                self.worn.insert((level.0, *index));
            }
            is_fresh
        });
        // Worn buckets come before the next access.
        let were_worn = self.worn.iter().any(|bucket| !buckets.contains(bucket));
        is_fresh && !were_worn && buckets == self.path(path.leaf) && self.evictions.follow(path)
    }

    fn path(&self, leaf: Leaf) -> Vec<(u32, u64)> {
        self.levels.clone().map(|level| (level, leaf.0 >> (LEVELS - 1 - level))).collect()
    }
}

#[test]
fn the_account_finds_an_eviction_that_comes_late_or_by_another_path() {
    for scheme in [Scheme::Raw, Scheme::Ring] {
        let configuration = configuration(scheme, Pace::FromEnd(700));
        let observed = paths_at_their_rate(&configuration, Program::Random, 500);
        assert!(is_followed(&configuration, &observed));
        let is_eviction = |path: &VisiblePath| {
            path.evicts && path.slots.as_ref().is_none_or(|moved| moved.written.len() > 1)
        };
        let nth = observed.iter().position(is_eviction).expect("evictions come");
        let mut late = observed.clone();
        late.swap(nth, nth + 1);
        assert!(!is_followed(&configuration, &late));
        let mut elsewhere = observed;
        elsewhere[nth].leaf.0 ^= 1;
        assert!(!is_followed(&configuration, &elsewhere));
    }
}

/// A tree that is drawn has buckets in every state between two evictions: reshuffles come at once as often as later.
#[test]
fn ring_oram_begins_as_worn_as_it_stays() {
    let configuration = configuration(Scheme::Ring, Pace::Free);
    let mut observed = Vec::new();
    machine(&configuration).run(program(Program::Random, 12_000, 1), 0, |path| observed.push(path)).unwrap();
    let is_reshuffle =
        |path: &&VisiblePath| path.slots.as_ref().is_some_and(|moved| moved.written.len() == 1);
    let reshuffles = |part: &[VisiblePath]| part.iter().filter(is_reshuffle).count() as f64;
    let (first, last) = (reshuffles(&observed[..4000]), reshuffles(&observed[observed.len() - 4000..]));
    assert!(last > 150.0 && (0.75..1.33).contains(&(first / last)), "{first} reshuffles, then {last}");
}

/// An eviction writes one bucket then, as a reshuffle does.
#[test]
fn with_one_level_in_memory_an_eviction_still_differs_from_a_reshuffle() {
    let mut configuration = configuration(Scheme::Ring, Pace::Free);
    configuration.oram.top_levels = LEVELS - 1;
    let outcome = machine(&configuration).run(program(Program::Random, 2000, 1), 0, |_| ()).unwrap();
    let Counts { data, evictions, .. } = outcome.counts;
    let accesses = data + outcome.counts.posmap_paths();
    assert!(accesses > 1000 && evictions.abs_diff(accesses / 8) <= 1, "{:?}", outcome.counts);
}

#[test]
fn the_account_finds_a_slot_that_is_read_twice_and_a_reshuffle_that_is_left_out() {
    let mut configuration = configuration(Scheme::Ring, Pace::FromEnd(700));
    configuration.oram.scheme =
        TreeScheme::Ring { eviction_rate: 8, reads: 9, slots: 12, metadata: Headers::InMemory };
    let observed = paths_at_their_rate(&configuration, Program::Random, 2000);
    assert!(is_followed(&configuration, &observed));
    let is_reshuffle = |path: &VisiblePath| path.slots.as_ref().is_some_and(|moved| moved.written.len() == 1);
    let buckets = |path: &VisiblePath| path.slots.as_ref().map_or(vec![], |moved| moved.written.clone());
    let was_written =
        |nth: usize| observed[..nth].iter().any(|path| buckets(path).contains(&buckets(&observed[nth])[0]));
    let nth = (0..observed.len()).find(|nth| is_reshuffle(&observed[*nth]) && was_written(*nth));
    let nth = nth.expect("buckets are read too often");
    let mut without = observed.clone();
    without.remove(nth);
    assert!(!is_followed(&configuration, &without));
    let mut twice = observed;
    // The bucket on the first level in memory, by the next path through it.
    let (first, second) = {
        let of_top = |path: &VisiblePath| path.slots.as_ref().map(|moved| (moved.read[0].0, moved.read[0].1));
        let first = of_top(&twice[0]);
        (0, 1 + twice[1..].iter().position(|path| of_top(path) == first).expect("it comes again"))
    };
    let slot = twice[first].slots.as_ref().expect("slots").read[0].2;
    twice[second].slots.as_mut().expect("slots").read[0].2 = slot;
    assert!(!is_followed(&configuration, &twice));
}
