//! The parameters of a Freecursive ORAM.

use super::address_space::AddressSpace;
use super::counters::{Groups, MAX_BITS};
use super::pmmac::TAG_BYTES;
use crate::range::{self, OutOfRange};
use crate::schemes::path::{BucketsByLevel, PathParameters, PathParametersError, TreeTopParameters};
use crate::schemes::raw::RawParameters;
use crate::schemes::ring::{RingParameters, RingParametersError};
use crate::tree::layout::Layout;
use crate::tree::planning::HalfFullTreeError;
use crate::types::Level;

/// The parameters of a Freecursive ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreecursiveParameters {
    /// N, the number of blocks that the user can address: at least 1.
    pub capacity: u64,
    /// X, the number of positions in a PosMap block: 2 to 2^20. If they are kept in it, each takes 4 bytes. X' counters
    /// take their bits, and 8 bytes more.
    pub labels: u32,
    /// The maximum number of positions that the trusted side keeps in a table: at least 1. The number of levels of
    /// PosMap blocks follows from it.
    pub trusted_positions: u64,
    /// The number of PosMap blocks of the look-aside buffer: 1 to 2^20.
    pub look_aside: u32,
    /// The ways of its sets: a divisor of its blocks; 1 for a direct-mapped one, as in the paper.
    pub look_aside_ways: u32,
    /// The place of the positions.
    pub positions: PositionStorage,
    /// The use of blocks that are found on the trusted side.
    pub hits: TrustedHits,
    /// The maximum number of accesses in one batch: 1 to 1024.
    pub max_batch: u32,
    /// The tree, for [`tree_capacity`](Self::tree_capacity) blocks and in batches of 1. Its blocks have [`TAG_BYTES`]
    /// more than the user's, if they have tags.
    pub tree: BackendParameters,
}

/// The parameters of the tree below the front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendParameters {
    /// Path ORAM.
    Path {
        /// The buckets of all levels: their `top` is 0.
        buckets: BucketsByLevel,
        /// The tree top on the trusted side.
        top: TreeTopParameters,
    },
    /// RAW ORAM. The levels above its `top` are on the trusted side, as part of the stash.
    Raw(RawParameters),
    /// Ring ORAM. The levels above its `top` are on the trusted side, as part of the stash.
    Ring(RingParameters),
}

impl BackendParameters {
    /// Returns the number of blocks of the tree.
    pub fn capacity(&self) -> u64 {
        match self {
            BackendParameters::Path { buckets, .. } => buckets.parameters().capacity,
            BackendParameters::Raw(raw) => raw.capacity,
            BackendParameters::Ring(ring) => ring.capacity,
        }
    }

    /// Returns the size of a block in bytes, including its tag if it has one.
    pub fn block_bytes(&self) -> u32 {
        match self {
            BackendParameters::Path { buckets, .. } => buckets.parameters().block_bytes,
            BackendParameters::Raw(raw) => raw.block_bytes,
            BackendParameters::Ring(ring) => ring.block_bytes,
        }
    }

    /// L, the level of the leaves.
    pub fn leaf_level(&self) -> Level {
        match self {
            BackendParameters::Path { buckets, .. } => buckets.parameters().leaf_level,
            BackendParameters::Raw(raw) => raw.leaf_level,
            BackendParameters::Ring(ring) => ring.leaf_level,
        }
    }

    /// The first level in untrusted memory.
    pub fn top(&self) -> Level {
        match self {
            BackendParameters::Path { top, .. } => Level(top.levels),
            BackendParameters::Raw(raw) => raw.top,
            BackendParameters::Ring(ring) => ring.top,
        }
    }

    /// The untrusted memory that the tree needs.
    pub fn layout(&self) -> Layout {
        match self {
            BackendParameters::Path { buckets, .. } => buckets.layout(),
            BackendParameters::Raw(raw) => raw.layout(),
            BackendParameters::Ring(ring) => ring.layout(),
        }
    }

    fn max_batch(&self) -> u32 {
        match self {
            BackendParameters::Path { buckets, .. } => buckets.parameters().max_batch,
            BackendParameters::Raw(raw) => raw.max_batch,
            BackendParameters::Ring(ring) => ring.max_batch,
        }
    }
}

