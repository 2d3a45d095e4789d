//! The state of a tree after many accesses, drawn directly: a tree of gigabytes would take longer to fill by accesses
//! than all runs together.
//!
//! A block is put into its path when it is accessed. It sinks when a written path shares more levels with the block's
//! path than the block has sunk. After `a` random paths it is as deep as the longest prefix that one of them shares
//! with its own, if there was room. So the blocks are placed by their age, the oldest first, each as deep as its age
//! and the free slots allow. Returns the blocks that find no room below the trusted levels.
//!
//! It is an approximation: a block that found no room once sinks later only when a path passes by. Tests compare the
//! utilisation of each level with that of a tree which was filled by accesses.

use super::huge_pages;
use super::slots::{Slots, SubtreeSlots};
use crate::tree_scheme::TreeScheme;
use ameles_core::schemes::freecursive::AddressSpace;
use ameles_core::types::{BlockId, Leaf, Level};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use std::ops::Range;

/// The accesses that led to the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Every block of the user was accessed once, in a random order.
    Filled,
    /// Random blocks were accessed for long.
    Random,
    /// No accesses: every block was put as near to the leaves as there was room, so the upper levels are empty. The
    /// runs of IR-ORAM's authors begin in this state.
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

/// Fills empty slots with all blocks of an address space, the subtrees below the trusted levels in parallel. The
/// positions take the memory that is given, if that suffices. The same seed gives the same state, with any number of
/// threads.
pub fn fill(
    slots: &mut Slots,
    space: &AddressSpace,
    (history, eviction_model): (History, EvictionModel),
    memory: Vec<u32>,
    random: &mut impl RngCore,
) -> SteadyState {
    let (top, leaf_level) = (slots.top(), slots.leaf_level());
    let mut shares = shares(top, space, random);
    let mut subtrees = Vec::new();
    for (nth, slots) in (0..).zip(slots.subtrees_mut()) {
        let streams: Vec<Stream> =
            (0..).zip(&mut shares).map(|(level, shares)| shares.stream(nth, space, level, history)).collect();
        let first_leaf = (nth as u64) << (leaf_level.0 - top.0);
        let random = ChaCha8Rng::seed_from_u64(random.next_u64());
        subtrees.push(Subtree { top, leaf_level, first_leaf, slots, eviction_model, random, streams });
    }
    let trusted: Vec<(BlockId, Leaf)> = subtrees.into_par_iter().flat_map_iter(Subtree::fill).collect();
    let positions = huge_pages::zeros_in(memory, space.blocks() as usize);
    SteadyState { positions: positions_of(slots, &trusted, positions), trusted }
}

/// Notes the leaf of each block, each thread for its share of the blocks.
fn positions_of(slots: &Slots, trusted: &[(BlockId, Leaf)], mut positions: Vec<u32>) -> Vec<u32> {
    let share = positions.len().div_ceil(rayon::current_num_threads()).max(1);
    positions.par_chunks_mut(share).enumerate().for_each(|(nth, positions)| {
        let first = (nth * share) as u64;
        let note = |(block, leaf): (BlockId, Leaf)| {
            // A block of a lower number wraps around, and is none of this share either.
            if let Some(position) = positions.get_mut(block.0.wrapping_sub(first) as usize) {
                *position = leaf.0 as u32 + 1;
            }
        };
        slots.blocks().chain(trusted.iter().copied()).for_each(note);
    });
    positions
}

/// The blocks of a level of the address space, dealt to the subtrees.
struct Shares {
    permutation: Permutation,
    /// Blocks of each subtree, and those dealt so far.
    sizes: Vec<u32>,
    assigned: u64,
}

