//! LAORAM: Rajat, Wang, Annavaram, "LAORAM: A Look Ahead ORAM Architecture for Training Large Embedding Tables", ISCA
//! 2023.
//!
//! A training program knows its accesses to an embedding table beforehand. So blocks that are accessed one after the
//! other are put on one path, before they are accessed.
//!
//! ```text
//! preprocess(accesses, S):
//!  1  superblocks b_1, b_2, ..: the accesses in their order, each time the next S blocks that differ
//!  2  x_k <- UniformRandom(0 .. 2^L - 1), for each superblock
//! access superblock k:
//!  3  read the paths on which its blocks are: one, if each was planned
//!  4  position[a] <- x_j for each block a of it, with j the next superblock that has a; a random leaf if none has
//!  5  serve its blocks; write the paths back
//! ```
//!
//! The blocks of a superblock leave for S paths by one, so more blocks wait than in Path ORAM, and background evictions
//! come. In the **fat tree** buckets grow from Z at the leaves to 2 Z at the root, which makes them rarer.
//!
//! All positions are on the trusted side (the paper's is the memory of the trainer's GPU). The paths are the only
//! traffic; preprocessing takes no time here, as the paper overlaps it with training.
//!
//! **What the trace shows**: each path is one that was drawn for its superblock and never shown before: uniform, and
//! independent of the others. **Their number shows more** than the number of accesses: a superblock ends when S blocks
//! differ, so fewer superblocks mean that rows repeat soon. A block that was never accessed is on no planned path, so
//! one path more shows that a row is new to the training.

use crate::configuration::Configuration;
use crate::configuration_error::ConfigurationError;
use crate::machine::RunError;
use crate::path_timer::{MovedBlocks, PathTimer};
use crate::pattern::Tree;
use crate::tree::slots::Slots;
use crate::tree::steady_state::{self, EvictionModel, History, SteadyState};
use crate::tree::store::TreeStore;
use crate::tree_backend::expect_ready;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::position_map::{Lookup, PositionMap};
use ameles_core::schemes::freecursive::AddressSpace;
use ameles_core::schemes::path::{BucketsByLevel, PathOram, PathParameters};
use ameles_core::types::{BlockId, Bucket, Leaf, Level};
use ameles_processor::units::Cycle;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;

/// The options of LAORAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookAheadConfiguration {
    /// L, the number of levels of the tree: 2 to 25.
    pub levels: u32,
    /// The number of rows of the table, one block each: at most two per leaf.
    pub rows: u64,
    /// S, the number of blocks of a superblock: 1 to 16. With 1 it is Path ORAM.
    pub superblock: usize,
    /// Z, the number of blocks of a leaf's bucket: 4 to 16.
    pub blocks_per_bucket: u32,
    /// True if buckets grow to 2 Z at the root.
    pub is_fat: bool,
    /// The maximum number of blocks that may wait in the stash, without the path that is read.
    pub stash: u32,
}

/// The result of some accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookAheadOutcome {
    /// The number of cycles of the paths, one after the other, at 3.2 GHz.
    pub cycles: u64,
    /// The number of paths of superblocks.
    pub paths: u64,
    /// The number of background evictions.
    pub background: u64,
    /// The number of superblocks.
    pub superblocks: u64,
    /// The leaves of the paths, in order, background evictions included: what is shown.
    pub leaves: Vec<Leaf>,
}

/// The positions of all blocks, and the leaves that those of the next superblock get.
#[derive(Clone)]
struct PlannedPositions(Rc<RefCell<Planned>>);

struct Planned {
    positions: Vec<Leaf>,
    next: BTreeMap<BlockId, Leaf>,
    /// The distinct paths that the last look-ups were for.
    shown: Vec<Leaf>,
}

impl PositionMap for PlannedPositions {
    type Error = Infallible;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<Infallible>> {
        let Planned { positions, next, shown } = &mut *self.0.borrow_mut();
        shown.clear();
        for lookup in lookups {
            let Some(block) = lookup.block else { continue };
            // A block without a planned leaf keeps the random one.
            lookup.new = next.remove(&block).unwrap_or(lookup.new);
            let old = std::mem::replace(&mut positions[block.0 as usize], lookup.new);
            lookup.old = Some(old);
            if !shown.contains(&old) {
                shown.push(old);
            }
        }
        Ok(())
    }

