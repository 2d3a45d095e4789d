//! The configuration of a machine, and the schemes of IR-ORAM's figures as such.

use crate::early_write_back::EarlyLine;
use crate::pace::Pace;
use crate::path_timer::PathTimer;
use crate::small_tree::{SmallTreeConfiguration, SmallTreeError};
use crate::tree::slots::Slots;
use crate::tree::steady_state::Sinking;
use crate::tree::store::TreeStore;
use crate::tree_scheme::TreeScheme;
use lethe_core::schemes::freecursive::{
    BackendParameters, FreecursiveParameters, FreecursiveParametersError, PositionsKept, TrustedHits,
};
use lethe_core::schemes::path::{BucketsByLevel, PathParameters, PathParametersError, TreeTopParameters};
use lethe_core::schemes::raw::RawParameters;
use lethe_core::schemes::ring::{RingBucket, RingParameters};
use lethe_core::words::Level;
use lethe_dram::{DramError, Specification};
use lethe_processor::cache::{Cache, CacheShape};
use lethe_processor::processor::Shape;

/// The longest T, in cycles: three milliseconds.
const MOST_CYCLES: u64 = 10_000_000;

/// A processor, an ORAM and a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The processor.
    pub processor: Shape,
    /// Bytes of its last-level cache.
    pub cache_bytes: u64,
    /// Ways of that.
    pub cache_ways: usize,
    /// The ORAM.
    pub oram: OramConfiguration,
    /// ρ's small tree before that, if there is one.
    pub small_tree: Option<SmallTreeConfiguration>,
    /// The times at which paths may begin.
    pub pace: Pace,
    /// IR-DWB: true if dirty lines of the cache are written back in the place of dummies, or under delayed remapping all lines
    /// that go next are remapped ahead. It needs dummies.
    pub early_write_backs: bool,
    /// The line that is written back early.
    pub early_line: EarlyLine,
    /// LLC-D: true if a line leaves the tree when the cache gets it, and comes into the tree when it leaves the cache.
    pub delayed_remapping: bool,
    /// Cycles until a request is answered that needs no path.
    pub hit_cycles: u64,
    /// The memory.
    pub memory: Specification,
    /// Levels of a subtree that lies together in the memory; `None` for the plain layout.
    pub subtree_levels: Option<usize>,
    /// Lines of memory in a block of the ORAM, which is a line of the cache: a power of two, 1 to 64.
    pub block_lines: u64,
}

/// A tree with its front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OramConfiguration {
    /// The scheme of the tree.
    pub scheme: TreeScheme,
    /// L, levels of the tree: 2 to 32. (The core counts from 0 to L - 1.)
    pub levels: u32,
    /// Z, blocks of a bucket.
    pub blocks_per_bucket: u32,
    /// IR-Alloc: the first and the last level of a range, and the size of its buckets. They lie below the tree top.
    pub sizes: Vec<(u32, u32, u32)>,
    /// Blocks that the user can address: lines of memory.
    pub user_blocks: u64,
    /// Levels on the trusted side.
    pub top_levels: u32,
    /// The use of blocks that are found on the trusted side.
    pub hits: TrustedHits,
    /// Ways of the index of the tree top by block, if hits are to be answered at once.
    pub top_ways: u32,
    /// Blocks of the stash, with a path that was read: beyond that come background evictions. If the stash has the top levels in it,
    /// it has room for their buckets beside.
    pub stash: u32,
    /// X, positions in a PosMap block.
    pub labels: u32,
    /// The most positions that the trusted side keeps.
    pub trusted_positions: u64,
    /// Blocks of the PLB.
    pub look_aside: u32,
    /// Ways of the PLB.
    pub look_aside_ways: u32,
}

