//! Every scheme against a plain array, on random batches that shrink.

use crate::setup::*;
use lethe_core::position_map::flat::{FlatPositionMap, Positions};
use lethe_core::schemes::ring::Ring;
use lethe_core::schemes::trivial::{TrivialOram, TrivialParameters};
use lethe_core::testing::{TraceStore, exercise};
use lethe_core::words::Bucket;
use proptest::prelude::*;

proptest! {
    #[test]
    fn path_oram_answers_like_an_array(
        (parameters, batches) in small_path().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.layout());
        exercise(&flat_path(&parameters, &store, seed), &batches, eager);
    }

    #[test]
    fn path_oram_with_a_recursive_map_answers_like_an_array(
        (parameters, map, batches) in small_path()
            .prop_flat_map(|p| (Just(p.clone()), small_map(p.capacity), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(recursive_layout(&parameters, &map).0);
        exercise(&recursive_path(&parameters, &map, &store, seed), &batches, eager);
    }

    #[test]
    fn ring_oram_answers_like_an_array(
        (parameters, batches) in small_ring().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.geometry().layout());
        let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
        exercise(&Ring::new(parameters, &store, positions, rng(seed)).unwrap(), &batches, eager);
    }

    #[test]
    fn ring_oram_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, steps) in small_ring().prop_flat_map(|p| (Just(p.clone()), schedule(p.capacity))),
        seed: u64,
    ) {
        let store = TraceStore::new(parameters.geometry().layout());
        let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
        drive(&Ring::new(parameters, &store, positions, rng(seed)).unwrap(), &store, &steps);
    }

    #[test]
    fn trivial_oram_answers_like_an_array(
        (capacity, batches) in (1u64..40).prop_flat_map(|capacity| (Just(capacity), batches(capacity))),
        block_bytes in 0u32..10,
        chunk_blocks in 1u32..50,
    ) {
        let parameters = TrivialParameters { capacity, block_bytes, chunk_blocks, max_batch: MAX_BATCH };
        let store = TraceStore::new(parameters.layout());
        exercise(&TrivialOram::new(parameters, Bucket(0), &store).unwrap(), &batches, true);
    }

    #[test]
    fn path_oram_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, steps) in small_path().prop_flat_map(|p| (Just(p.clone()), schedule(p.capacity))),
        seed: u64,
    ) {
        let store = TraceStore::new(parameters.layout());
        follow(&flat_path(&parameters, &store, seed), &store, &steps);
        let trace = store.take_trace();
        let again = TraceStore::new(parameters.layout());
        follow(&flat_path(&parameters, &again, seed), &again, &steps);
        prop_assert_eq!(trace, again.take_trace(), "a replay shows another trace");
        prop_assert!(store.contents() == again.contents(), "a replay writes other contents");
    }

    #[test]
    fn a_recursive_map_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, map, steps) in small_path()
            .prop_flat_map(|p| (Just(p.clone()), small_map(p.capacity), schedule(p.capacity))),
        seed: u64,
    ) {
        let store = TraceStore::new(recursive_layout(&parameters, &map).0);
        follow(&recursive_path(&parameters, &map, &store, seed), &store, &steps);
        let trace = store.take_trace();
        let again = TraceStore::new(recursive_layout(&parameters, &map).0);
        follow(&recursive_path(&parameters, &map, &again, seed), &again, &steps);
        prop_assert_eq!(trace, again.take_trace(), "a replay shows another trace");
    }

    #[test]
    fn trivial_oram_answers_like_an_array_in_whatever_order_the_store_finishes(
        (capacity, steps) in (1u64..20).prop_flat_map(|capacity| (Just(capacity), schedule(capacity))),
        chunk_blocks in 1u32..25,
    ) {
        let parameters = TrivialParameters { capacity, block_bytes: 2, chunk_blocks, max_batch: MAX_BATCH };
        let store = TraceStore::new(parameters.layout());
        follow(&TrivialOram::new(parameters, Bucket(0), &store).unwrap(), &store, &steps);
    }
}