    fn trusted_bytes(&self) -> usize {
        size_of_val(&self.0.borrow().positions[..])
    }
}

/// The superblocks of some accesses.
struct Plan {
    /// The blocks of each superblock.
    superblocks: Vec<Vec<BlockId>>,
    /// The superblock after the nth that has the block as well.
    next: BTreeMap<(usize, BlockId), usize>,
}

impl Plan {
    /// Line 1.
    fn of(accesses: impl Iterator<Item = u64>, superblock: usize) -> Self {
        let mut superblocks: Vec<Vec<BlockId>> = Vec::new();
        for block in accesses.map(BlockId) {
            match superblocks.last_mut() {
                // Path ORAM reads a path for every access.
                Some(last) if superblock > 1 && last.contains(&block) => {}
                Some(last) if last.len() < superblock => last.push(block),
                _ => superblocks.push(vec![block]),
            }
        }
        let (mut next, mut later) = (BTreeMap::new(), BTreeMap::new());
        for (nth, blocks) in superblocks.iter().enumerate().rev() {
            for block in blocks {
                if let Some(following) = later.insert(*block, nth) {
                    next.insert((nth, *block), following);
                }
            }
        }
        Plan { superblocks, next }
    }
}

/// A table in a tree, and the memory that it is in.
pub struct LookAheadOram {
    configuration: LookAheadConfiguration,
    oram: PathOram<TreeStore, PlannedPositions, ChaCha8Rng>,
    store: TreeStore,
    positions: PlannedPositions,
    timer: PathTimer,
    now: Cycle,
    random: ChaCha8Rng,
}

