//! Every scheme against a plain array, on random batches that shrink.

use lethe_core::position_map::flat::{FlatPositionMap, Positions};
use lethe_core::schemes::path::{PathOram, PathParameters};
use lethe_core::testing::{Operation, TraceStore, exercise};
use lethe_core::words::{BlockId, Bucket, Level};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const MAX_BATCH: usize = 6;

fn operation(capacity: u64) -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (0..capacity).prop_map(|block| Operation::Read(BlockId(block))),
        3 => (0..capacity, any::<u8>()).prop_map(|(block, seed)| Operation::Write(BlockId(block), seed)),
        1 => Just(Operation::Dummy),
    ]
}

fn batches(capacity: u64) -> impl Strategy<Value = Vec<Vec<Operation>>> {
    prop::collection::vec(prop::collection::vec(operation(capacity), 0..=MAX_BATCH), 0..60)
}

fn small_path() -> impl Strategy<Value = PathParameters> {
    (0u32..=6, 0usize..3, any::<prop::sample::Index>()).prop_map(|(leaf_level, block_bytes, top)| {
        PathParameters {
            capacity: 3 << leaf_level,
            block_bytes: [0, 1, 9][block_bytes],
            leaf_level: Level(leaf_level),
            top: Level(top.index(leaf_level as usize + 1) as u32),
            blocks_per_bucket: 4,
            max_batch: MAX_BATCH,
            stash_bound: 1000,
        }
    })
}

proptest! {
    #[test]
    fn path_oram_answers_like_an_array(
        (parameters, batches) in small_path().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.layout());
        let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
        let oram = PathOram::new(parameters, Bucket(0), &store, positions, ChaCha8Rng::seed_from_u64(seed)).unwrap();
        exercise(&oram, &batches, eager);
    }
}
