//! The answer to the question which path comes next.

use crate::types::BlockId;

/// The path that an access needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPath {
    /// The path of this PosMap block, to be [fetched](super::FreecursiveOram::fetch).
    PosMap(BlockId),
    /// The path of the block itself.
    Block,
}
