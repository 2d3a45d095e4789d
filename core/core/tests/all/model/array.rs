//! Every scheme against a plain array, on random batches that shrink.

use super::setup::*;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::position_map::recursive::RecursivePositionMap;
use ameles_core::schemes::path::PathOram;
use ameles_core::schemes::ring::RingOram;
use ameles_core::schemes::trivial::{TrivialOram, TrivialParameters};
use ameles_core::testing::{TraceStore, exercise};
use ameles_core::types::Bucket;
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
    fn path_oram_with_buckets_by_level_answers_like_an_array(
        (buckets, batches) in small_buckets()
            .prop_flat_map(|b| { let capacity = b.parameters().capacity; (Just(b), batches(capacity)) }),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(buckets.layout());
        let positions = FlatPositionMap::new(Positions::new(buckets.parameters().capacity));
        let oram = PathOram::with_buckets(&buckets, Bucket(0), &store, positions, rng(seed));
        exercise(&oram, &batches, eager);
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
    fn ring_oram_with_a_recursive_map_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, map, steps) in small_ring()
            .prop_flat_map(|p| (Just(p.clone()), small_map(p.capacity), schedule(p.capacity))),
        seed: u64,
    ) {
        let mut layout = parameters.geometry().layout();
        let first = layout.append(&map.layout().unwrap());
        let store = TraceStore::new(layout);
        let mut rng = rng(seed);
        let positions = RecursivePositionMap::new(&map, first, &store, &mut rng).unwrap();
        drive(&RingOram::new(parameters, &store, positions, rng).unwrap(), &store, &steps);
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
        assert_replays(&parameters.layout(), |store| {
            drive(&flat_path(&parameters, store, seed), store, &steps);
        });
    }

    #[test]
    fn a_recursive_map_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, map, steps) in small_path()
            .prop_flat_map(|p| (Just(p.clone()), small_map(p.capacity), schedule(p.capacity))),
        seed: u64,
    ) {
        assert_replays(&recursive_layout(&parameters, &map).0, |store| {
            drive(&recursive_path(&parameters, &map, store, seed), store, &steps);
        });
    }

    #[test]
    fn trivial_oram_answers_like_an_array_in_whatever_order_the_store_finishes(
        (capacity, steps) in (1u64..20).prop_flat_map(|capacity| (Just(capacity), schedule(capacity))),
        chunk_blocks in 1u32..25,
    ) {
        let parameters = TrivialParameters { capacity, block_bytes: 2, chunk_blocks, max_batch: MAX_BATCH };
        let store = TraceStore::new(parameters.layout());
        drive(&TrivialOram::new(parameters, Bucket(0), &store).unwrap(), &store, &steps);
    }

    #[test]
    fn square_root_oram_answers_like_an_array(
        (parameters, batches) in
            small_square_root().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.layout());
        exercise(&square_root(&parameters, &store, seed), &batches, eager);
    }

    #[test]
    fn square_root_oram_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, steps) in
            small_square_root().prop_flat_map(|p| (Just(p.clone()), schedule(p.capacity))),
        seed: u64,
    ) {
        assert_replays(&parameters.layout(), |store| {
            drive(&square_root(&parameters, store, seed), store, &steps);
        });
    }

    #[test]
    fn hierarchical_oram_answers_like_an_array(
        (parameters, batches) in
            small_hierarchical().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.layout());
        exercise(&hierarchical(&parameters, &store, seed), &batches, eager);
    }

    #[test]
    fn hierarchical_oram_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, steps) in
            small_hierarchical().prop_flat_map(|p| (Just(p.clone()), schedule(p.capacity))),
        seed: u64,
    ) {
        assert_replays(&parameters.layout(), |store| {
            drive(&hierarchical(&parameters, store, seed), store, &steps);
        });
    }

    #[test]
    fn curious_answers_like_an_array(
        (parameters, batches) in
            small_curious().prop_flat_map(|p| (Just(p.clone()), batches(p.partitions.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.layout());
        exercise(&curious_oram(&parameters, &store, seed), &batches, eager);
    }

    #[test]
    fn curious_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, steps) in
            small_curious().prop_flat_map(|p| (Just(p.clone()), schedule(p.partitions.capacity))),
        seed: u64,
    ) {
        assert_replays(&parameters.layout(), |store| {
            drive(&curious_oram(&parameters, store, seed), store, &steps);
        });
    }

    #[test]
    fn oblivistore_answers_like_an_array(
        (parameters, batches) in
            small_oblivistore().prop_flat_map(|p| (Just(p.clone()), batches(p.partitions.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.layout());
        exercise(&oblivistore_oram(&parameters, &store, seed), &batches, eager);
    }

    #[test]
    fn oblivistore_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, steps) in
            small_oblivistore().prop_flat_map(|p| (Just(p.clone()), schedule(p.partitions.capacity))),
        seed: u64,
    ) {
        assert_replays(&parameters.layout(), |store| {
            drive(&oblivistore_oram(&parameters, store, seed), store, &steps);
        });
    }

    #[test]
    fn practical_os_answers_like_an_array(
        (parameters, batches) in
            small_practical_os().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.layout());
        exercise(&practical_os(&parameters, &store, seed), &batches, eager);
    }

    #[test]
    fn practical_os_answers_like_an_array_in_whatever_order_the_store_finishes(
        (parameters, steps) in
            small_practical_os().prop_flat_map(|p| (Just(p.clone()), schedule(p.capacity))),
        seed: u64,
    ) {
        assert_replays(&parameters.layout(), |store| {
            drive(&practical_os(&parameters, store, seed), store, &steps);
        });
    }

    #[test]
    fn root_oram_answers_like_an_array(
        (parameters, batches) in
            small_root().prop_flat_map(|p| (Just(p.clone()), batches(p.path.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.path.layout());
        exercise(&root(&parameters, &store, seed), &batches, eager);
    }
}
