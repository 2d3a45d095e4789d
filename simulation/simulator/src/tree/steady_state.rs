//! The state of a tree after many accesses, drawn directly: a tree of gigabytes would take longer to fill by accesses
//! than all runs together.
//!
//! A block is put into its path when it is accessed, and sinks whenever a path is written back that shares more
//! levels with its own than it has sunk. After `a` paths it could be as deep as the longest prefix that `a` random
//! paths share with its own, if there was room. So the blocks are placed by their age, the oldest first, each as deep
//! as its age and the free slots allow. What finds no room below the trusted levels is returned.
//!
//! It is an approximation: a block that found no room once sinks later only when a path passes by. Tests compare the
//! utilisation of each level with that of a tree which was filled by accesses.

use super::{huge_pages, slots::Slots};
use crate::tree_scheme::TreeScheme;
use ameles_core::schemes::freecursive::AddressSpace;
use ameles_core::types::{BlockId, Leaf};
use rand_core::RngCore;
use std::ops::Range;

/// The accesses that led to the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Every block of the user was accessed once, in a random order.
    Filled,
    /// Random blocks were accessed for long.
    Random,
    /// No accesses: every block was put as near to the leaves as there was room, so that levels above are empty. So
    /// IR-ORAM's authors begin.
    Packed,
}

/// The paths by which blocks sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionModel {
    /// Each path that is accessed.
    ByEachPath,
    /// Evictions in reverse lexicographic order, one after a fixed number of accesses. A bucket has one in 2^l of
    /// them.
    ByEvictions {
        /// A.
        rate: u32,
    },
}

/// A drawn state: the positions of all blocks, and the blocks that found no room.
#[derive(Debug)]
pub struct SteadyState {
    /// A word for each block: its leaf + 1.
    pub positions: Vec<u32>,
    /// The blocks that are on the trusted side, with their leaves.
    pub trusted: Vec<(BlockId, Leaf)>,
}

/// Fills empty slots with all blocks of an address space, one subtree below the trusted levels after the other.
pub fn fill(
    slots: &mut Slots,
    space: &AddressSpace,
    (history, eviction_model): (History, EvictionModel),
    random: &mut impl RngCore,
) -> SteadyState {
    let mut state =
        SteadyState { positions: huge_pages::zeros(space.blocks() as usize), trusted: Vec::new() };
    let mut shares = shares(slots, space, random);
    for subtree in 0..1 << slots.top().0 {
        let mut streams = Vec::new();
        for (level, shares) in (0..).zip(&mut shares) {
            streams.push(shares.stream(subtree, space, level, history));
        }
        fill_subtree(slots, (subtree as u64, eviction_model), &mut streams, &mut state, random);
    }
    state
}

/// The blocks of a level of the address space, dealt to the subtrees.
struct Shares {
    permutation: Permutation,
    /// Blocks of each subtree, and those dealt so far.
    sizes: Vec<u32>,
    assigned: u64,
}

/// Deals the blocks of each level: every block to a random subtree.
fn shares(slots: &Slots, space: &AddressSpace, random: &mut impl RngCore) -> Vec<Shares> {
    let of_level = |level| {
        let blocks = space.blocks_of(level);
        let subtrees = 1 << slots.top().0;
        let mut sizes = vec![0; subtrees];
        for _ in blocks.clone() {
            sizes[random.next_u32() as usize & (subtrees - 1)] += 1;
        }
        Shares { permutation: Permutation::of(blocks), sizes, assigned: 0 }
    };
    (0..=space.maps()).map(of_level).collect()
}

impl Shares {
    /// The blocks of the next subtree. An access to a block of the user accesses a path for it, and one for each
    /// PosMap block.
    fn stream(&mut self, subtree: usize, space: &AddressSpace, level: u32, history: History) -> Stream {
        let blocks = u64::from(self.sizes[subtree]);
        let first = self.assigned;
        self.assigned += blocks;
        let mean = f64::from(space.maps() + 1) * (self.permutation.blocks() as f64);
        // A PosMap block is accessed again before every user's block was.
        let history = match history {
            History::Filled if level > 0 => History::Random,
            history => history,
        };
        Stream { permutation: self.permutation.clone(), first, blocks, next: 0, mean, history }
    }
}