/// A scheme of IR-ORAM's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Freecursive ORAM with ten levels in a dedicated cache.
    Baseline,
    /// Smaller buckets on some levels.
    IrAlloc,
    /// The ten levels in a stash that finds blocks by their number.
    IrStash,
    /// Dirty lines are written back in the place of dummies.
    IrDwb,
    /// All three, with buckets not as small as those of `IrAlloc`.
    IrOram,
    /// Delayed remapping.
    LlcD,
    /// Delayed remapping, with IR-Stash and IR-Alloc.
    LlcDStashAlloc,
    /// Delayed remapping, ahead of the line's leaving the cache in the place of dummies.
    LlcDDwb,
    /// The same with IR-Stash and IR-Alloc.
    LlcDStashAllocDwb,
    /// A small tree as an oblivious cache of the main one.
    Rho,
    /// RAW ORAM in place of Path ORAM.
    Raw,
    /// Ring ORAM in place of Path ORAM.
    Ring,
}

/// The reason why there is no such machine.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The tree is refused.
    #[error("the tree is impossible: {0}")]
    Tree(#[from] PathParametersError),
    /// The front end is refused.
    #[error("the front end is impossible: {0}")]
    FrontEnd(#[from] FreecursiveParametersError),
    /// The memory is refused, or the tree does not fit into it.
    #[error("the memory is impossible: {0}")]
    Memory(#[from] DramError),
    /// The cache is refused.
    #[error(transparent)]
    Cache(#[from] CacheShape),
    /// The tree has too few or too many levels.
    #[error(
        "a tree of {levels} levels with {top} of them on the trusted side: choose 2 to 32 levels, and fewer on the trusted side"
    )]
    Levels {
        /// Levels of the tree.
        levels: u32,
        /// Levels on the trusted side.
        top: u32,
    },
    /// Paths would have to begin faster than the memory can move them.
    #[error("a path every {cycles} cycles is too fast: the bus alone needs {needed} for a path")]
    TooFast {
        /// T.
        cycles: u64,
        /// Cycles that the data bus is busy with a path.
        needed: u64,
    },
    /// Paths would hardly ever begin.
    #[error("a T of {cycles} cycles is too long: choose at most {MOST_CYCLES}")]
    TooSlow {
        /// T.
        cycles: u64,
    },
    /// Sizes are given for levels that are not in memory.
    #[error(
        "levels {first} to {last} are no levels in memory: choose some of {top} to {leaf_level}, the higher number last"
    )]
    SizedLevels {
        /// The first level of the range.
        first: u32,
        /// The last.
        last: u32,
        /// The first level in memory.
        top: u32,
        /// The level of the leaves.
        leaf_level: u32,
    },
    /// Blocks are not of so many lines.
    #[error("blocks of {lines} lines are impossible: choose a power of two, 1 to 64")]
    BlockLines {
        /// Lines of a block.
        lines: u64,
    },
    /// Lines are written back in the place of dummies, and there are none.
    #[error("early write-backs take the place of dummies: choose a rate")]
    NoDummies,
    /// The blocks that have no room in untrusted memory do not fit the trusted side either.
    #[error(
        "the tree cannot hold its blocks, however many background evictions come: make the buckets larger"
    )]
    Contents,
    /// The small tree is refused.
    #[error("the small tree is impossible: {0}")]
    SmallTree(#[from] SmallTreeError),
    /// There are too few blocks for the tags of the small tree.
    #[error(
        "{blocks} blocks are too few for {tags} tags of a small tree: choose a quarter of the blocks or less"
    )]
    Tags {
        /// Blocks of the user.
        blocks: u64,
        /// Tags.
        tags: u64,
    },
    /// A tree of another scheme is combined with what is Path ORAM's.
    #[error(
        "buckets by level, an index of the tree top and a small tree go with Path ORAM only: leave them out, or choose it"
    )]
    PathAlone,
    /// A small tree is combined with what it is not built for.
    #[error("a small tree goes with neither early write-backs nor delayed remapping: choose one of them")]
    SmallTreeAlone,
}

