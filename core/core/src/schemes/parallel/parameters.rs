//! The parameters of an oblivious parallel RAM, and the choices that make sense.

use super::load;
use crate::network::Processor;
use crate::oram::Bounds;
use crate::range::{self, OutOfRange};
use crate::schemes::circuit::CircuitParameters;
use crate::tree::block_header::HEADER_BYTES;
use crate::tree::geometry::Geometry;
use crate::tree::layout::Layout;
use crate::tree::planning::{self, HalfFullTreeError};
use crate::types::{Bucket, Level};
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of an oblivious parallel RAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ParallelParameters {
    /// N, the number of blocks that the user can address: 1 to 2^32 - 1, and no more than Z · 2^L: half of the tree.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// m, the number of processors: a power of two from 1 to 1024. A round serves one request of each processor, so m
    /// is the maximum length of a batch.
    pub processors: u32,
    /// L, the level of the leaves of the whole tree: lg m to 31. Each processor has the leaves below one node of level
    /// lg m.
    pub leaf_level: Level,
    /// The first level in untrusted memory: lg m to L. The blocks that belong above it wait with the processors.
    pub top: Level,
    /// Z, the number of blocks of a bucket: 2 to 64.
    pub blocks_per_bucket: u32,
    /// The hard bound of the stash of each processor in blocks, those that belong above `top` included: at least m.
    /// While the next round might exceed it, an eviction outside of the schedule comes first.
    pub stash_bound: u32,
}

/// The reason why parameters of an oblivious parallel RAM are refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParallelParametersError {
    /// A value that is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Processors that cannot be paired off.
    #[error("{0} processors are not a power of two; choose 1, 2, 4 or another one up to 1024")]
    Processors(u32),
    /// The tree is too full for blocks to find their way down.
    #[error(transparent)]
    Tree(HalfFullTreeError),
    /// A processor without its memory, or memory without a processor.
    #[error("{stores} stores were given for {processors} processors; give one for each")]
    Stores {
        /// The number of given stores.
        stores: usize,
        /// m.
        processors: u32,
    },
}

impl From<HalfFullTreeError> for ParallelParametersError {
    fn from(error: HalfFullTreeError) -> Self {
        match error {
            HalfFullTreeError::OutOfRange(out) => Self::OutOfRange(out),
            other => Self::Tree(other),
        }
    }
}

impl ParallelParameters {
    /// Good parameters for this many processors. They are those of Circuit ORAM with this many accesses in a batch. The
    /// tree is at least high enough to be divided.
    ///
    /// `trusted_blocks` is the number of blocks that all processors together hold on average. Each of them waits for
    /// one subtree at least, so they hold 0.8 m of them or more.
    ///
    /// # Errors
    /// A capacity, a block size or a number of processors out of range.
    pub fn for_capacity(
        capacity: u64,
        block_bytes: u32,
        processors: u32,
        trusted_blocks: u64,
    ) -> Result<Self, ParallelParametersError> {
        check_processors(processors)?;
        let bits = Level(processors.ilog2());
        let mut tree = CircuitParameters::for_capacity(capacity, block_bytes, trusted_blocks, processors)?;
        tree.leaf_level = tree.leaf_level.max(bits);
        tree.top = tree.top.max(bits);
        let parameters = ParallelParameters {
            capacity,
            block_bytes,
            processors,
            leaf_level: tree.leaf_level,
            top: tree.top,
            blocks_per_bucket: tree.blocks_per_bucket,
            // As much as waits in all of them, before the evictions of one round, and room for the next.
            stash_bound: tree.waiting_bound().saturating_add(3 * processors),
        };
        parameters.validate()?;
        Ok(parameters)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), ParallelParametersError> {
        check_processors(self.processors)?;
        let bits = u64::from(self.bits());
        let leaf_level = u64::from(self.leaf_level.0);
        range::check(&[
            ("leaf_level", leaf_level, bits, 31),
            ("top", u64::from(self.top.0), bits, leaf_level),
            ("stash_bound", self.stash_bound.into(), self.processors.into(), u32::MAX.into()),
        ])?;
        let whole_tree = CircuitParameters {
            capacity: self.capacity,
            block_bytes: self.block_bytes,
            leaf_level: self.leaf_level,
            top: self.top,
            blocks_per_bucket: self.blocks_per_bucket,
            max_batch: self.processors,
            stash_bound: self.stash_bound,
        };
        Ok(whole_tree.validate()?)
    }

    /// lg m.
    pub(super) fn bits(&self) -> u32 {
        self.processors.ilog2()
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.processors)
    }

    /// The subtree of a processor: a tree by itself, whose buckets are numbered behind those of the processors before
    /// it.
    pub fn subtree(&self, processor: Processor) -> Geometry {
        let (leaf_level, top) = (self.leaf_level.0 - self.bits(), self.top.0 - self.bits());
        let buckets = (2 << leaf_level) - (1 << top);
        let first = Bucket(u64::from(processor.0) * buckets);
        let bucket = (self.blocks_per_bucket, self.block_bytes);
        Geometry::of_whole_buckets(Level(leaf_level), Level(top), bucket, first)
    }

    /// The untrusted memory of all processors, in plaintext bytes: their subtrees, one after the other.
    pub fn layout(&self) -> Layout {
        let mut layout = Layout::default();
        for processor in (0..self.processors).map(Processor) {
            layout.append(&self.subtree(processor).layout());
        }
        layout
    }

    /// K, buckets of a path in untrusted memory.
    pub fn path_buckets(&self) -> usize {
        planning::path_buckets(self.leaf_level, self.top)
    }

    /// The lengths of the messages of a round, in bytes.
    pub fn message_bytes(&self) -> MessageBytes {
        let block = self.block_bytes as usize;
        let entry = HEADER_BYTES + block;
        let routed = |step| load::message_blocks(self.bits(), step) as usize * entry + 1;
        MessageBytes {
            record: super::record::HEADER + block,
            neighbour: 8,
            position: 16,
            request: 16,
            answer: block,
            routed: (0..self.bits()).map(routed).collect(),
        }
    }
}

/// The lengths of the messages of a round, in bytes. They follow from the parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageBytes {
    /// A request or an answer that is sorted, or passed on within its run.
    pub record: usize,
    /// A block's number, for the neighbour.
    pub neighbour: usize,
    /// A change of the position map. Step k of its spreading sends 2^k of them together.
    pub position: usize,
    /// A request for a path.
    pub request: usize,
    /// A block that comes from a path.
    pub answer: usize,
    /// The blocks that are routed to their new subtrees, for each step.
    pub routed: Vec<usize>,
}

fn check_processors(processors: u32) -> Result<(), ParallelParametersError> {
    range::check(&[("processors", processors.into(), 1, 1024)])?;
    match processors.is_power_of_two() {
        true => Ok(()),
        false => Err(ParallelParametersError::Processors(processors)),
    }
}
