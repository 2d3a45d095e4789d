//! The parameters of a Freecursive ORAM.

use super::address_space::AddressSpace;
use crate::range::{self, OutOfRange};
use crate::schemes::path::{BucketsByLevel, PathParametersError, TreeTopParameters};

/// The parameters of a Freecursive ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreecursiveParameters {
    /// N, blocks that the user can address: at least 1.
    pub capacity: u64,
    /// X, positions in a PosMap block: 2 to 2^20, and 4 bytes of a block for each of them if they are kept in it.
    pub labels: u32,
    /// The most positions that the trusted side keeps in a table: at least 1. There are as many levels of PosMap blocks as
    /// this takes.
    pub trusted_positions: u64,
    /// PosMap blocks of the look-aside buffer: 1 to 2^20.
    pub look_aside: u32,
    /// The ways of its sets: a divisor of its blocks; 1 for a direct-mapped one, as the paper has it.
    pub look_aside_ways: u32,
    /// The place of the positions.
    pub positions: PositionsKept,
    /// The use of blocks that are found on the trusted side.
    pub hits: TrustedHits,
    /// The most accesses of one batch: 1 to 1024.
    pub max_batch: u32,
    /// The tree, for [`tree_capacity`](Self::tree_capacity) blocks, in batches of 1 and with `top` 0.
    pub tree: BucketsByLevel,
    /// The tree top on the trusted side.
    pub tree_top: TreeTopParameters,
}

/// The place of the positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionsKept {
    /// In the payloads of the PosMap blocks, where they belong.
    InBlocks,
    /// In a table aside, 4 bytes a block: for simulations, whose blocks have no payload. The trace is the same.
    Aside,
}

/// The use of blocks that are found on the trusted side.
///
/// Only [`ReadThePath`](Self::ReadThePath) is oblivious. With the others a block that stays on the trusted side keeps its leaf, and
/// its path is not shown. So a path that is shown says that its block did leave: that the path shares its beginning
/// with one that was shown since the block's last access. A block that is accessed again soon shows two paths which share more
/// than two random ones would. Dummies and fixed rates do not hide that. The processors of the literature have these options;
/// simulations need them, and nothing else should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedHits {
    /// They are read like any other, each with its path.
    ReadThePath,
    /// The stash answers at once. A block of the tree top is read with its path.
    StashAnswers,
    /// The stash answers at once. A block of the tree top needs no path once its position is known: a dedicated cache.
    SaveThePath,
    /// The stash and the index of the tree top answer at once, without the position (IR-Stash).
    AnswerAtOnce,
}

/// The reason why the parameters of a Freecursive ORAM are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FreecursiveParametersError {
    /// A value outside of its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The tree is refused.
    #[error(transparent)]
    Tree(#[from] PathParametersError),
    /// The tree is for another number of blocks.
    #[error(
        "the tree is for {given} blocks, and there are {needed} with the PosMap blocks: give it that capacity"
    )]
    Capacity {
        /// The capacity of the tree.
        given: u64,
        /// The blocks of the unified address space.
        needed: u64,
    },
    /// The sets of the look-aside buffer are not of equal size.
    #[error("{blocks} blocks of the look-aside buffer make no sets of {ways} ways: choose a divisor of them")]
    Ways {
        /// Blocks of the buffer.
        blocks: u32,
        /// Ways of a set.
        ways: u32,
    },
    /// The positions of a filled store are not one for each block, or not kept aside.
    #[error(
        "{given} positions were given for the {needed} blocks of a filled store: give one each, kept aside"
    )]
    Positions {
        /// Positions that were given.
        given: u64,
        /// The blocks of the unified address space.
        needed: u64,
    },
    /// The tree top has an index by block that is not used, or none where one is needed.
    #[error("hits of the tree top answer at once if it has an index, and only then: set both, or neither")]
    Index,
}

impl FreecursiveParameters {
    /// The unified address space.
    pub fn address_space(&self) -> AddressSpace {
        AddressSpace::new(self.capacity, self.labels, self.trusted_positions)
    }

    /// Blocks of the tree: the user's, and those of the PosMaps.
    pub fn tree_capacity(capacity: u64, labels: u32, trusted_positions: u64) -> u64 {
        AddressSpace::new(capacity, labels, trusted_positions).blocks()
    }

    /// Paths that an access shows: one for each level of PosMap blocks, and that of the block.
    pub fn paths_per_access(&self) -> u32 {
        self.address_space().maps() + 1
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`FreecursiveParametersError`].
    pub fn validate(&self) -> Result<(), FreecursiveParametersError> {
        let tree = self.tree.parameters();
        let block_bytes = u64::from(tree.block_bytes);
        let most_labels = match self.positions {
            PositionsKept::InBlocks => (block_bytes / 4).min(1 << 20),
            PositionsKept::Aside => 1 << 20,
        };
        range::check(&[
            ("capacity", self.capacity, 1, u64::from(u32::MAX)),
            ("labels", self.labels.into(), 2, most_labels),
            ("trusted_positions", self.trusted_positions, 1, u64::from(u32::MAX)),
            ("look_aside", self.look_aside.into(), 1, 1 << 20),
            ("look_aside_ways", self.look_aside_ways.into(), 1, self.look_aside.into()),
            ("max_batch", self.max_batch.into(), 1, 1024),
            ("max_batch of the tree", tree.max_batch.into(), 1, 1),
        ])?;
        let (blocks, ways) = (self.look_aside, self.look_aside_ways);
        if !blocks.is_multiple_of(ways) {
            return Err(FreecursiveParametersError::Ways { blocks, ways });
        }
        let (given, needed) = (tree.capacity, self.address_space().blocks());
        if given != needed {
            return Err(FreecursiveParametersError::Capacity { given, needed });
        }
        if (self.hits == TrustedHits::AnswerAtOnce) != self.tree_top.ways.is_some() {
            return Err(FreecursiveParametersError::Index);
        }
        Ok(())
    }
}