impl Configuration {
    /// The machine of IR-ORAM's Table I with its Baseline, for a tree of L levels (25 in the paper) that is half full. A higher tree
    /// has a larger memory, and a larger table of positions on chip: as many PosMaps as the paper's.
    pub fn baseline(levels: u32) -> Self {
        let more_levels = levels.saturating_sub(25).min(7);
        let mut memory = Specification::usimm().with_super_rows();
        memory.geometry.rows <<= more_levels;
        Configuration {
            processor: Shape::IR_ORAM,
            cache_bytes: 2 << 20,
            cache_ways: 8,
            oram: OramConfiguration {
                scheme: TreeScheme::Path,
                levels,
                blocks_per_bucket: 4,
                sizes: Vec::new(),
                user_blocks: 2u64 << levels,
                top_levels: 10,
                hits: TrustedHits::SaveThePath,
                top_ways: 4,
                stash: 200,
                labels: 16,
                trusted_positions: 1 << (18 + more_levels),
                look_aside: 1024,
                look_aside_ways: 1,
            },
            small_tree: None,
            pace: Pace::Free,
            early_write_backs: false,
            early_line: EarlyLine::GoesNext,
            delayed_remapping: false,
            hit_cycles: 20,
            memory,
            subtree_levels: Some(7),
            block_lines: 1,
        }
    }

    /// The same memory of the user in blocks of so many lines, a power of two: in a tree that has a level less for each doubling, and
    /// with as many bytes in the tree top and in the PLB.
    pub fn with_block_lines(mut self, lines: u64) -> Self {
        let fewer = lines.max(1).ilog2();
        let oram = &mut self.oram;
        oram.levels = oram.levels.saturating_sub(fewer);
        oram.top_levels = oram.top_levels.saturating_sub(fewer);
        oram.user_blocks = (oram.user_blocks >> fewer).max(1);
        oram.labels <<= fewer;
        oram.look_aside = (oram.look_aside >> fewer).max(oram.look_aside_ways);
        for (first, last, _) in &mut oram.sizes {
            (*first, *last) = (first.saturating_sub(fewer), last.saturating_sub(fewer));
        }
        self.block_lines = lines;
        self.with_fitting_subtrees()
    }

    /// The same with as many times the rows of memory, a power of two up to 16, as its trees need.
    pub fn with_room(mut self) -> Self {
        let rows = self.memory.geometry.rows;
        for more in 0..=4 {
            self.memory.geometry.rows = rows << more;
            if PathTimer::new(&self).is_ok() {
                break;
            }
        }
        self
    }

    /// The same with subtrees of as many levels as fit a super-row of the memory, but no more than there are now.
    fn with_fitting_subtrees(mut self) -> Self {
        let bucket = u64::from(self.oram.scheme.slots(self.oram.blocks_per_bucket)) * self.block_lines;
        let fits = |levels: &usize| ((1 << levels) - 1) * bucket <= self.memory.geometry.super_row_blocks();
        self.subtree_levels =
            self.subtree_levels.map(|most| (1..=most.min(32)).rev().find(fits).unwrap_or(most));
        self
    }

    /// The same with buckets of these sizes. The ranges of levels are for 25 levels; in another tree they keep their distance from
    /// the leaves.
    pub fn with_sizes(mut self, of_25: &[(u32, u32, u32)]) -> Self {
        let (levels, top) = (self.oram.levels, self.oram.top_levels);
        let shifted = |level: u32| (level + levels).checked_sub(25).filter(|level| *level >= top);
        self.oram.sizes = of_25
            .iter()
            .filter_map(|(first, last, size)| Some((shifted(*first).unwrap_or(top), shifted(*last)?, *size)))
            .collect();
        self
    }

