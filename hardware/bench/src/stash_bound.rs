//! The bound of the stash: how many blocks wait except with a probability of 2^-80, by the tail tools of the core.
//!
//! A full tree of fewer leaves, as full as the tree of the configuration, is read in its worst order, a scan. The tail
//! of the waiting blocks is counted, and its logarithm is continued as a straight line. Longer runs count less than
//! this line further out. The distribution of a stash hardly depends on the height of the tree
//! (docs/how-it-works/stash.md).

use crate::configuration::{Configuration, Scheme};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::raw::{RawOram, RawParameters};
use ameles_core::testing::TraceStore;
use ameles_core::testing::path_tail::{WriteBacks, simulate};
use ameles_core::testing::stash_histogram::stash_histogram;
use ameles_core::testing::stash_tail::{ExponentialFit, Reads};
use ameles_core::types::{Bucket, Level};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The number of accesses after which the tail is counted.
const ACCESSES: u64 = 1_000_000;

/// The fewest samples that a value must have to count, as the core's tools have them: samples of neighbouring moments
/// are nearly the same.
const fn min_samples(scheme: Scheme) -> u64 {
    match scheme {
        Scheme::Path => 2048,
        Scheme::Raw => 200,
    }
}

/// The leaves of the trees that are simulated, as a power of two.
const LEAF_LEVEL: u32 = 8;

/// The maximum of requests ahead of the work before them: where waiting blocks and these reach C, a request waits,
/// which shows.
const REQUESTS_AHEAD: u32 = 7;

/// The probability that the bound leaves, as a power of two.
const LOG2_PROBABILITY: f64 = -80.0;

/// The bound of what waits in the stash of a configuration.
#[derive(Clone, Copy, Debug)]
pub struct StashBound {
    /// The number of blocks beyond which more wait with a probability below 2^-80.
    pub blocks: u32,
    /// The number of bits by which each further block reduces the probability.
    pub slope: f64,
}

impl StashBound {
    /// The bound of a configuration whose tree holds that many blocks for each leaf.
    ///
    /// A fuller tree has a higher bound. `None` if so few blocks wait that no tail was counted, or if the tail does not
    /// fall.
    ///
    /// # Panics
    /// If the core refuses the tree of this configuration.
    pub fn of(configuration: &Configuration, blocks_a_leaf: u32) -> Option<Self> {
        let small = LEAF_LEVEL.min(configuration.leaf_level);
        let capacity = u64::from(blocks_a_leaf) << small;
        let tail_counts = match configuration.scheme {
            Scheme::Raw => {
                let parameters = RawParameters {
                    capacity,
                    block_bytes: 0,
                    leaf_level: Level(small),
                    top: Level(0),
                    blocks_per_bucket: configuration.blocks_per_bucket,
                    eviction_rate: configuration.eviction_rate,
                    max_batch: 1,
                    stash_bound: 1 << 24,
                };
                let store = TraceStore::new(parameters.layout());
                store.record(false);
                let positions = FlatPositionMap::new(Positions::new(capacity));
                let random = ChaCha8Rng::seed_from_u64(1);
                let oram = RawOram::new(parameters, Bucket(0), &store, positions, random)
                    .expect("a configuration of the bench is one of the core");
                stash_histogram(&oram, ACCESSES)
            }
            Scheme::Path => {
                let parameters = PathParameters {
                    capacity,
                    block_bytes: 0,
                    leaf_level: Level(small),
                    top: Level(0),
                    blocks_per_bucket: configuration.blocks_per_bucket,
                    max_batch: 1,
                    stash_bound: 1 << 24,
                };
                simulate(&parameters, Reads::Scan, WriteBacks::Promptly, ACCESSES, 1).held
            }
        };
        let fit = ExponentialFit::of(&tail_counts, min_samples(configuration.scheme))
            .filter(|fit| fit.slope > 0.0)?;
        let blocks = (0..1 << 16).find(|blocks| fit.log2(f64::from(*blocks)) < LOG2_PROBABILITY)?;
        Some(StashBound { blocks, slope: fit.slope })
    }

    /// Returns whether C is enough for nothing to show, neither evictions outside of the schedule nor requests that
    /// wait for room.
    pub fn is_below(&self, stash_blocks: u32) -> bool {
        self.blocks + REQUESTS_AHEAD <= stash_blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of blocks for each leaf at which a scheme has a tail to count. The tree is at least as full as any
    /// shipped one.
    const fn blocks_a_leaf(scheme: Scheme) -> u32 {
        match scheme {
            Scheme::Path => 2,
            Scheme::Raw => 4,
        }
    }

    #[test]
    fn the_stash_of_every_shipped_configuration_is_enough_but_for_2_to_the_minus_80() {
        let mut bounds: Vec<(Configuration, StashBound)> = Vec::new();
        for (name, configuration) in Configuration::SHIPPED {
            let load = blocks_a_leaf(configuration.scheme);
            assert!(configuration.tree_blocks() <= u64::from(load) << configuration.leaf_level, "{name}");
            // Many differ only in leaves and bytes of a block, which the tool ignores.
            let shape = Configuration {
                leaf_level: 20,
                block_bytes: 64,
                blocks: 1,
                front_end: None,
                ..configuration
            };
            let known = bounds.iter().find(|(known, _)| *known == shape).map(|(_, bound)| *bound);
            let bound = known.unwrap_or_else(|| {
                let bound = StashBound::of(&shape, load).expect("enough samples");
                bounds.push((shape, bound));
                bound
            });
            assert!(
                bound.is_below(configuration.stash_blocks),
                "{name}: {bound:?} against {}",
                configuration.stash_blocks
            );
            assert!(!bound.is_below(configuration.stash_blocks / 2), "{name}: half of C is found too small");
        }
        assert_eq!(bounds.len(), 2);
    }
}
