//! The configuration of a machine, and the schemes of IR-ORAM's figures as configurations.

use crate::clocks::Clocks;
use crate::configuration_error::{ConfigurationError, MAX_REST};
use crate::early_write_back::EarlyLine;
use crate::fork_path::{AGES, QUEUES};
use crate::oram_configuration::OramConfiguration;
use crate::pace::Pace;
use crate::path_variant::PathVariant;
use crate::ring_metadata::RingMetadata;
use crate::small_tree::{SmallTreeConfiguration, SmallTreeError};
use crate::tree_scheme::TreeScheme;
use ameles_core::schemes::freecursive::{BackendParameters, TrustedHits};
use ameles_dram::Specification;
use ameles_processor::cache::{Cache, CacheShape};
use ameles_processor::processor::Shape;
use std::ops::RangeInclusive;

/// Bits of a group's counter and of a block's in a compressed PosMap block (Freecursive ORAM, section 5.3).
const GROUP_COUNTER_BITS: u64 = 64;
const COUNTER_BITS: u64 = 14;

/// A processor, an ORAM and a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The processor.
    pub processor: Shape,
    /// Bytes of its last-level cache.
    pub cache_bytes: u64,
    /// The number of ways of the last-level cache.
    pub cache_ways: usize,
    /// The ORAM.
    pub oram: OramConfiguration,
    /// ρ's small tree before that, if there is one.
    pub small_tree: Option<SmallTreeConfiguration>,
    /// The times at which paths may begin.
    pub pace: Pace,
    /// IR-DWB: true if dirty lines of the cache are written back instead of dummies. Under delayed remapping, all lines
    /// that are evicted next are remapped ahead instead. It needs dummies.
    pub early_write_backs: bool,
    /// The line that is written back early.
    pub early_line: EarlyLine,
    /// LLC-D: true if a line leaves the tree when the cache gets it, and returns to the tree when the cache evicts it.
    pub delayed_remapping: bool,
    /// True if a path may be read while the one before it is written.
    pub overlapped_writes: bool,
    /// The variant of Path ORAM.
    pub variant: PathVariant,
    /// The number of cycles until a request that needs no path is answered.
    pub hit_cycles: u64,
    /// The memory.
    pub memory: Specification,
    /// The number of levels of a contiguous subtree; `None` for the plain layout.
    pub subtree_levels: Option<usize>,
    /// The number of lines of memory in a block: a power of two, 1 to 64. A block of the ORAM is a line of the cache.
    pub block_lines: u64,
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
    /// Dirty lines are written back instead of dummies.
    IrDwb,
    /// All three, with buckets not as small as those of `IrAlloc`.
    IrOram,
    /// `IrOram` without early write-backs.
    IrStashAlloc,
    /// Delayed remapping.
    LlcD,
    /// Delayed remapping, with IR-Stash and IR-Alloc.
    LlcDStashAlloc,
    /// Delayed remapping, before the line's eviction from the cache and instead of dummies.
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

