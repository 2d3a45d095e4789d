//! The configuration of a main ORAM, and its parameters in the core.

use crate::configuration_error::ConfigurationError;
use crate::ring_metadata::RingMetadata;
use crate::tree_scheme::{Headers, TreeScheme};
use ameles_core::schemes::freecursive::{
    BackendParameters, FreecursiveParameters, FreecursiveParametersError, PositionStorage, TrustedHits,
};
use ameles_core::schemes::path::{BucketsByLevel, PathParameters, TreeTopParameters};
use ameles_core::schemes::raw::RawParameters;
use ameles_core::schemes::ring::{RingBucket, RingParameters};
use ameles_core::types::Level;

/// A tree with its front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OramConfiguration {
    /// The scheme of the tree.
    pub scheme: TreeScheme,
    /// L, the number of levels of the tree: 2 to 32. (The core counts from 0 to L - 1.)
    pub levels: u32,
    /// Z, the number of blocks of a bucket.
    pub blocks_per_bucket: u32,
    /// IR-Alloc: the first and the last level of a range, and the size of its buckets. They are below the tree top.
    pub sizes: Vec<(u32, u32, u32)>,
    /// The number of blocks that the user can address: lines of memory.
    pub user_blocks: u64,
    /// The number of levels on the trusted side.
    pub top_levels: u32,
    /// The use of blocks on the trusted side.
    pub hits: TrustedHits,
    /// The number of ways of the index of the tree top by block, if hits are to be answered at once.
    pub top_ways: u32,
    /// The number of blocks of the stash, with a path that was read: beyond that, background evictions follow. If the
    /// stash holds the top levels, it has room for their buckets in addition.
    pub stash: u32,
    /// X, the number of positions in a PosMap block.
    pub labels: u32,
    /// The maximum of positions that the trusted side stores.
    pub trusted_positions: u64,
    /// The number of blocks of the PLB.
    pub look_aside: u32,
    /// The number of ways of the PLB.
    pub look_aside_ways: u32,
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
            positions: PositionStorage::Separate,
            hits: self.hits,
            max_batch: 1,
            tree: match self.scheme {
                TreeScheme::Path => self.path()?,
                TreeScheme::Raw { eviction_rate, .. } => self.raw(eviction_rate)?,
                TreeScheme::Ring { eviction_rate, reads, slots, .. } => {
                    self.ring(eviction_rate, reads, slots)?
                }
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
            slice_slots: u32::MAX,
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

    /// Returns whether another ORAM can begin with the same tree. Its shape and its blocks must be the same, and it
    /// must have settled with as much room in its top and its stash.
    pub fn has_tree_of(&self, other: &Self) -> bool {
        let tree = |oram: &Self| {
            let FreecursiveParameters { capacity, labels, trusted_positions, tree, .. } =
                oram.parameters().ok()?;
            Some((capacity, labels, trusted_positions, tree))
        };
        tree(self).is_some_and(|one| tree(other).is_some_and(|other| one == other))
    }

    /// Slots of a bucket by level that may hold blocks, in its tree.
    pub(crate) fn blocks(&self, tree: &BackendParameters) -> Vec<u32> {
        match tree {
            BackendParameters::Path { buckets, .. } => buckets.blocks().to_vec(),
            BackendParameters::Raw(raw) => vec![raw.blocks_per_bucket; self.levels as usize],
            BackendParameters::Ring(ring) => {
                let mut slots = vec![ring.inner.slots; self.levels as usize];
                slots[self.levels as usize - 1] = ring.leaf.slots;
                slots
            }
        }
    }

    /// The maximum number of lines that an eviction reads of a path, with blocks of `block_lines`. In Ring ORAM these
    /// are the lines of Z slots of each bucket, and of its metadata. In the other schemes these are all lines.
    pub(crate) fn lines_read_by_eviction(&self, tree: &BackendParameters, block_lines: u32) -> u64 {
        let lines = self.lines(tree, block_lines);
        let all = lines.iter().map(|lines| u64::from(*lines)).sum();
        let BackendParameters::Ring(ring) = tree else { return all };
        let unread = |bucket: RingBucket| u64::from((bucket.slots - bucket.blocks) * block_lines);
        let inner = u64::from(ring.leaf_level.0 - ring.top.0);
        all - inner * unread(ring.inner) - unread(ring.leaf)
    }

    /// The lines of a bucket in memory by level, with blocks of `block_lines`: 0 for the levels on the trusted side.
    pub(crate) fn lines(&self, tree: &BackendParameters, block_lines: u32) -> Vec<u32> {
        let metadata = RingMetadata::of(self.scheme, tree);
        let has_header = matches!(self.scheme, TreeScheme::Raw { headers: Headers::InMemory, .. });
        let blocks = self.blocks(tree);
        let lines = |(level, blocks): (u32, u32)| match level {
            level if level < self.top_levels => 0,
            level => {
                let blocks = (blocks + u32::from(has_header)).saturating_mul(block_lines);
                blocks + metadata.map_or(0, |metadata| metadata.lines(level))
            }
        };
        (0..).zip(blocks).map(lines).collect()
    }
}