/// Deals the blocks of each level: every block to a random subtree.
fn shares(top: Level, space: &AddressSpace, random: &mut impl RngCore) -> Vec<Shares> {
    let of_level = |level| {
        let blocks = space.blocks_of(level);
        let subtrees = 1 << top.0;
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

/// A subtree that is to be filled.
struct Subtree<'a> {
    top: Level,
    leaf_level: Level,
    first_leaf: u64,
    slots: SubtreeSlots<'a>,
    eviction_model: EvictionModel,
    random: ChaCha8Rng,
    streams: Vec<Stream>,
}

impl Subtree<'_> {
    /// Places the blocks. Returns those that find no room, with their leaves.
    fn fill(mut self) -> Vec<(BlockId, Leaf)> {
        let (top, leaf_level) = (self.top.0, self.leaf_level.0);
        let mut trusted = Vec::new();
        let mut ages: Vec<Option<f64>> = self.streams.iter().map(Stream::age).collect();
        let oldest = |ages: &[Option<f64>]| {
            let ages = ages.iter().enumerate().filter_map(|(nth, age)| Some((nth, (*age)?)));
            ages.max_by(|(_, one), (_, other)| one.total_cmp(other))
        };
        let mut bound = LeafBound { age: f64::INFINITY, draw: u32::MAX };
        while let Some((nth, age)) = oldest(&ages) {
            let block = self.streams[nth].block();
            ages[nth] = self.streams[nth].age();
            let draw = self.random.next_u64();
            let leaf = Leaf(self.first_leaf | draw & ((1 << (leaf_level - top)) - 1));
            if age < bound.age {
                bound = self.eviction_model.leaf_bound(age, leaf_level);
            }
            let of_depth = (draw >> 32) as u32;
            let depth = match of_depth > bound.draw {
                true => leaf_level,
                false => self.eviction_model.deepest_level(age, of_depth).min(leaf_level),
            };
            let is_placed = (top..=depth).rev().any(|level| self.slots.put(level, block, leaf));
            if !is_placed {
                trusted.push((block, leaf));
            }
        }
        trusted
    }
}

/// A draw above which blocks of an age and older are as deep as the leaves.
struct LeafBound {
    age: f64,
    draw: u32,
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

    /// The draw above which this block and all older ones are as deep as the leaves. It saves most logarithms.
    fn leaf_bound(self, age: f64, leaf_level: u32) -> LeafBound {
        let age = 0.9 * age;
        let draw = match self {
            EvictionModel::ByEachPath => {
                let above = libm::exp(age * libm::log1p(-libm::exp2(-f64::from(leaf_level))));
                // Draws are counted in whole numbers: the next one is surely above.
                libm::ceil(above * 4_294_967_296.0) as u32
            }
            EvictionModel::ByEvictions { .. } => u32::MAX,
        };
        LeafBound { age, draw }
    }

    /// The number of levels that a path shares at most with any of `age` paths that let blocks sink, drawn with 32
    /// bits. For random paths it is below `l` with a probability of (1 - 2^-l)^age. For e evictions in their order, the
    /// probability is 1 - e·2^-l.
    fn deepest_level(self, age: f64, draw: u32) -> u32 {
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

    #[test]
    fn a_packed_tree_has_no_block_above_a_bucket_that_has_room() {
        let space = AddressSpace::new(200, 4, 20);
        let mut slots = Slots::new(Level(2), &[3; 6]);
        let packed = (History::Packed, EvictionModel::ByEachPath);
        let state = fill(&mut slots, &space, packed, Vec::new(), &mut ChaCha8Rng::seed_from_u64(1));
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
                vec![7; 400],
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
    fn a_draw_above_the_bound_of_an_age_takes_that_block_and_older_ones_to_the_leaves() {
        for (age, leaf_level) in [(0.7, 3), (20.0, 4), (5e6, 24), (1e9, 24), (f64::INFINITY, 24)] {
            let LeafBound { age: youngest, draw } = EvictionModel::ByEachPath.leaf_bound(age, leaf_level);
            for older in [youngest, age, 3.0 * age] {
                let draws = [draw.saturating_add(1), draw / 2 + (1 << 31), u32::MAX];
                for draw in draws.into_iter().filter(|above| *above > draw) {
                    assert!(
                        EvictionModel::ByEachPath.deepest_level(older, draw) >= leaf_level,
                        "{age}, {draw}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_block_of_great_age_is_deep_and_a_young_one_is_not() {
        let mean = |eviction_model: EvictionModel, age: f64| {
            let draws = (0..1000).map(|nth| f64::from(eviction_model.deepest_level(age, nth * 4_294_967)));
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
