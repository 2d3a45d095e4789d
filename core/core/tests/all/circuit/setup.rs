//! Small Circuit ORAMs over a store that records its trace.

pub(crate) use crate::model::setup::rng;
use crate::model::setup::{FlatMap, MAX_BATCH, TestStore, flat_map};
use ameles_core::schemes::circuit::{CircuitOram, CircuitParameters};
use ameles_core::types::Level;
use proptest::prelude::*;
use proptest::sample::Index;
use rand_chacha::ChaCha8Rng;

pub(crate) type FlatCircuit<S> = CircuitOram<S, FlatMap, ChaCha8Rng>;

pub(crate) fn flat_circuit<S: TestStore>(
    parameters: &CircuitParameters,
    store: S,
    seed: u64,
) -> FlatCircuit<S> {
    let positions = flat_map(parameters.capacity);
    CircuitOram::new(parameters.clone(), store, positions, rng(seed)).unwrap()
}

pub(crate) fn parameters(leaf_level: u32, top: u32) -> CircuitParameters {
    CircuitParameters {
        capacity: 2 << leaf_level,
        block_bytes: 5,
        leaf_level: Level(leaf_level),
        top: Level(top),
        blocks_per_bucket: 2,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

/// Any small parameters, with a stash that holds every block: no emergency is possible.
pub(crate) fn small() -> impl Strategy<Value = CircuitParameters> {
    (0u32..=6, 0usize..3, any::<Index>(), 2u32..5, any::<Index>()).prop_map(
        |(leaf_level, block_bytes, top, blocks_per_bucket, fill)| {
            let max = u64::from(blocks_per_bucket) << leaf_level;
            CircuitParameters {
                capacity: 1 + fill.index(max as usize) as u64,
                block_bytes: [0, 1, 9][block_bytes],
                blocks_per_bucket,
                ..parameters(leaf_level, top.index(leaf_level as usize + 1) as u32)
            }
        },
    )
}