/// The blocks of a subtree and of one level of the address space, the oldest first.
struct Stream {
    permutation: Permutation,
    first: u64,
    blocks: u64,
    next: u64,
    /// Paths between two accesses of a block, on average.
    mean: f64,
    history: History,
}

impl Stream {
    /// The age of the next block, in paths.
    fn age(&self) -> Option<f64> {
        let share = (self.next as f64 + 0.5) / self.blocks as f64;
        (self.next < self.blocks).then(|| match self.history {
            History::Filled => self.mean * (1.0 - share),
            History::Random => -self.mean * libm::log(share),
            History::Packed => f64::INFINITY,
        })
    }

    fn block(&mut self) -> BlockId {
        self.next += 1;
        self.permutation.nth(self.first + self.next - 1)
    }
}

/// The blocks of a level in an order that has nothing to do with their numbers.
#[derive(Clone)]
struct Permutation {
    blocks: Range<u64>,
}

impl Permutation {
    fn of(blocks: Range<u64>) -> Self {
        Permutation { blocks }
    }

    fn blocks(&self) -> u64 {
        self.blocks.end - self.blocks.start
    }

    fn nth(&self, mut at: u64) -> BlockId {
        let mask = self.blocks().next_power_of_two() - 1;
        let bits = mask.count_ones();
        // Odd factors and shifts permute the numbers below a power of two; those beyond the level are walked through.
        loop {
            for _ in 0..2 {
                at = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
                at ^= at >> bits.div_ceil(2);
            }
            if at < self.blocks() {
                return BlockId(self.blocks.start + at);
            }
        }
    }
}

/// Places the blocks of a subtree.
fn fill_subtree(
    slots: &mut Slots,
    (subtree, eviction_model): (u64, EvictionModel),
    streams: &mut [Stream],
    state: &mut SteadyState,
    random: &mut impl RngCore,
) {
    let (leaf_level, top) = (slots.leaf_level().0, slots.top().0);
    let below = leaf_level - top;
    let mut ages: Vec<Option<f64>> = streams.iter().map(Stream::age).collect();
    let oldest = |ages: &[Option<f64>]| {
        let ages = ages.iter().enumerate().filter_map(|(nth, age)| Some((nth, (*age)?)));
        ages.max_by(|(_, one), (_, other)| one.total_cmp(other))
    };
    while let Some((nth, age)) = oldest(&ages) {
        let block = streams[nth].block();
        ages[nth] = streams[nth].age();
        let draw = random.next_u64();
        let leaf = Leaf(subtree << below | draw & ((1 << below) - 1));
        state.positions[block.0 as usize] = leaf.0 as u32 + 1;
        let depth = eviction_model.deepest(age, (draw >> 32) as u32).min(leaf_level);
        let is_placed = (top..=depth).rev().any(|level| slots.put(level, block, leaf));
        if !is_placed {
            state.trusted.push((block, leaf));
        }
    }
}

impl EvictionModel {
    /// The paths by which the blocks of a scheme's tree sink.
    pub(crate) fn of(scheme: TreeScheme) -> Self {
        match scheme {
            TreeScheme::Path => EvictionModel::ByEachPath,
            TreeScheme::Raw { eviction_rate: rate, .. } | TreeScheme::Ring { eviction_rate: rate, .. } => {
                EvictionModel::ByEvictions { rate }
            }
        }
    }