    /// The same with the options of a scheme, and the paper's [sizes](Self::with_sizes) of buckets.
    pub fn with_scheme(mut self, scheme: Scheme) -> Self {
        use Scheme::{
            Baseline, IrAlloc, IrDwb, IrOram, IrStash, LlcD, LlcDDwb, LlcDStashAlloc, LlcDStashAllocDwb, Raw,
            Rho, Ring,
        };
        let of_paper: &[(u32, u32, u32)] = match scheme {
            IrAlloc | LlcDStashAlloc | LlcDStashAllocDwb => &[(10, 15, 1), (16, 18, 2)],
            IrOram => &[(10, 16, 2), (17, 19, 3)],
            Baseline | IrStash | IrDwb | LlcD | LlcDDwb | Rho | Raw | Ring => &[],
        };
        if matches!(scheme, IrStash | IrOram | LlcDStashAlloc | LlcDStashAllocDwb) {
            self.oram.hits = TrustedHits::AnswerAtOnce;
        }
        self.early_write_backs = matches!(scheme, IrDwb | IrOram | LlcDDwb | LlcDStashAllocDwb);
        self.delayed_remapping = matches!(scheme, LlcD | LlcDStashAlloc | LlcDDwb | LlcDStashAllocDwb);
        if let Some((scheme, blocks)) = match scheme {
            Raw => Some((TreeScheme::RAW, 5)),
            Ring => Some((TreeScheme::RING, 8)),
            _ => None,
        } {
            (self.oram.scheme, self.oram.blocks_per_bucket) = (scheme, blocks);
            self = self.with_fitting_subtrees();
        }
        self.small_tree = (scheme == Rho).then(|| SmallTreeConfiguration::beside(self.oram.levels));
        self.with_sizes(of_paper)
    }

    /// Checks all of it.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn check(&self) -> Result<(), ConfigurationError> {
        self.oram.parameters()?;
        let lines = self.block_lines;
        if !lines.is_power_of_two() || lines > 64 {
            return Err(ConfigurationError::BlockLines { lines });
        }
        self.cache()?;
        if self.early_write_backs && !self.pace.has_dummies() {
            return Err(ConfigurationError::NoDummies);
        }
        if let Some(small) = &self.small_tree {
            if self.oram.scheme != TreeScheme::Path {
                return Err(ConfigurationError::PathAlone);
            }
            let (blocks, tags) = (self.oram.user_blocks, small.parameters()?.tags());
            if tags > blocks / 4 {
                return Err(ConfigurationError::Tags { blocks, tags });
            }
            if self.early_write_backs || self.delayed_remapping {
                return Err(ConfigurationError::SmallTreeAlone);
            }
        }
        let (top, leaf_level) = (self.oram.top_levels, self.oram.levels - 1);
        let is_wrong = |range: &&(u32, u32, u32)| range.0 > range.1 || range.0 < top || range.1 > leaf_level;
        if let Some((first, last, _)) = self.oram.sizes.iter().find(is_wrong) {
            let (first, last) = (*first, *last);
            return Err(ConfigurationError::SizedLevels { first, last, top, leaf_level });
        }
        if let Some(cycles) = self.pace.cycles().filter(|cycles| *cycles > MOST_CYCLES) {
            return Err(ConfigurationError::TooSlow { cycles });
        }
        if let Pace::FromStart(cycles) = self.pace {
            let needed = self.bus_cycles()?;
            if cycles < needed {
                return Err(ConfigurationError::TooFast { cycles, needed });
            }
        }
        Ok(())
    }

    /// The processor's cycles in a cycle of DRAM, at 3.2 GHz.
    pub(crate) fn multiplier(&self) -> u64 {
        3200 / u64::from(self.memory.clock.mhz).max(1)
    }

    /// The last-level cache, empty. Its lines are blocks.
    ///
    /// # Errors
    /// [`CacheShape`].
    pub(crate) fn cache(&self) -> Result<Cache, CacheShape> {
        let (bytes, ways) = (self.cache_bytes, self.cache_ways);
        Cache::new(bytes / self.block_lines, ways).map_err(|_| CacheShape { bytes, ways })
    }

    /// Lines of a path of the main tree in memory, in one direction: PL in IR-ORAM.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn path_blocks(&self) -> Result<u64, ConfigurationError> {
        Ok(blocks(&self.slots()?))
    }

    /// The slots of a bucket of the main tree by level, in lines of memory.
    pub(crate) fn slots(&self) -> Result<Vec<u32>, ConfigurationError> {
        Ok(self.in_lines(self.oram.slots()?))
    }

    /// Slots by level, as lines of memory.
    pub(crate) fn in_lines(&self, slots: Vec<u32>) -> Vec<u32> {
        slots.into_iter().map(|slots| slots.saturating_mul(self.block_lines as u32)).collect()
    }

    /// Cycles for which the data bus is busy with a longest path that is read and written.
    fn bus_cycles(&self) -> Result<u64, ConfigurationError> {
        let small =
            self.small_tree.as_ref().map(SmallTreeConfiguration::slots).transpose()?.unwrap_or_default();
        let blocks = self.path_blocks()?.max(blocks(&self.in_lines(small)));
        let channels = u64::from(self.memory.geometry.channels);
        Ok(2 * blocks.div_ceil(channels) * self.memory.timing.burst.0 * self.multiplier())
    }
}