/// The place of the positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionStorage {
    /// The positions are in the payloads of the PosMap blocks, where they belong.
    InBlocks,
    /// The positions are in a separate table, 4 bytes per block: for simulations, whose blocks have no payload. The
    /// trace is the same.
    Separate,
    /// Nowhere: the payloads of the PosMap blocks hold counters, from which the positions are computed (the
    /// compressed PosMap). The table on the trusted side holds counters of 8 bytes.
    Counters {
        /// β, bits of a counter in a PosMap block: [`min_bits`](FreecursiveParameters::min_bits) to 32.
        bits: u32,
        /// The choice whether each block of the tree has a tag over its counter and its payload (PMMAC). If they have,
        /// every path must be read.
        tags: bool,
    },
}

/// The use of blocks that are found on the trusted side.
///
/// Only [`ReadThePath`](Self::ReadThePath) is oblivious. With the others a block that stays on the trusted side keeps
/// its leaf, and its path is not shown. So a shown path reveals that its block did leave. Then this path shares its
/// beginning with one that was shown since the block's last access. A block that is accessed again soon shows two paths
/// which share more than two random ones would. Dummies and fixed rates do not hide that. The processors of the
/// literature have these options; simulations need them, and nothing else should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedHits {
    /// Blocks on the trusted side are read like any other, each with its path.
    ReadThePath,
    /// The stash answers at once. A block of the tree top is read with its path.
    StashAnswers,
    /// The stash answers at once. A block of the tree top needs no path once its position is known: a dedicated
    /// cache. A stash that has the top levels in it stands for such a cache: it answers once the position is known.
    SaveThePath,
    /// The stash and the index of the tree top answer at once, without the position (IR-Stash). A stash that has the
    /// top levels in it does so with [`StashAnswers`](Self::StashAnswers) already.
    AnswerAtOnce,
}

/// The reason why the parameters of a Freecursive ORAM are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FreecursiveParametersError {
    /// A value that is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The tree is refused.
    #[error(transparent)]
    Tree(#[from] PathParametersError),
    /// The tree of RAW ORAM is refused.
    #[error(transparent)]
    Raw(#[from] HalfFullTreeError),
    /// The tree of Ring ORAM is refused.
    #[error(transparent)]
    Ring(#[from] RingParametersError),
    /// The buckets of Ring ORAM are numbered from another one than the first of its store.
    #[error("the buckets of Ring ORAM are numbered from 0, not from {given}: give it a separate store")]
    FirstBucket {
        /// The first bucket that was given.
        given: u64,
    },
    /// A filled store comes without the metadata of Ring ORAM, or with metadata for another scheme.
    #[error(
        "a filled store of Ring ORAM needs its metadata (over_filled_ring); any other filled store has none (over_filled_store)"
    )]
    Filled,
    /// The tree is for another number of blocks.
    #[error(
        "the tree is for {given} blocks, but {needed} are needed with the PosMap blocks: give it that capacity"
    )]
    Capacity {
        /// The capacity of the tree.
        given: u64,
        /// The number of blocks in the unified address space.
        needed: u64,
    },
    /// The sets of the look-aside buffer are not of equal size.
    #[error(
        "{blocks} blocks of the look-aside buffer cannot be divided into sets of {ways} ways: choose a divisor of {blocks}"
    )]
    Ways {
        /// The number of blocks of the buffer.
        blocks: u32,
        /// The number of ways of a set.
        ways: u32,
    },
    /// The positions of a filled store are not one for each block, or are not in a separate table.
    #[error(
        "{given} positions were given for the {needed} blocks of a filled store: give one for each, in a separate table"
    )]
    Positions {
        /// The number of positions that were given.
        given: u64,
        /// The number of blocks in the unified address space.
        needed: u64,
    },
    /// Counters are used up before a group is remapped.
    #[error("counters of {bits} bits are used up before a group is remapped: give them at least {min}")]
    CounterBits {
        /// The number of bits that were given.
        bits: u32,
        /// The number of bits that suffice.
        min: u32,
    },
    /// Blocks with tags are to be served without their paths, and so without a new counter.
    #[error("blocks with tags need a path for each access: choose TrustedHits::ReadThePath, or no tags")]
    Tags,
    /// The tree top has an index by block that is not used, or none if one is needed.
    #[error("only a tree top with an index answers hits at once: set both, or neither")]
    Index,
}

impl FreecursiveParameters {
    /// The unified address space.
    pub fn address_space(&self) -> AddressSpace {
        AddressSpace::new(self.capacity, self.labels, self.trusted_positions)
    }

    /// Returns the number of blocks of the tree: the user's blocks and the PosMap blocks.
    pub fn tree_capacity(capacity: u64, labels: u32, trusted_positions: u64) -> u64 {
        AddressSpace::new(capacity, labels, trusted_positions).blocks()
    }

