//! The events between a controller, its user and its memory, in the order in which they happen.

use ameles_core::types::{BlockId, Leaf};

/// An operation of the backend, numbered as in `hardware/rtl/ameles_pkg.sv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Answers with the block.
    Read(BlockId),
    /// Replaces the block, and answers with the previous contents.
    Write(BlockId, Vec<u8>),
    /// Answers with the block, which leaves the tree.
    Take(BlockId),
    /// Puts a block in.
    Put(BlockId, Vec<u8>),
    /// Reads a path for no block.
    Dummy,
}

impl Operation {
    /// Returns the operation's number.
    pub(crate) fn code(&self) -> u32 {
        match self {
            Operation::Read(_) => 0,
            Operation::Write(..) => 1,
            Operation::Take(_) => 2,
            Operation::Put(..) => 3,
            Operation::Dummy => 4,
        }
    }

    /// Returns the operation's block.
    pub fn block(&self) -> Option<BlockId> {
        match self {
            Operation::Read(block) | Operation::Take(block) => Some(*block),
            Operation::Write(block, _) | Operation::Put(block, _) => Some(*block),
            Operation::Dummy => None,
        }
    }

    /// The data that the user sends with it.
    pub(crate) fn data(&self) -> Option<&[u8]> {
        match self {
            Operation::Write(_, data) | Operation::Put(_, data) => Some(data),
            _ => None,
        }
    }
}

/// A request of the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// The path that is read; of no meaning for a put.
    pub path: Leaf,
    /// The leaf of the block from then on.
    pub leaf: Leaf,
}

/// All that a run of requests must show.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The requests.
    pub requests: Vec<Request>,
    /// The answer of each request that has one.
    pub answers: Vec<Vec<u8>>,
    /// The reads of whole buckets, in order: an address each, and a number of bytes.
    pub reads: Vec<(u64, usize)>,
    /// The writes of headers and buckets, in order: an address each, and the bytes.
    pub writes: Vec<(u64, Vec<u8>)>,
    /// The paths that were drawn for emergencies of Path ORAM, or for blocks that were never mapped.
    pub drawn: Vec<Leaf>,
    /// Dummy paths, which a pacer takes in this order; it has no more slots after the last.
    pub spare: Vec<Leaf>,
    /// The number of cycles for which the user waits after each answer. Without a wait it sends requests before it has
    /// the answer.
    pub wait: u64,
    /// The number of cycles for which the user waits after each beat of data that it sends.
    pub beat_wait: u64,
    /// The number of requests in a chain: each but the first waits for the answer of the previous one. Below 2, none
    /// waits.
    pub chain: usize,
}
