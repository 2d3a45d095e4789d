//! AB-ORAM: Raoufi, Yang and others, "AB-ORAM: Constructing Adjustable Buckets for Space Reduction in Ring ORAM", HPCA
//! 2023. Its rules are those of the authors' simulator (`mhrnshrf/ORAM-Simulator`: `gather_dead`, `remote_allocate` and
//! `calc_mem_addr` in `src/memory_controller.c`), where DEAD_ENABLE and DYNAMIC_S switch them on.
//!
//! A slot of Ring ORAM that was read is dead until its bucket is written again. Buckets near the leaves, which take
//! most of the space, have fewer slots here, and borrow dead ones of other buckets of their level:
//!
//! ```text
//! queue of a level: the places of dead slots that may be lent
//! a slot is read:      its place joins the queue, if that has room and the bucket that owns it lends fewer than C
//! a bucket is written: it takes the places of its own that are neither lent nor in the queue
//!                      it borrows from the front of the queue until it has as many as it owns; then, while the
//!                      queue is more than half full, until it has Z + S, or as many more than it owns as it may
//!                      with n places it is written again after n - Z reads, if no eviction comes before
//! ```
//!
//! C keeps Z + 1 places for a bucket that finds the queue empty. All else is as in Ring ORAM, with its metadata on the
//! trusted side.
//!
//! **What the trace shows.** The places that were read and written are visible. Which places are dead, lent and
//! borrowed follows from them, and from the order of the queue. The blocks of a bucket are in random places among all
//! of it, borrowed ones too. So each access shows a place of each bucket of a path that is uniform among those that
//! were not read, whatever was asked.
//!
//! **Costs**: a queue for each level, on the trusted side. Metadata must name the places that a bucket borrowed.

mod configuration;
mod level;

pub use configuration::AdjustableConfiguration;

use crate::configuration_error::ConfigurationError;
use ameles_core::types::{Leaf, Level};
use ameles_dram::{
    Batch, Block, Cycle, DramError, Geometry, Layout, Memory, PlainLayout, Specification, SubtreeLayout,
};
use level::LevelState;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// The places of the slots that a step moves, by their level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedPlaces {
    /// Places that are read.
    pub read: Vec<(Level, u32)>,
    /// Places that are written.
    pub written: Vec<(Level, u32)>,
}

/// A step as the watcher of the memory's bus sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisiblePlaces {
    /// The bucket that is written, or `None` for an access; an eviction is one step for each of its buckets.
    pub written: Option<(Level, u64)>,
    /// The path of an access, or of an eviction.
    pub leaf: Leaf,
    /// The places.
    pub places: MovedPlaces,
}

/// The counts of some accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdjustableOutcome {
    /// The number of accesses.
    pub accesses: u64,
    /// The number of buckets that were written before their eviction, for they had been read too often.
    pub reshuffles: u64,
    /// The number of slots that were read.
    pub read: u64,
    /// The number of slots that were written.
    pub written: u64,
    /// The maximum of blocks in the stash, without those of the top levels.
    pub stash: usize,
    /// The number of cycles of the memory, if time was taken.
    pub cycles: u64,
}

/// The memory, and where the tree is in it.
struct Timer {
    memory: Memory,
    layout: Box<dyn Layout>,
    blocks: Vec<Block>,
}

impl Timer {
    /// Reads or writes places of the tree, and waits.
    fn wait(
        &mut self,
        places: &[(Level, u32)],
        submit: fn(&mut Memory, &[Block]) -> Result<Batch, DramError>,
    ) -> Result<(), DramError> {
        self.blocks.clear();
        for (level, place) in places {
            let slots = self.layout.slots()[level.0 as usize];
            let bucket = self.layout.bucket(level.0 as usize, u64::from(place / slots));
            self.blocks.push(Block(bucket.0 + u64::from(place % slots)));
        }
        let batch = submit(&mut self.memory, &self.blocks)?;
        self.memory.wait(batch);
        Ok(())
    }
}

/// The layout of the tree.
fn layout(
    configuration: &AdjustableConfiguration,
    geometry: &Geometry,
) -> Result<Box<dyn Layout>, DramError> {
    let slots: Vec<u32> = (0..configuration.levels).map(|level| configuration.slots(level)).collect();
    let max = u64::from(configuration.blocks_per_bucket + configuration.reads);
    let fits = |levels: &usize| ((1 << levels) - 1) * max <= geometry.super_row_blocks();
    Ok(match (1..=configuration.subtree_levels).rev().find(fits) {
        Some(height) => {
            Box::new(SubtreeLayout::new(&slots, configuration.top_levels as usize, height, geometry)?)
        }
        None => Box::new(PlainLayout::new(&slots, geometry)?),
    })
}

