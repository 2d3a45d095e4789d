//! Ring ORAM answers like an array and shows its schedule, for any order in which the store finishes.

use super::setup::*;
use ameles_core::testing::{ArrayModel, exercise};
use proptest::prelude::*;

fn answers_like_an_array_in_any_order(
    parameters: &ameles_core::schemes::ring::RingParameters,
    batches: &[Vec<ameles_core::testing::Operation>],
    order: &Order,
    seed: u64,
) {
    let store = store_for(parameters);
    let ring = flat_ring(parameters, &store, seed);
    let mut model = ArrayModel::new(parameters.capacity, parameters.block_bytes as usize);
    let events = interleave(&ring, &store, &mut model, batches, order);
    assert_public(parameters, &events);
    assert_nothing_lost(&ring, &mut model);
}

proptest! {
    #[test]
    fn ring_oram_answers_like_an_array(
        (parameters, batches) in with_batches(small()), seed: u64, eager: bool,
    ) {
        let store = store_for(&parameters);
        exercise(&flat_ring(&parameters, &store, seed), &batches, eager);
    }

    #[test]
    fn planned_ring_orams_answer_like_an_array_and_need_no_emergency(
        (parameters, batches) in with_batches(planned()), seed: u64, eager: bool,
    ) {
        let store = store_for(&parameters);
        exercise(&flat_ring(&parameters, &store, seed), &batches, eager);
    }

    #[test]
    fn accesses_beside_evictions_answer_like_an_array_and_show_the_schedule_only(
        (parameters, batches) in with_batches(small()), order in order(), seed: u64,
    ) {
        answers_like_an_array_in_any_order(&parameters, &batches, &order, seed);
    }

    #[test]
    fn planned_accesses_beside_evictions_answer_like_an_array_and_show_the_schedule_only(
        (parameters, batches) in with_batches(planned()), order in order(), seed: u64,
    ) {
        answers_like_an_array_in_any_order(&parameters, &batches, &order, seed);
    }

    #[test]
    fn the_same_seed_and_order_give_the_same_trace(
        (parameters, batches) in with_batches(small()), order in order(), seed: u64,
    ) {
        let run = || {
            let store = store_for(&parameters);
            let ring = flat_ring(&parameters, &store, seed);
            let mut model = ArrayModel::new(parameters.capacity, parameters.block_bytes as usize);
            interleave(&ring, &store, &mut model, &batches, &order)
        };
        prop_assert_eq!(run(), run());
    }
}