/// The blocks of a path with so many slots by level.
fn blocks(slots: &[u32]) -> u64 {
    slots.iter().map(|size| u64::from(*size)).sum()
}

impl OramConfiguration {
    /// The parameters of the ORAM in the core.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn parameters(&self) -> Result<FreecursiveParameters, ConfigurationError> {
        let (levels, top) = (self.levels, self.top_levels);
        if !(2..=32).contains(&levels) || top >= levels {
            return Err(ConfigurationError::Levels { levels, top });
        }
        let parameters = FreecursiveParameters {
            capacity: self.user_blocks,
            labels: self.labels,
            trusted_positions: self.trusted_positions,
            look_aside: self.look_aside,
            look_aside_ways: self.look_aside_ways,
            positions: PositionsKept::Aside,
            hits: self.hits,
            max_batch: 1,
            tree: match self.scheme {
                TreeScheme::Path => self.path()?,
                TreeScheme::Raw { eviction_rate, .. } => self.raw(eviction_rate)?,
                TreeScheme::Ring { eviction_rate, reads, slots } => self.ring(eviction_rate, reads, slots)?,
            },
        };
        parameters.validate()?;
        Ok(parameters)
    }

    /// Blocks of the tree: the user's, and those of the PosMaps.
    fn capacity(&self) -> u64 {
        let (labels, trusted) = (self.labels.max(2), self.trusted_positions.max(1));
        FreecursiveParameters::tree_capacity(self.user_blocks, labels, trusted)
    }

    fn path(&self) -> Result<BackendParameters, ConfigurationError> {
        let path = PathParameters {
            capacity: self.capacity(),
            block_bytes: 0,
            leaf_level: Level(self.levels - 1),
            top: Level(0),
            blocks_per_bucket: self.blocks_per_bucket,
            max_batch: 1,
            stash_bound: self.stash,
        };
        let sizes: Vec<_> =
            self.sizes.iter().map(|(first, last, size)| (Level(*first), Level(*last), *size)).collect();
        let ways = (self.hits == TrustedHits::AnswerAtOnce).then_some(self.top_ways);
        let top = TreeTopParameters { levels: self.top_levels, ways };
        Ok(BackendParameters::Path { buckets: BucketsByLevel::uniform(path)?.with(&sizes)?, top })
    }

    fn raw(&self, eviction_rate: u32) -> Result<BackendParameters, ConfigurationError> {
        self.check_no_options()?;
        let raw = RawParameters {
            capacity: self.capacity(),
            block_bytes: 0,
            leaf_level: Level(self.levels - 1),
            top: Level(self.top_levels),
            blocks_per_bucket: self.blocks_per_bucket,
            eviction_rate,
            max_batch: 1,
            stash_bound: self.stash_with_top(),
        };
        raw.validate().map_err(FreecursiveParametersError::from)?;
        Ok(BackendParameters::Raw(raw))
    }

    fn ring(
        &self,
        eviction_rate: u32,
        reads: u32,
        slots: u32,
    ) -> Result<BackendParameters, ConfigurationError> {
        self.check_no_options()?;
        let share = self.capacity() as f64 / libm::exp2((self.levels - 1).into());
        // The leaves hold their share, and three standard deviations of it.
        let of_leaf = libm::ceil(share + 3.0 * libm::sqrt(share)) as u32;
        let leaf_blocks = self.blocks_per_bucket.max(of_leaf);
        let ring = RingParameters {
            capacity: self.capacity(),
            block_bytes: 0,
            leaf_level: Level(self.levels - 1),
            top: Level(self.top_levels),
            eviction_rate,
            reads,
            inner: RingBucket { blocks: self.blocks_per_bucket, slots },
            leaf: RingBucket { blocks: leaf_blocks, slots: slots.max(leaf_blocks) },
            max_batch: 1,
            stash_bound: self.stash_with_top(),
        };
        ring.validate().map_err(FreecursiveParametersError::from)?;
        Ok(BackendParameters::Ring(ring))
    }

    /// Refuses the options that are Path ORAM's.
    fn check_no_options(&self) -> Result<(), ConfigurationError> {
        let has_any = !self.sizes.is_empty() || self.hits == TrustedHits::AnswerAtOnce;
        if has_any { Err(ConfigurationError::PathAlone) } else { Ok(()) }
    }

    /// Blocks of a stash that has the top levels in it.
    fn stash_with_top(&self) -> u32 {
        let top_blocks = u64::from(self.blocks_per_bucket) * ((1 << self.top_levels) - 1);
        u32::try_from(u64::from(self.stash) + top_blocks).unwrap_or(u32::MAX)
    }

    /// Tells whether another ORAM has a tree of the same shape, for the same blocks.
    pub fn has_tree_of(&self, other: &Self) -> bool {
        let tree = |oram: &Self| {
            let numbers = (oram.levels, oram.blocks_per_bucket, oram.top_levels, oram.labels);
            (oram.scheme, numbers, oram.user_blocks, oram.trusted_positions, oram.sizes.clone())
        };
        tree(self) == tree(other)
    }

    /// Slots of a bucket by level that may hold blocks.
    pub(crate) fn blocks(&self) -> Result<Vec<u32>, ConfigurationError> {
        Ok(match self.parameters()?.tree {
            BackendParameters::Path { buckets, .. } => buckets.blocks().to_vec(),
            BackendParameters::Raw(raw) => vec![raw.blocks_per_bucket; self.levels as usize],
            BackendParameters::Ring(ring) => {
                let mut slots = vec![ring.inner.slots; self.levels as usize];
                slots[self.levels as usize - 1] = ring.leaf.slots;
                slots
            }
        })
    }

    /// The slots of a bucket in memory by level, 0 for the levels on the trusted side.
    pub(crate) fn slots(&self) -> Result<Vec<u32>, ConfigurationError> {
        let mut slots = self.blocks()?;
        let headers = u32::from(self.scheme.has_headers_in_memory());
        slots.iter_mut().for_each(|slots| *slots += headers);
        slots[..self.top_levels as usize].fill(0);
        Ok(slots)
    }

    /// The store that the tree runs over.
    pub(crate) fn store(&self, slots: Slots) -> TreeStore {
        match self.scheme {
            TreeScheme::Path => TreeStore::of_path(slots),
            TreeScheme::Raw { .. } => TreeStore::of_raw(slots),
            TreeScheme::Ring { .. } => TreeStore::of_ring(slots),
        }
    }

    /// The paths by which its blocks sink.
    pub(crate) fn sinking(&self) -> Sinking {
        match self.scheme {
            TreeScheme::Path => Sinking::ByEachPath,
            TreeScheme::Raw { eviction_rate: rate, .. } | TreeScheme::Ring { eviction_rate: rate, .. } => {
                Sinking::ByEvictions { rate }
            }
        }
    }
}