/// A Ring ORAM with adjustable buckets. The positions of its blocks are on the trusted side.
pub struct AdjustableOram {
    configuration: AdjustableConfiguration,
    /// The levels in memory, from the first one on.
    levels: Vec<LevelState>,
    positions: Vec<u32>,
    /// Blocks, with those of the top levels.
    stash: Vec<u32>,
    accesses: u64,
    evictions: u64,
    outcome: AdjustableOutcome,
    timer: Timer,
    random: ChaCha8Rng,
    #[cfg(test)]
    bug: Option<tests::InjectedBug>,
}

impl AdjustableOram {
    /// A full tree: each block is as deep as there is room. The same seed gives the same.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn new(
        configuration: AdjustableConfiguration,
        specification: &Specification,
        seed: u64,
    ) -> Result<Self, ConfigurationError> {
        configuration.check()?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let layout = layout(&configuration, &specification.geometry)?;
        let levels = (configuration.top_levels..configuration.levels)
            .map(|level| LevelState::new(&configuration, level));
        let leaves = 1u32 << (configuration.levels - 1);
        let positions = (0..configuration.blocks()).map(|_| random.next_u32() & (leaves - 1)).collect();
        let mut oram = AdjustableOram {
            configuration,
            levels: levels.collect(),
            positions,
            stash: Vec::new(),
            accesses: 0,
            evictions: 0,
            outcome: AdjustableOutcome::default(),
            timer: Timer { memory: Memory::new(specification)?, layout, blocks: Vec::new() },
            random,
            #[cfg(test)]
            bug: None,
        };
        oram.fill();
        Ok(oram)
    }

    /// Puts each block as deep as there is room, and writes each bucket once.
    fn fill(&mut self) {
        let (top, leaf_level) = (self.configuration.top_levels, self.configuration.levels - 1);
        let max = self.configuration.blocks_per_bucket as usize;
        let mut waiting: Vec<Vec<Vec<u32>>> =
            (top..=leaf_level).map(|level| vec![Vec::new(); 1 << level]).collect();
        for (block, leaf) in (0u32..).zip(&self.positions) {
            let has_room = (top..=leaf_level).rev().find(|level| {
                waiting[(level - top) as usize][(leaf >> (leaf_level - level)) as usize].len() < max
            });
            match has_room {
                Some(level) => {
                    waiting[(level - top) as usize][(leaf >> (leaf_level - level)) as usize].push(block);
                }
                None => self.stash.push(block),
            }
        }
        for (level, buckets) in self.levels.iter_mut().zip(waiting) {
            for (bucket, blocks) in (0u32..).zip(buckets) {
                level.write(bucket, &blocks, &mut self.random, false);
            }
        }
    }

    /// Accesses blocks, and lets `observer` see each step. Time is taken if `is_timed`.
    ///
    /// # Errors
    /// [`DramError`].
    pub fn access(
        &mut self,
        blocks: impl Iterator<Item = u64>,
        is_timed: bool,
        mut observer: impl FnMut(VisiblePlaces),
    ) -> Result<AdjustableOutcome, DramError> {
        self.outcome = AdjustableOutcome::default();
        let begin = self.timer.memory.now();
        for block in blocks {
            let block = (block % self.configuration.blocks()) as u32;
            let step = self.read_path(block);
            self.take_time(&step.places, is_timed)?;
            let path = step.leaf;
            observer(step);
            self.accesses += 1;
            self.outcome.accesses += 1;
            if self.accesses.is_multiple_of(self.configuration.eviction_rate.into()) {
                self.evict(is_timed, &mut observer)?;
            }
            self.reshuffle(path, is_timed, &mut observer)?;
        }
        let Cycle(end) = self.timer.memory.now();
        self.outcome.cycles = end - begin.0;
        Ok(self.outcome)
    }

    /// ReadPath, and the new leaf of the block.
    fn read_path(&mut self, block: u32) -> VisiblePlaces {
        let leaf_level = self.configuration.levels - 1;
        let leaf = self.positions[block as usize];
        let mut places = MovedPlaces::default();
        let mut is_found = false;
        for level in &mut self.levels {
            let bucket = leaf >> (leaf_level - level.level());
            let read = level.read(bucket, block, &mut self.random);
            is_found |= read.is_real;
            #[cfg(test)]
            let lends = !(read.is_real && self.bug == Some(tests::InjectedBug::PlacesOfBlocksAreNotLent));
            #[cfg(not(test))]
            let lends = true;
            if lends {
                level.lend(read.place);
            }
            places.read.push((Level(level.level()), read.place));
        }
        if is_found {
            self.stash.push(block);
        }
        self.positions[block as usize] = self.random.next_u32() & ((1 << leaf_level) - 1);
        VisiblePlaces { written: None, leaf: Leaf(leaf.into()), places }
    }

    /// EvictPath: takes the blocks of a path into the stash, and writes its buckets, from the leaf up.
    fn evict(&mut self, is_timed: bool, observer: &mut impl FnMut(VisiblePlaces)) -> Result<(), DramError> {
        let bits = self.configuration.levels - 1;
        let leaf = (self.evictions.reverse_bits() >> (u64::BITS - bits)) as u32;
        self.evictions += 1;
        let mut all = MovedPlaces::default();
        for nth in 0..self.levels.len() {
            let bucket = leaf >> (bits - self.levels[nth].level());
            all.read.extend(self.take_out(nth, bucket));
        }
        for nth in (0..self.levels.len()).rev() {
            let level = self.levels[nth].level();
            let bucket = leaf >> (bits - level);
            let written = self.write_bucket(nth, bucket);
            let read = all.read.iter().filter(|(at, _)| at.0 == level).copied().collect();
            all.written.extend(&written);
            let places = MovedPlaces { read, written };
            observer(VisiblePlaces {
                written: Some((Level(level), bucket.into())),
                leaf: Leaf(leaf.into()),
                places,
            });
        }
        let of_top =
            self.configuration.blocks_per_bucket as usize * ((1 << self.configuration.top_levels) - 1);
        self.outcome.stash = self.outcome.stash.max(self.stash.len().saturating_sub(of_top));
        self.take_time(&all, is_timed)
    }

    /// EarlyReshuffle: writes the buckets of a path that were read as often as they may be.
    fn reshuffle(
        &mut self,
        leaf: Leaf,
        is_timed: bool,
        observer: &mut impl FnMut(VisiblePlaces),
    ) -> Result<(), DramError> {
        let leaf_level = self.configuration.levels - 1;
        for nth in 0..self.levels.len() {
            let level = self.levels[nth].level();
            let bucket = leaf.0 as u32 >> (leaf_level - level);
            if self.levels[nth].is_worn(bucket) {
                self.outcome.reshuffles += 1;
                let read = self.take_out(nth, bucket);
                let places = MovedPlaces { read, written: self.write_bucket(nth, bucket) };
                self.take_time(&places, is_timed)?;
                observer(VisiblePlaces { written: Some((Level(level), bucket.into())), leaf, places });
            }
        }
        Ok(())
    }

    /// Takes the blocks of a bucket into the stash; the places that are read.
    fn take_out(&mut self, nth: usize, bucket: u32) -> Vec<(Level, u32)> {
        let level = &mut self.levels[nth];
        let at = Level(level.level());
        let read = level.take_out(bucket, &mut self.stash, &mut self.random);
        read.into_iter().map(|place| (at, place)).collect()
    }

    /// Writes a bucket with blocks of the stash; the places that are written.
    fn write_bucket(&mut self, nth: usize, bucket: u32) -> Vec<(Level, u32)> {
        let (leaf_level, at) = (self.configuration.levels - 1, self.levels[nth].level());
        let positions = &self.positions;
        let is_below = |block: u32| positions[block as usize] >> (leaf_level - at) == bucket;
        let mut blocks = Vec::new();
        let mut next = 0;
        while next < self.stash.len() && blocks.len() < self.levels[nth].room() {
            if is_below(self.stash[next]) {
                blocks.push(self.stash.swap_remove(next));
            } else {
                next += 1;
            }
        }
        #[cfg(test)]
        let in_own = self.bug == Some(tests::InjectedBug::BlocksAreInOwnPlaces);
        #[cfg(not(test))]
        let in_own = false;
        let written = self.levels[nth].write(bucket, &blocks, &mut self.random, in_own);
        written.into_iter().map(|place| (Level(at), place)).collect()
    }

    /// Counts the slots of a step, and takes the time of it.
    fn take_time(&mut self, places: &MovedPlaces, is_timed: bool) -> Result<(), DramError> {
        self.outcome.read += places.read.len() as u64;
        self.outcome.written += places.written.len() as u64;
        if is_timed {
            self.timer.wait(&places.read, |memory, blocks| memory.read(blocks))?;
            if !places.written.is_empty() {
                self.timer.wait(&places.written, |memory, blocks| memory.write(blocks))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
