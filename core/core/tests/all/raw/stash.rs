//! The number of blocks in the stash in the worst case, a full vault that is read in a scan. It is compared with the
//! room of planned parameters and with that of the paper's parameters.

use super::setup::rng;
use crate::model::setup::{assert_steps_make_room, flat_map};
use ameles_core::schemes::raw::{RawOram, RawParameters};
use ameles_core::testing::TraceStore;
use ameles_core::testing::stash_histogram::stash_histogram;
use ameles_core::testing::stash_tail::{ExponentialFit, moments};
use ameles_core::types::{Bucket, Level};
use std::collections::BTreeMap;

/// The filling after the evictions that were due.
fn tail(parameters: &RawParameters, accesses: u64, seed: u64) -> BTreeMap<i64, u64> {
    let store = TraceStore::new(parameters.layout());
    store.record(false);
    let positions = flat_map(parameters.capacity);
    let oram = RawOram::new(parameters.clone(), Bucket(0), &store, positions, rng(seed)).unwrap();
    stash_histogram(&oram, accesses)
}

/// Capacity, trusted blocks and largest batch of the ORAMs for which the claim is made. They have no trusted top or a
/// high one, few subtrees or many, and batches.
const PLANNED: [(u64, u64, u32); 6] =
    [(1024, 0, 1), (1024, 23, 1), (1024, 90, 1), (1024, 1024, 1), (4096, 360, 1), (1024, 23, 16)];

#[test]
fn an_eviction_outside_of_the_schedule_is_rarer_than_2_to_the_minus_80_with_planned_parameters() {
    for (capacity, trusted, max_batch) in PLANNED {
        let parameters = RawParameters::for_capacity(capacity, 0, trusted, max_batch).unwrap();
        let held = tail(&parameters, 200_000, 1);
        let (mean, deviation) = moments(&held);
        let bound = f64::from(parameters.waiting_bound());
        let left = (bound - mean) / deviation;
        assert!(left > 10.5, "{parameters:?}: {mean:.1} wait, deviation {deviation:.2}, {left:.2} are left");
        assert!(mean <= parameters.waiting(), "{parameters:?}: {mean:.1} wait on average");
        // A line through the tail of many subtrees, which falls like the tail of a Gaussian, is far above it further
        // out.
        if parameters.top > Level(5) {
            assert!(left > 16.0, "{parameters:?}: {left:.2} are left");
            continue;
        }
        // Neighbouring samples are nearly the same.
        let fit = ExponentialFit::of(&held, 100).expect("enough samples");
        assert!(fit.log2(bound) < -80.0, "{parameters:?}: 2^{:.1}", fit.log2(bound));
        let less = mean + (bound - mean) / 3.0;
        assert!(fit.log2(less) > -80.0, "{parameters:?}: a third of the room is told from enough");
    }
}

#[test]
fn the_paper_s_stash_of_64_blocks_is_enough_for_four_blocks_a_leaf_and_not_for_five() {
    // Z = A = 5 and C = 64, section IV-B. The paper does not say how full the tree is.
    let beyond = |load: u64| {
        let planned = RawParameters::for_capacity(4 << 8, 0, 0, 1).unwrap();
        assert_eq!((planned.leaf_level, planned.top), (Level(8), Level(0)));
        let parameters = RawParameters { capacity: load << 8, ..planned };
        ExponentialFit::of(&tail(&parameters, 400_000, 2), 100).expect("enough samples").log2(64.0)
    };
    let (four, five) = (beyond(4), beyond(5));
    assert!(four < -80.0 && five > -80.0, "2^{four:.1} and 2^{five:.1}");
}

#[test]
fn evictions_make_room_when_the_stash_has_none() {
    // The schedule alone does not keep so low a bound.
    let planned = RawParameters::for_capacity(256, 0, 0, 1).unwrap();
    let parameters = RawParameters { stash_bound: 3, ..planned };
    let store = TraceStore::new(parameters.layout());
    store.record(false);
    let positions = flat_map(parameters.capacity);
    let oram = RawOram::new(parameters, Bucket(0), &store, positions, rng(1)).unwrap();
    assert_steps_make_room(&oram, 3);
}
