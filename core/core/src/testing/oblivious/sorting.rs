//! The trace of an oblivious sort, which does not depend on the records.

use super::super::trace_store::TraceEntry;
use crate::types::{Bucket, Slot};
use alloc::vec;
use alloc::vec::Vec;

/// The slots of buckets of one slot.
pub(super) fn slots(places: impl Iterator<Item = u64>) -> Vec<Slot> {
    places.map(|place| Slot { bucket: Bucket(place), index: 0 }).collect()
}

/// The buckets of these numbers.
pub(super) fn buckets(places: impl Iterator<Item = u64>) -> Vec<Bucket> {
    places.map(Bucket).collect()
}

/// The trace of a sort of runs of this length, whose first bucket has this number. Each run is read and written, then
/// the two runs of each comparator.
pub(super) fn sort(first: u64, runs: u64, length: u64) -> impl Iterator<Item = TraceEntry> {
    let pairs = comparators(runs).into_iter().map(|(one, other)| vec![one, other]);
    (0..runs).map(|run| vec![run]).chain(pairs).flat_map(move |runs| {
        let places = || runs.iter().flat_map(|run| first + run * length..first + (run + 1) * length);
        [TraceEntry::Read(slots(places())), TraceEntry::Write(buckets(places()))]
    })
}

/// The comparators of merge exchange, one after the other.
fn comparators(places: u64) -> Vec<(u64, u64)> {
    stages(places).concat()
}

/// The stages of merge exchange, as Knuth has the algorithm: steps M1 to M6. M4 compares all of a stage.
pub(super) fn stages(places: u64) -> Vec<Vec<(u64, u64)>> {
    let mut stages = Vec::new();
    let max = places.next_power_of_two() / 2;
    let mut p = max;
    while p > 0 {
        let (mut q, mut r, mut d) = (max, 0, p);
        loop {
            let first = (0..places.saturating_sub(d)).filter(|i| i & p == r);
            stages.push(first.map(|i| (i, i + d)).collect());
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    stages
}
