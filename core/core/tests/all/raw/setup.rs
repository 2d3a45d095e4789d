//! Small RAW ORAMs over a store that records its trace.

pub(crate) use crate::model::setup::rng;
use crate::model::setup::{FlatMap, MAX_BATCH, TestStore, flat_map};
use ameles_core::schemes::raw::{RawOram, RawParameters};
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Level};
use proptest::prelude::*;
use proptest::sample::Index;
use rand_chacha::ChaCha8Rng;

pub(crate) type FlatRaw<S> = RawOram<S, FlatMap, ChaCha8Rng>;

pub(crate) fn flat_raw<S: TestStore>(parameters: &RawParameters, store: S, seed: u64) -> FlatRaw<S> {
    let positions = flat_map(parameters.capacity);
    RawOram::new(parameters.clone(), Bucket(0), store, positions, rng(seed)).unwrap()
}

/// Buckets of the paper's size, half full.
pub(crate) fn parameters(leaf_level: u32, top: u32) -> RawParameters {
    RawParameters {
        capacity: 5 << leaf_level,
        block_bytes: 5,
        leaf_level: Level(leaf_level),
        top: Level(top),
        blocks_per_bucket: 5,
        eviction_rate: 5,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

/// The shape of its headers, which come before the bodies.
pub(crate) fn headers(parameters: &RawParameters) -> Layout {
    let extents = parameters.layout().extents().to_vec();
    Layout::new(extents[..parameters.path_buckets()].to_vec())
}

/// Any small parameters, with a stash that holds every block: no emergency is possible.
pub(crate) fn small() -> impl Strategy<Value = RawParameters> {
    (0u32..=6, 0usize..3, any::<Index>(), 2u32..6, any::<Index>(), any::<Index>()).prop_map(
        |(leaf_level, block_bytes, top, blocks_per_bucket, rate, fill)| {
            let max = u64::from(blocks_per_bucket) << leaf_level;
            RawParameters {
                capacity: 1 + fill.index(max as usize) as u64,
                block_bytes: [0, 1, 9][block_bytes],
                blocks_per_bucket,
                eviction_rate: 1 + rate.index(2 * blocks_per_bucket as usize - 1) as u32,
                ..parameters(leaf_level, top.index(leaf_level as usize + 1) as u32)
            }
        },
    )
}