impl LookAheadOram {
    /// A table whose rows are at random leaves, each as near to them as there is room. The same seed gives the same.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn new(configuration: LookAheadConfiguration, seed: u64) -> Result<Self, ConfigurationError> {
        let LookAheadConfiguration { levels, rows, superblock, stash, .. } = configuration;
        if !(2..=25).contains(&levels) {
            return Err(ConfigurationError::Levels { levels, top: 0 });
        }
        let sizes = configuration.sizes();
        let max = sizes[0];
        let parameters = PathParameters {
            capacity: rows,
            block_bytes: 0,
            leaf_level: Level(levels - 1),
            top: Level(0),
            blocks_per_bucket: max,
            max_batch: superblock.max(1) as u32,
            stash_bound: stash + superblock.max(1) as u32 * levels * max,
        };
        let buckets = BucketsByLevel::new(parameters, sizes.clone())?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut slots = Slots::new(Level(0), &sizes);
        let packed = (History::Packed, EvictionModel::ByEachPath);
        let space = AddressSpace::new(rows, 2, rows);
        let SteadyState { positions, trusted } =
            steady_state::fill(&mut slots, &space, packed, Vec::new(), &mut random);
        if !trusted.is_empty() {
            return Err(ConfigurationError::Contents);
        }
        let positions = positions.into_iter().map(|position| Leaf(u64::from(position - 1))).collect();
        let planned = Planned { positions, next: BTreeMap::new(), shown: Vec::new() };
        let (store, positions) =
            (TreeStore::of_path(slots), PlannedPositions(Rc::new(RefCell::new(planned))));
        let for_oram = ChaCha8Rng::from_rng(&mut random);
        let oram = PathOram::with_buckets(&buckets, Bucket(0), store.clone(), positions.clone(), for_oram);
        let timer = PathTimer::new(&configuration.memory(&sizes))?;
        Ok(LookAheadOram { configuration, oram, store, positions, timer, now: Cycle(0), random })
    }

    /// Trains on accesses to rows, all of which are known beforehand. What is counted begins with the access
    /// `counted_from`.
    ///
    /// # Errors
    /// [`RunError`], of the ORAM and of the memory.
    pub fn train(&mut self, accesses: &[u64], counted_from: usize) -> Result<LookAheadOutcome, RunError> {
        let leaves = (1 << (self.configuration.levels - 1)) - 1;
        self.train_on_paths(accesses, counted_from, |_, random| Leaf(random.next_u64() & leaves))
    }

    /// The same with the path of each superblock by a rule: line 2.
    fn train_on_paths(
        &mut self,
        accesses: &[u64],
        counted_from: usize,
        mut path: impl FnMut(&[BlockId], &mut ChaCha8Rng) -> Leaf,
    ) -> Result<LookAheadOutcome, RunError> {
        let plan = Plan::of(accesses.iter().copied(), self.configuration.superblock);
        let uncounted = Plan::of(accesses[..counted_from].iter().copied(), self.configuration.superblock);
        let planned: Vec<Leaf> =
            plan.superblocks.iter().map(|blocks| path(blocks, &mut self.random)).collect();
        let (mut outcome, mut begin) = (LookAheadOutcome::default(), self.now);
        for (nth, blocks) in plan.superblocks.iter().enumerate() {
            if nth == uncounted.superblocks.len() {
                (outcome, begin) = (LookAheadOutcome::default(), self.now);
            }
            for block in blocks {
                if let Some(following) = plan.next.get(&(nth, *block)) {
                    self.positions.0.borrow_mut().next.insert(*block, planned[*following]);
                }
            }
            self.access(blocks, &mut outcome)?;
        }
        outcome.cycles = self.now.0 - begin.0;
        Ok(outcome)
    }

    /// Lines 3 to 5, and the background evictions that follow.
    fn access(&mut self, blocks: &[BlockId], outcome: &mut LookAheadOutcome) -> Result<(), RunError> {
        let mut buffers = vec![[0u8; 0]; blocks.len()];
        let reads =
            blocks.iter().zip(&mut buffers).map(|(block, buffer)| Access::Read(*block, &mut buffer[..]));
        expect_ready(self.oram.access(&mut reads.collect::<Vec<_>>()))?;
        let shown = self.positions.0.borrow().shown.clone();
        (outcome.superblocks, outcome.paths) = (outcome.superblocks + 1, outcome.paths + shown.len() as u64);
        for leaf in shown {
            self.show(leaf, outcome)?;
        }
        expect_ready(self.oram.step())?;
        while self.oram.pending_steps() > 0 {
            self.store.take_observed();
            expect_ready(self.oram.step())?;
            if let Some(leaf) = self.store.take_observed().path {
                outcome.background += 1;
                self.show(leaf, outcome)?;
            }
        }
        Ok(())
    }

    /// Takes the time of a path.
    fn show(&mut self, leaf: Leaf, outcome: &mut LookAheadOutcome) -> Result<(), RunError> {
        outcome.leaves.push(leaf);
        self.now = self.timer.step(self.now, Tree::Main, MovedBlocks::Access(leaf))?.end;
        Ok(())
    }
}

impl LookAheadConfiguration {
    /// The blocks of a bucket by level, the root's first.
    fn sizes(&self) -> Vec<u32> {
        let (last, z) = (self.levels - 1, self.blocks_per_bucket);
        (0..self.levels)
            .map(|level| if self.is_fat { z + (z * (last - level)).div_ceil(last) } else { z })
            .collect()
    }

