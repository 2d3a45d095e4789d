//! Circuit ORAM answers like an array, in whatever order the store gets done.

use super::setup::*;
use crate::model::setup::{assert_replays, batches, drive, schedule, small_map};
use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::recursive::{RecursiveParameters, RecursivePositionMap};
use ameles_core::schemes::circuit::{CircuitOram, CircuitParameters};
use ameles_core::testing::{TraceEntry, TraceStore, exercise, finish_now, settle};
use ameles_core::types::BlockId;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

fn recursive<'a>(
    parameters: &CircuitParameters,
    map: &RecursiveParameters,
    store: &'a TraceStore,
    seed: u64,
) -> CircuitOram<&'a TraceStore, RecursivePositionMap<&'a TraceStore, ChaCha8Rng>, ChaCha8Rng> {
    let first = parameters.layout().append(&map.layout().unwrap());
    let mut random = rng(seed);
    let positions = RecursivePositionMap::new(map, first, store, &mut random).unwrap();
    CircuitOram::new(parameters.clone(), store, positions, random).unwrap()
}

fn recursive_store(parameters: &CircuitParameters, map: &RecursiveParameters) -> TraceStore {
    let mut layout = parameters.layout();
    layout.append(&map.layout().unwrap());
    TraceStore::new(layout)
}

proptest! {
    #[test]
    fn circuit_oram_answers_like_an_array(
        (parameters, batches) in small().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.layout());
        exercise(&flat_circuit(&parameters, &store, seed), &batches, eager);
    }

    #[test]
    fn circuit_oram_with_a_recursive_map_answers_like_an_array(
        (parameters, map, batches) in small()
            .prop_flat_map(|p| (Just(p.clone()), small_map(p.capacity), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = recursive_store(&parameters, &map);
        exercise(&recursive(&parameters, &map, &store, seed), &batches, eager);
    }

    #[test]
    fn circuit_oram_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, steps) in small().prop_flat_map(|p| (Just(p.clone()), schedule(p.capacity))),
        seed: u64,
    ) {
        assert_replays(&parameters.layout(), |store| {
            drive(&flat_circuit(&parameters, store, seed), store, &steps);
        });
    }

    #[test]
    fn circuit_oram_with_a_recursive_map_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, map, steps) in small()
            .prop_flat_map(|p| (Just(p.clone()), small_map(p.capacity), schedule(p.capacity))),
        seed: u64,
    ) {
        let store = recursive_store(&parameters, &map);
        drive(&recursive(&parameters, &map, &store, seed), &store, &steps);
    }
}

#[test]
fn an_access_costs_the_slots_and_round_trips_that_it_says() {
    let parameters = parameters(6, 2);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_circuit(&parameters, &store, 1);
    let k = parameters.path_buckets();
    let (mut on_line, mut read, mut written) = (0, 0, 0);
    for nth in 0..500 {
        finish_now(oram.access(&mut [Access::Write(BlockId(nth % 128), &[1; 5])])).unwrap();
        let [TraceEntry::Read(slots)] = &store.take_trace()[..] else { panic!("one round trip on line") };
        assert_eq!(slots.len(), k);
        on_line += slots.len();
        finish_now(settle(&oram));
        let trace = store.take_trace();
        let [TraceEntry::Read(slots), TraceEntry::Write(buckets)] = &trace[..] else { panic!("{trace:?}") };
        assert!(slots.len() <= 2 * k && buckets.len() == k + slots.len());
        (read, written) = (read + slots.len(), written + buckets.len());
    }
    assert!(on_line + read == written && written <= 3 * on_line);
}