    /// The length of the longest beginning that those of `age` paths which let blocks sink share with another one, by
    /// a draw of 32 bits. Of random paths it is below `l` with a probability of (1 - 2^-l)^age; of e evictions in
    /// their order, with one of 1 - e·2^-l.
    fn deepest(self, age: f64, draw: u32) -> u32 {
        let uniform = (f64::from(draw) + 0.5) / 4_294_967_296.0;
        let shared = match self {
            EvictionModel::ByEachPath => -libm::expm1(libm::log(uniform) / age.max(0.5)),
            EvictionModel::ByEvictions { rate } => uniform * f64::from(rate) / age.max(0.5),
        };
        (-libm::log2(shared)).clamp(0.0, 64.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_core::types::Level;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    #[test]
    fn a_packed_tree_has_no_block_above_a_bucket_that_has_room() {
        let space = AddressSpace::new(200, 4, 20);
        let mut slots = Slots::new(Level(2), &[3; 6]);
        let packed = (History::Packed, EvictionModel::ByEachPath);
        let state = fill(&mut slots, &space, packed, &mut ChaCha8Rng::seed_from_u64(1));
        let is_full = |level: u32, index: u64| slots.bucket(level, index).flatten().count() == 3;
        for (level, index) in (2..7).flat_map(|level| (0..1u64 << level).map(move |index| (level, index))) {
            for (block, leaf) in slots.bucket(level, index).flatten() {
                assert!(is_full(level + 1, leaf.0 >> (6 - level)), "{block} on level {level}");
            }
        }
        assert!(state.trusted.is_empty());
        assert!(
            (0..4).all(|index| slots.bucket(2, index).flatten().count() == 0),
            "the upper levels are empty"
        );
    }

    #[test]
    fn every_block_is_on_the_path_to_its_position_or_on_the_trusted_side_once() {
        let evictions = EvictionModel::ByEvictions { rate: 3 };
        for (capacity, top, eviction_model) in
            [(300, 3, EvictionModel::ByEachPath), (511, 0, evictions), (1, 4, EvictionModel::ByEachPath)]
        {
            let space = AddressSpace::new(capacity, 4, 20);
            let mut slots = Slots::new(Level(top), &vec![3; 8 - top as usize]);
            let state = fill(
                &mut slots,
                &space,
                (History::Random, eviction_model),
                &mut ChaCha8Rng::seed_from_u64(1),
            );
            let mut seen = vec![0; space.blocks() as usize];
            let mut see = |block: BlockId, leaf: Leaf| {
                assert_eq!(state.positions[block.0 as usize], leaf.0 as u32 + 1);
                seen[block.0 as usize] += 1;
            };
            for (level, index) in (top..8).flat_map(|level| (0..1 << level).map(move |index| (level, index)))
            {
                for (block, leaf) in slots.bucket(level, index).flatten() {
                    assert_eq!(leaf.0 >> (7 - level), index);
                    see(block, leaf);
                }
            }
            state.trusted.iter().for_each(|(block, leaf)| see(*block, *leaf));
            assert!(seen.iter().all(|times| *times == 1), "{capacity}, {top}");
        }
    }

    #[test]
    fn a_block_of_great_age_is_deep_and_a_young_one_is_not() {
        let mean = |eviction_model: EvictionModel, age: f64| {
            let draws = (0..1000).map(|nth| f64::from(eviction_model.deepest(age, nth * 4_294_967)));
            draws.sum::<f64>() / 1000.0
        };
        // The longest of `age` shared beginnings, each one level longer with half the probability.
        for (age, expected) in [(1.0, 1.0), (2.0, 1.67), (1024.0, 10.33)] {
            let found = mean(EvictionModel::ByEachPath, age);
            assert!((found - expected).abs() < 0.1, "{age}: {found}");
        }
        // After 2^l evictions each bucket of level l had one, half of those below it, and so on.
        for (age, expected) in [(3.0, 1.0), (6.0, 2.0), (3072.0, 11.0)] {
            let found = mean(EvictionModel::ByEvictions { rate: 3 }, age);
            assert!((found - expected).abs() < 0.1, "{age}: {found}");
        }
    }
}
