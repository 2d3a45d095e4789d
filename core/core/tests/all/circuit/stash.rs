//! The filling of the stash on its worst case, a full vault that is read in a scan, against the room that planned
//! parameters leave.

use super::setup::rng;
use crate::model::setup::{assert_steps_make_room, flat_map};
use ameles_core::schemes::circuit::{CircuitOram, CircuitParameters};
use ameles_core::testing::ArrayStore;
use ameles_core::testing::stash_histogram::stash_histogram;
use ameles_core::testing::stash_tail::{ExponentialFit, moments};
use ameles_core::types::Level;
use std::collections::BTreeMap;

/// The filling after the evictions that were due.
fn tail(parameters: &CircuitParameters, accesses: u64, seed: u64) -> BTreeMap<i64, u64> {
    let store = ArrayStore::new(&parameters.layout());
    let positions = flat_map(parameters.capacity);
    stash_histogram(&CircuitOram::new(parameters.clone(), store, positions, rng(seed)).unwrap(), accesses)
}

/// Capacity, trusted blocks and largest batch of the ORAMs for which the claim is made. They have no trusted top or a
/// high one, few subtrees or many, and batches.
const PLANNED: [(u64, u64, u32); 6] =
    [(4096, 0, 1), (4096, 16, 1), (4096, 256, 1), (4096, 4096, 1), (16_384, 512, 1), (4096, 64, 16)];

#[test]
fn an_eviction_outside_of_the_schedule_is_rarer_than_2_to_the_minus_80_with_planned_parameters() {
    for (capacity, trusted, max_batch) in PLANNED {
        let parameters = CircuitParameters::for_capacity(capacity, 0, trusted, max_batch).unwrap();
        let held = tail(&parameters, 600_000, 1);
        let (mean, deviation) = moments(&held);
        let bound = f64::from(parameters.waiting_bound());
        let left = (bound - mean) / deviation.max(1.0);
        assert!(left > 10.5, "{parameters:?}: {mean:.1} wait, deviation {deviation:.2}, {left:.2} are left");
        assert!(mean <= trusted.max(2) as f64, "{parameters:?}: {mean:.1} wait on average");
        // Too few samples for a line lie in a tail of one or two blocks.
        if let Some(fit) = ExponentialFit::of(&held, 20) {
            assert!(fit.log2(bound) < -80.0, "{parameters:?}: 2^{:.1}", fit.log2(bound));
            let less = mean + (bound - mean) / 3.0;
            assert!(fit.log2(less) > -80.0, "a third of the room is told from enough");
        }
    }
}

#[test]
fn a_bucket_of_two_is_enough_where_the_tree_is_half_full() {
    let planned = CircuitParameters::for_capacity(4096, 0, 0, 1).unwrap();
    assert_eq!((planned.leaf_level, planned.top, planned.blocks_per_bucket), (Level(11), Level(0), 2));
    let (mean, _) = moments(&tail(&planned, 100_000, 2));
    assert!(mean < 0.1, "{mean:.3} blocks in the stash");
}

#[test]
fn one_eviction_makes_room_when_the_stash_has_none() {
    // The schedule alone does not keep so low a bound.
    let parameters =
        CircuitParameters { stash_bound: 1, ..CircuitParameters::for_capacity(256, 0, 0, 1).unwrap() };
    let store = ArrayStore::new(&parameters.layout());
    let positions = flat_map(parameters.capacity);
    let oram = CircuitOram::new(parameters, store, positions, rng(1)).unwrap();
    assert_steps_make_room(&oram, 1);
}