impl Configuration {
    /// The machine of IR-ORAM's Table I with its Baseline, for a tree of L levels (25 in the paper) that is half
    /// full. A higher tree has a larger memory, and a larger table of positions on chip: as many PosMaps as the
    /// paper's.
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
            early_line: EarlyLine::NextVictim,
            delayed_remapping: false,
            overlapped_writes: false,
            variant: PathVariant::Plain,
            hit_cycles: 20,
            memory,
            subtree_levels: Some(7),
            block_lines: 1,
        }
    }

    /// The same memory of the user in blocks of this many lines, a power of two. The tree has a level less for each
    /// doubling. The tree top and the PLB have as many bytes as before.
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

    /// The same with subtrees of as many levels as fit a super-row of the memory, but no more than there are now.
    pub fn with_fitting_subtrees(mut self) -> Self {
        let slots = u64::from(self.oram.scheme.slots(self.oram.blocks_per_bucket)) * self.block_lines;
        let metadata =
            self.oram.parameters().ok().and_then(|all| RingMetadata::of(self.oram.scheme, &all.tree));
        let header = metadata.map_or(0, |metadata| u64::from(metadata.header_lines));
        let fits = |levels: &usize| {
            let states = metadata.map_or(0, |_| RingMetadata::max_state_lines(*levels as u32));
            ((1 << levels) - 1) * (slots + header) + states <= self.memory.geometry.super_row_blocks()
        };
        self.subtree_levels =
            self.subtree_levels.map(|max| (1..=max.min(32)).rev().find(fits).unwrap_or(max));
        self
    }

    /// The same with buckets of these sizes. The ranges of levels are for 25 levels; in another tree they keep their
    /// distance from the leaves.
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
            Baseline, IrAlloc, IrDwb, IrOram, IrStash, IrStashAlloc, LlcD, LlcDDwb, LlcDStashAlloc,
            LlcDStashAllocDwb, Raw, Rho, Ring,
        };
        let of_paper: &[(u32, u32, u32)] = match scheme {
            IrAlloc | LlcDStashAlloc | LlcDStashAllocDwb => &[(10, 15, 1), (16, 18, 2)],
            IrOram | IrStashAlloc => &[(10, 16, 2), (17, 19, 3)],
            Baseline | IrStash | IrDwb | LlcD | LlcDDwb | Rho | Raw | Ring => &[],
        };
        if matches!(scheme, IrStash | IrOram | IrStashAlloc | LlcDStashAlloc | LlcDStashAllocDwb) {
            self.oram.hits = TrustedHits::AnswerAtOnce;
        }
        self.early_write_backs = matches!(scheme, IrDwb | IrOram | LlcDDwb | LlcDStashAllocDwb);
        self.delayed_remapping = matches!(scheme, LlcD | LlcDStashAlloc | LlcDDwb | LlcDStashAllocDwb);
        match scheme {
            Raw => (self.oram.scheme, self.oram.blocks_per_bucket) = (TreeScheme::RAW, 5),
            Ring => (self.oram.scheme, self.oram.blocks_per_bucket) = (TreeScheme::RING, 8),
            _ => {}
        }
        self = self.with_fitting_subtrees();
        self.small_tree = (scheme == Rho).then(|| SmallTreeConfiguration::for_main_tree(self.oram.levels));
        self.with_sizes(of_paper)
    }

    /// Checks the whole configuration.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn check(&self) -> Result<(), ConfigurationError> {
        self.check_sized_levels()?;
        let tree = self.oram.parameters()?.tree;
        let lines = self.block_lines;
        if !lines.is_power_of_two() || lines > 64 {
            return Err(ConfigurationError::BlockLines { lines });
        }
        self.check_labels()?;
        self.cache()?;
        if self.early_write_backs && !self.pace.has_dummies() {
            return Err(ConfigurationError::NoDummies);
        }
        if let Some(small) = &self.small_tree {
            if self.oram.scheme != TreeScheme::Path {
                return Err(ConfigurationError::PathAlone);
            }
            if small.paths == 0 && self.pace.has_dummies() {
                return Err(SmallTreeError::NoPaths.into());
            }
            let (blocks, tags) = (self.oram.user_blocks, small.parameters()?.tags());
            if tags > blocks / 4 {
                return Err(ConfigurationError::Tags { blocks, tags });
            }
            if self.early_write_backs || self.delayed_remapping {
                return Err(ConfigurationError::SmallTreeAlone);
            }
        }
        self.check_variant()?;
        if matches!(self.pace, Pace::Instructions(0) | Pace::Fetches(0)) {
            return Err(ConfigurationError::NoInstructions);
        }
        if let Some((rest, unit)) = self.pace.rest().filter(|(rest, _)| *rest > MAX_REST) {
            return Err(ConfigurationError::TooSlow { rest, unit });
        }
        if let Pace::FromStart(cycles) = self.pace {
            let needed = self.bus_cycles(&tree)?;
            if cycles < needed {
                return Err(ConfigurationError::TooFast { cycles, needed });
            }
        }
        Ok(())
    }

    /// Checks the variant of Path ORAM; other schemes have none. Under Fork Path, nothing else may decide which path
    /// comes next, and its numbers must be in their ranges.
    fn check_variant(&self) -> Result<(), ConfigurationError> {
        let is_path = self.oram.scheme == TreeScheme::Path && self.small_tree.is_none();
        if self.variant != PathVariant::Plain && !is_path {
            return Err(ConfigurationError::PathAlone);
        }
        let Some(fork) = self.variant.fork_path() else { return Ok(()) };
        if self.early_write_backs || self.delayed_remapping {
            return Err(ConfigurationError::ForkPathAlone);
        }
        let outside = |what, value, range: &RangeInclusive<u32>| ConfigurationError::ForkPath {
            what,
            value,
            min: *range.start(),
            max: *range.end(),
        };
        let levels = self.oram.top_levels..=self.oram.levels - 1;
        let (first, last) = fork.cached_levels.unwrap_or((*levels.start(), *levels.end()));
        let numbers = [
            ("leaves in the queue", fork.queue, QUEUES),
            ("paths that a leaf waits", fork.max_age, AGES),
            ("the first cached level", first, levels.clone()),
            ("the last cached level", last, first..=*levels.end()),
        ];
        match numbers.iter().find(|(_, value, range)| !range.contains(value)) {
            Some((what, value, range)) => Err(outside(*what, *value, range)),
            None => Ok(()),
        }
    }

    /// Checks that the levels of small buckets are in memory. Their sizes would otherwise be refused for a reason that
    /// hides it, such as too few slots.
    fn check_sized_levels(&self) -> Result<(), ConfigurationError> {
        let (top, leaf_level) = (self.oram.top_levels, self.oram.levels.saturating_sub(1));
        let is_wrong = |range: &&(u32, u32, u32)| range.0 > range.1 || range.0 < top || range.1 > leaf_level;
        match self.oram.sizes.iter().find(is_wrong) {
            Some((first, last, _)) if top <= leaf_level => {
                Err(ConfigurationError::SizedLevels { first: *first, last: *last, top, leaf_level })
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a PosMap block holds counters in place of leaves, which would not fit: Freecursive ORAM's
    /// compressed PosMap (section 5).
    pub(crate) fn has_compressed_posmap(&self) -> bool {
        let leaf_bits = u64::from(self.oram.levels - 1);
        u64::from(self.oram.labels) * leaf_bits > self.block_bits()
    }

    /// Checks that a PosMap block has room: for a group's counter, and one for each block.
    fn check_labels(&self) -> Result<(), ConfigurationError> {
        let max = (self.block_bits() - GROUP_COUNTER_BITS) / COUNTER_BITS;
        let labels = self.oram.labels;
        let too_many = u64::from(labels) > max && self.has_compressed_posmap();
        if too_many { Err(ConfigurationError::Labels { labels, max }) } else { Ok(()) }
    }

    fn block_bits(&self) -> u64 {
        512 * self.block_lines
    }

    /// The clock of the processor and that of the memory, in megahertz.
    pub(crate) fn clocks(&self) -> Clocks {
        Clocks { processor: 3200, memory: u64::from(self.memory.clock.mhz).max(1) }
    }

    /// The last-level cache, empty. Its lines are blocks.
    ///
    /// # Errors
    /// [`CacheShape`].
    pub fn cache(&self) -> Result<Cache, CacheShape> {
        let (bytes, ways) = (self.cache_bytes, self.cache_ways);
        Cache::new(bytes / self.block_lines, ways).map_err(|_| CacheShape { bytes, ways })
    }

    /// Lines of a path of the main tree in memory, in one direction: PL in IR-ORAM.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn path_blocks(&self) -> Result<u64, ConfigurationError> {
        Ok(blocks(&self.moved(self.slots()?)))
    }

    /// The slots that a path moves in one direction, by level, of a tree with these slots: PageORAM's with siblings.
    fn moved(&self, mut slots: Vec<u32>) -> Vec<u32> {
        if self.variant == PathVariant::Siblings {
            slots.iter_mut().skip(1).for_each(|slots| *slots *= 2);
        }
        slots
    }

    /// The lines of a bucket of the main tree by level.
    pub(crate) fn slots(&self) -> Result<Vec<u32>, ConfigurationError> {
        Ok(self.oram.lines(&self.oram.parameters()?.tree, self.block_lines as u32))
    }

    /// Slots by level, as lines of memory.
    pub(crate) fn in_lines(&self, slots: Vec<u32>) -> Vec<u32> {
        slots.into_iter().map(|slots| slots.saturating_mul(self.block_lines as u32)).collect()
    }

    /// Cycles for which the data bus is busy with a longest path that is read and written.
    fn bus_cycles(&self, tree: &BackendParameters) -> Result<u64, ConfigurationError> {
        let small =
            self.small_tree.as_ref().map(SmallTreeConfiguration::slots).transpose()?.unwrap_or_default();
        let small = 2 * blocks(&self.in_lines(small));
        let lines = self.block_lines as u32;
        let written = blocks(&self.moved(self.oram.lines(tree, lines)));
        let read = match self.variant {
            PathVariant::Siblings => written,
            _ => self.oram.lines_read_by_eviction(tree, lines),
        };
        let moved = (read + written).max(small);
        let channels = u64::from(self.memory.geometry.channels);
        let bursts = moved.div_ceil(channels) * u64::from(self.memory.geometry.bursts);
        Ok(self.clocks().to_processor(self.memory.timing.burst * bursts).0)
    }
}

/// The blocks of a path with these slots by level.
fn blocks(slots: &[u32]) -> u64 {
    slots.iter().map(|size| u64::from(*size)).sum()
}
