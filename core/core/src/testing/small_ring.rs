//! A small Ring ORAM for tests.

use crate::schemes::ring::{RingBucket, RingParameters};
use crate::types::Level;

/// The parameters of sixteen leaves in two untrusted subtrees, with an eviction for three accesses. Each bucket has a
/// dummy for each of `reads`.
pub fn small_ring(reads: u32) -> RingParameters {
    RingParameters {
        capacity: 64,
        block_bytes: 16,
        leaf_level: Level(4),
        top: Level(1),
        eviction_rate: 3,
        reads,
        inner: RingBucket { blocks: 4, slots: 4 + reads },
        leaf: RingBucket { blocks: 10, slots: 10 + reads },
        max_batch: 4,
        stash_bound: 64,
        slice_slots: u32::MAX,
    }
}
