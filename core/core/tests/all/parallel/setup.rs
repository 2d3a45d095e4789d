//! Small parallel ORAMs over a store that records the traces of all processors.

pub(crate) use crate::model::setup::rng;
use crate::model::setup::{FlatMap, flat_map};
use ameles_core::network::Network;
use ameles_core::schemes::parallel::{ParallelOram, ParallelParameters};
use ameles_core::testing::{ProcessorStore, TraceStore, TraceStoreError, processor_stores};
use ameles_core::types::Level;
use proptest::prelude::*;
use proptest::sample::Index;
use rand_chacha::ChaCha8Rng;
use std::ops::Deref;

/// A parallel ORAM over the parts of a store, with a map of all positions.
pub(crate) type FlatParallel<S> = ParallelOram<ProcessorStore<S>, S, FlatMap, ChaCha8Rng>;

pub(crate) fn flat_parallel<S>(parameters: &ParallelParameters, store: S, seed: u64) -> FlatParallel<S>
where
    S: Deref<Target = TraceStore> + Network<Error = TraceStoreError> + Clone,
{
    let positions = flat_map(parameters.capacity);
    let stores = processor_stores(store.clone(), parameters.processors);
    ParallelOram::new(parameters.clone(), stores, store, positions, rng(seed)).unwrap()
}

/// A full tree of this many levels below each processor's first one, of which some are on the trusted side.
pub(crate) fn parameters(processors: u32, levels: u32, trusted: u32) -> ParallelParameters {
    let bits = processors.ilog2();
    ParallelParameters {
        capacity: 2 << (bits + levels),
        block_bytes: 5,
        processors,
        leaf_level: Level(bits + levels),
        top: Level(bits + trusted),
        blocks_per_bucket: 2,
        stash_bound: 1000,
    }
}

/// Any small parameters, with stashes that hold every block: no emergency is possible.
pub(crate) fn small() -> impl Strategy<Value = ParallelParameters> {
    (0u32..=3, 0u32..=4, 0usize..3, any::<Index>(), 2u32..5, any::<Index>()).prop_map(
        |(bits, levels, block_bytes, trusted, blocks_per_bucket, fill)| {
            let max = u64::from(blocks_per_bucket) << (bits + levels);
            ParallelParameters {
                capacity: 1 + fill.index(max as usize) as u64,
                block_bytes: [0, 1, 9][block_bytes],
                blocks_per_bucket,
                ..parameters(1 << bits, levels, trusted.index(levels as usize + 1) as u32)
            }
        },
    )
}