    /// Returns the number of paths that an access shows: one for each level of PosMap blocks, and one for the block.
    /// Counters in PosMap blocks need one more, for group remaps.
    pub fn paths_per_access(&self) -> u32 {
        let maps = self.address_space().maps();
        let has_turn = maps > 0 && matches!(self.positions, PositionStorage::Counters { .. });
        maps + 1 + u32::from(has_turn)
    }

    /// The bytes of a block that the user has, without the tag.
    pub fn user_bytes(&self) -> u32 {
        let tree = self.tree.block_bytes();
        if self.has_tags() { tree.saturating_sub(TAG_BYTES as u32) } else { tree }
    }

    /// The minimum bits of a counter so that no counter is used up before its group is remapped. It is the smallest β
    /// for which 2^(β-1) - 1 turns are enough. With one level of PosMap blocks each turn moves a straggler, and there
    /// are X' - 1 stragglers. With M levels, each turn moves one with a probability of 1/M. In 2·M·(X' + 54) turns,
    /// fewer than X' - 1 move one only with a probability below 2^-80.
    pub fn min_bits(maps: u32, labels: u32) -> u32 {
        let (maps, labels) = (u64::from(maps), u64::from(labels));
        let turns = match maps {
            0 => 1,
            1 => labels.saturating_sub(1).max(1),
            _ => 2 * maps * (labels + 54),
        };
        turns.ilog2() + 2
    }

    pub(super) fn has_tags(&self) -> bool {
        matches!(self.positions, PositionStorage::Counters { tags: true, .. })
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`FreecursiveParametersError`].
    pub fn validate(&self) -> Result<(), FreecursiveParametersError> {
        self.validate_but_bits()?;
        if let PositionStorage::Counters { bits, .. } = self.positions {
            let min = Self::min_bits(self.address_space().maps(), self.labels);
            if bits < min {
                return Err(FreecursiveParametersError::CounterBits { bits, min });
            }
        }
        Ok(())
    }

    /// Checks all that makes an ORAM answer wrongly; counters that are used up too soon do not.
    pub(super) fn validate_but_bits(&self) -> Result<(), FreecursiveParametersError> {
        let user_bytes = u64::from(self.user_bytes());
        let (bits, tag_bytes) = match self.positions {
            PositionStorage::Counters { bits, tags } => (bits, if tags { TAG_BYTES as u64 } else { 0 }),
            PositionStorage::InBlocks | PositionStorage::Separate => (MAX_BITS, 0),
        };
        let max_labels = match self.positions {
            PositionStorage::InBlocks => (user_bytes / 4).min(1 << 20),
            PositionStorage::Separate => 1 << 20,
            PositionStorage::Counters { .. } => Groups::max_labels(user_bytes, bits).min(1 << 20),
        };
        range::check(&[
            ("capacity", self.capacity, 1, u64::from(u32::MAX)),
            ("bits of a counter", bits.into(), 2, MAX_BITS.into()),
            ("block_bytes", self.tree.block_bytes().into(), tag_bytes, u64::from(u32::MAX)),
            ("labels", self.labels.into(), 2, max_labels),
            ("trusted_positions", self.trusted_positions, 1, u64::from(u32::MAX)),
            ("look_aside", self.look_aside.into(), 1, 1 << 20),
            ("look_aside_ways", self.look_aside_ways.into(), 1, self.look_aside.into()),
            ("max_batch", self.max_batch.into(), 1, 1024),
            ("max_batch of the tree", self.tree.max_batch().into(), 1, 1),
        ])?;
        let (blocks, ways) = (self.look_aside, self.look_aside_ways);
        if !blocks.is_multiple_of(ways) {
            return Err(FreecursiveParametersError::Ways { blocks, ways });
        }
        let (given, needed) = (self.tree.capacity(), self.address_space().blocks());
        if given != needed {
            return Err(FreecursiveParametersError::Capacity { given, needed });
        }
        let has_index = match &self.tree {
            BackendParameters::Path { buckets, top } => {
                let PathParameters { leaf_level, blocks_per_bucket, .. } = *buckets.parameters();
                top.check(leaf_level, blocks_per_bucket)?;
                top.ways.is_some()
            }
            BackendParameters::Raw(_) | BackendParameters::Ring(_) => false,
        };
        if (self.hits == TrustedHits::AnswerAtOnce) != has_index {
            return Err(FreecursiveParametersError::Index);
        }
        if self.has_tags() && self.hits != TrustedHits::ReadThePath {
            return Err(FreecursiveParametersError::Tags);
        }
        Ok(())
    }
}
