//! The schedule of evictions: when a path is evicted, and which one. It is a function of the count of accesses, which
//! is public.

use crate::types::{Leaf, Level};
use borsh::{BorshDeserialize, BorshSerialize};

/// The number of evictions, or of their slices, for a number of accesses. Ring ORAM evicts one path every A accesses,
/// Circuit ORAM two after each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) evictions: u64,
    pub(crate) accesses: u64,
}

/// The progress of the schedule of evictions. Public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct EvictionSchedule {
    /// The number of accesses so far.
    pub(crate) accesses: u64,
    /// The number of evictions begun, or of their slices, those outside of the schedule among them.
    pub(crate) begun: u64,
    /// The number of them outside of the schedule.
    pub(crate) emergencies: u64,
}

impl EvictionSchedule {
    /// Returns the number of evictions, or of their slices, that are due and have not begun.
    pub(crate) fn behind(&self, pace: Pace) -> u64 {
        let due = self.accesses.saturating_mul(pace.evictions) / pace.accesses;
        due.saturating_sub(self.begun - self.emergencies)
    }

    /// The path that is evicted next.
    pub(crate) fn next(&self, leaf_level: Level) -> Leaf {
        reverse_lexicographic(self.begun, leaf_level)
    }

    /// Begins the next eviction and returns its path.
    pub(crate) fn begin(&mut self, leaf_level: Level) -> Leaf {
        let path = self.next(leaf_level);
        self.begun += 1;
        path
    }
}

/// The path of an eviction in reverse lexicographic order (Gentry et al. 2013; Ring ORAM, section 3.3). It is the
/// mirrored bits of the eviction's number, which counts from 0. Successive paths share as few buckets as possible.
/// Every bucket of level `l` is visited exactly once in `2^l` evictions.
pub fn reverse_lexicographic(eviction: u64, leaf_level: Level) -> Leaf {
    if leaf_level.0 == 0 {
        return Leaf(0);
    }
    Leaf(eviction.reverse_bits() >> (u64::BITS - leaf_level.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn it_mirrors_the_bits_of_the_number() {
        let order: Vec<u64> = (0..8).map(|turn| reverse_lexicographic(turn, Level(3)).0).collect();
        assert_eq!(order, [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(reverse_lexicographic(11, Level(0)), Leaf(0));
    }

    #[test]
    fn evictions_follow_the_count_of_accesses() {
        let (ring, circuit) = (Pace { evictions: 1, accesses: 3 }, Pace { evictions: 2, accesses: 1 });
        let mut schedule = EvictionSchedule { accesses: 8, ..EvictionSchedule::default() };
        assert_eq!((schedule.behind(ring), schedule.behind(circuit)), (2, 16));
        assert_eq!((schedule.begin(Level(3)), schedule.begin(Level(3))), (Leaf(0), Leaf(4)));
        assert_eq!((schedule.behind(ring), schedule.behind(circuit)), (0, 14));
        // An emergency is not part of the schedule: it leaves as much behind.
        schedule.emergencies += 1;
        schedule.begin(Level(3));
        assert_eq!((schedule.behind(circuit), schedule.next(Level(3))), (14, Leaf(6)));
    }

    #[test]
    fn every_leaf_comes_once_a_round() {
        let mut order: Vec<u64> = (64..128).map(|turn| reverse_lexicographic(turn, Level(6)).0).collect();
        order.sort_unstable();
        assert_eq!(order, (0..64).collect::<Vec<u64>>());
    }
}