    /// The memory of IR-ORAM's machine with this tree in it.
    fn memory(&self, sizes: &[u32]) -> Configuration {
        let mut configuration = Configuration::baseline(self.levels);
        let oram = &mut configuration.oram;
        (oram.top_levels, oram.blocks_per_bucket) = (0, sizes[0]);
        oram.sizes = (0..).zip(sizes).map(|(level, size)| (level, level, *size)).collect();
        (oram.user_blocks, oram.trusted_positions) = (self.rows, self.rows);
        oram.stash = self.stash + self.levels * sizes[0];
        configuration.with_fitting_subtrees()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_core::testing::oblivious::statistics::{ALARM_LOG2, Finding, uniform};

    const ROWS: u64 = 1 << 12;

    fn oram(superblock: usize, is_fat: bool) -> LookAheadOram {
        let configuration = LookAheadConfiguration {
            levels: 12,
            rows: ROWS,
            superblock,
            blocks_per_bucket: 4,
            is_fat,
            stash: 100,
        };
        LookAheadOram::new(configuration, 1).expect("a sound table")
    }

    /// Three epochs of a table of which only the first rows are used.
    fn epochs(rows: u64) -> Vec<u64> {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let samples: Vec<u64> = (0..2048).map(|_| random.next_u64() % rows).collect();
        samples.repeat(3)
    }

    #[test]
    fn a_superblock_has_the_next_rows_that_differ_and_each_row_its_next_superblock() {
        let plan = Plan::of([1, 2, 2, 1, 3, 2, 4].into_iter(), 2);
        let blocks = |nth: usize| plan.superblocks[nth].iter().map(|block| block.0).collect::<Vec<_>>();
        assert_eq!([blocks(0), blocks(1), blocks(2)], [vec![1, 2], vec![3, 2], vec![4]]);
        assert_eq!(plan.next, BTreeMap::from([((0, BlockId(2)), 1)]));
        assert_eq!(Plan::of([5, 5].into_iter(), 1).superblocks.len(), 2, "Path ORAM reads a path each time");
    }

    #[test]
    fn a_superblock_whose_rows_were_seen_takes_one_path_and_a_new_row_takes_one_more() {
        for superblock in [1, 4, 8] {
            let first = oram(superblock, false).train(&epochs(ROWS), 0).unwrap();
            assert!(superblock == 1 || first.paths > first.superblocks);
            let accesses = epochs(ROWS);
            let later = oram(superblock, false).train(&accesses, 2048).unwrap();
            assert!(later.superblocks.abs_diff((2 * 2048 / superblock) as u64) < 40, "{later:?}");
            assert!(later.paths - later.superblocks <= 1, "but for the superblock on the edge of the epoch");
        }
    }

    #[test]
    fn a_fat_tree_has_fewer_background_evictions() {
        let background = |is_fat| oram(8, is_fat).train(&epochs(ROWS), 2048).unwrap().background;
        let (thin, fat) = (background(false), background(true));
        assert!(fat < thin && thin > 20, "{thin} and {fat}");
    }

    /// Leaves, and the bits that neighbours share.
    fn findings(leaves: &[Leaf]) -> Vec<Finding> {
        let top: Vec<u64> = leaves.iter().map(|leaf| leaf.0 >> 7).collect();
        let counts = |cells: &mut dyn Iterator<Item = u64>| {
            let mut counts = vec![0u64; 16];
            cells.for_each(|cell| counts[cell as usize] += 1);
            counts
        };
        let pairs = (1..=64).map(|apart| {
            let shared = counts(&mut top.iter().zip(&top[apart..]).map(|(one, other)| one ^ other));
            uniform(format!("leaves {apart} apart"), &shared)
        });
        pairs.chain([uniform("leaves".into(), &counts(&mut top.iter().copied()))]).collect()
    }

    #[test]
    fn paths_are_uniform_and_independent_whatever_rows_are_used() {
        for rows in [16, 200, ROWS] {
            for superblock in [1, 4, 8] {
                let leaves = oram(superblock, true).train(&epochs(rows), 0).unwrap().leaves;
                let alarm = findings(&leaves).into_iter().find(|finding| finding.log2_p < ALARM_LOG2);
                assert!(alarm.is_none(), "{rows}, {superblock}: {alarm:?}");
            }
        }
    }

    #[test]
    fn a_superblock_that_keeps_its_path_is_found() {
        let keeps =
            |blocks: &[BlockId], _: &mut ChaCha8Rng| Leaf(blocks[0].0.wrapping_mul(0x9e37_79b9) >> 3 & 0x7ff);
        let leaves = oram(4, true).train_on_paths(&epochs(16), 0, keeps).unwrap().leaves;
        assert!(findings(&leaves).iter().any(|finding| finding.log2_p < ALARM_LOG2));
    }

    /// The number of paths is not a secret, and tells something.
    #[test]
    fn fewer_paths_show_that_rows_repeat_soon() {
        let paths = |rows| oram(8, true).train(&epochs(rows), 2048).unwrap().paths;
        assert!(paths(16) < paths(ROWS) * 3 / 4);
    }
}
