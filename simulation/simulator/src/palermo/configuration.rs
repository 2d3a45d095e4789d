//! The options of Palermo, and the trees that follow from them.

use crate::configuration_error::ConfigurationError;
use crate::oram_configuration::OramConfiguration;
use crate::tree_scheme::{Headers, TreeScheme};
use ameles_core::schemes::freecursive::TrustedHits;
use ameles_dram::Specification;

/// The trees: two of PosMaps, and that of the data.
pub const TREES: usize = 3;
/// Positions in a PosMap block.
pub(super) const LABELS: u64 = 8;
/// Blocks of the data for each leaf.
const BLOCKS_PER_LEAF: u64 = 4;

/// The steps that may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// Ring ORAM, without overlap: a step begins when all blocks of the step before have been read, or written.
    Nothing,
    /// Writes, with the steps that follow.
    Writes,
    /// Palermo's protocol in software: a request begins when the previous one has done step 1 in the tree of the data.
    Requests,
    /// Palermo: by tree.
    Trees,
}

/// The options of Palermo.
#[derive(Clone, Debug, PartialEq)]
pub struct PalermoConfiguration {
    /// L, the number of levels of the tree of the data: 10 to 25. The PosMaps' trees have three and six levels less.
    pub levels: u32,
    /// Levels on the trusted side, of each tree.
    pub top_levels: [u32; TREES],
    /// Z, the number of blocks of a bucket.
    pub blocks_per_bucket: u32,
    /// S, the number of reads of a bucket between two writes of it, and one more.
    pub reads: u32,
    /// A, the number of visits for each eviction.
    pub eviction_rate: u32,
    /// The place of the metadata.
    pub metadata: Headers,
    /// The steps that overlap.
    pub overlap: Overlap,
    /// N, the number of requests in flight, 1 to 64: of use if requests overlap.
    pub requests: usize,
    /// The memory.
    pub memory: Specification,
}

impl PalermoConfiguration {
    /// The parameters of the authors' simulator, with a smaller tree: Z = 16, S = 27, A = 20, and eight requests. The
    /// memory is DDR4-3200 with four channels and two ranks. That simulator has 95 buckets of the data on the trusted
    /// side, and 11 and 5 of the PosMaps. Here that is as many whole levels as fit in.
    pub fn of_authors(levels: u32, overlap: Overlap) -> Self {
        PalermoConfiguration {
            levels,
            top_levels: [2, 3, 6],
            blocks_per_bucket: 16,
            reads: 27,
            eviction_rate: 20,
            metadata: Headers::InMemory,
            overlap,
            requests: 8,
            memory: Specification::preset("ddr4").expect("it has a name").with_super_rows(),
        }
    }

    /// Blocks of the data.
    pub fn blocks(&self) -> u64 {
        BLOCKS_PER_LEAF << (self.levels - 1)
    }

    /// The ORAM of a tree. All of its positions are on the trusted side: those of the next tree's blocks are its data.
    pub(super) fn tree(&self, tree: usize) -> OramConfiguration {
        let fewer = LABELS.ilog2() * (TREES - 1 - tree) as u32;
        let user_blocks = self.blocks() >> fewer;
        OramConfiguration {
            scheme: TreeScheme::Ring {
                eviction_rate: self.eviction_rate,
                reads: self.reads,
                slots: self.blocks_per_bucket + self.reads,
                metadata: self.metadata,
            },
            levels: self.levels - fewer,
            blocks_per_bucket: self.blocks_per_bucket,
            sizes: Vec::new(),
            user_blocks,
            top_levels: self.top_levels[tree],
            hits: TrustedHits::ReadThePath,
            top_ways: 1,
            stash: 400,
            labels: LABELS as u32,
            trusted_positions: user_blocks,
            look_aside: 1,
            look_aside_ways: 1,
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigurationError> {
        if !(10..=25).contains(&self.levels) {
            return Err(ConfigurationError::Levels { levels: self.levels, top: self.top_levels[TREES - 1] });
        }
        if !(1..=64).contains(&self.requests) {
            return Err(ConfigurationError::RequestsInFlight { requests: self.requests });
        }
        Ok(())
    }
}
