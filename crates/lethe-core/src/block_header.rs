//! What stands before each block in untrusted memory: whose it is and where it belongs. Sealed with the block.

use crate::oram::OramError;
use crate::tree::geometry::Geometry;
use crate::words::{BlockId, Bucket, Leaf, Level};
use core::error::Error;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;

/// Writes the header of a real block.
pub fn write(into: &mut [u8], block: BlockId, leaf: Leaf) {
    into[..8].copy_from_slice(&(block.0 + 1).to_le_bytes());
    into[8..HEADER_BYTES].copy_from_slice(&leaf.0.to_le_bytes());
}

/// Reads a header: the block and its leaf, or `None` for a dummy (all zeros, as in a bucket never written).
pub fn read(from: &[u8]) -> Option<(BlockId, Leaf)> {
    let word =
        |at: usize| from[at..at + 8].iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    word(0).checked_sub(1).map(|block| (BlockId(block), Leaf(word(8))))
}

/// Refuses a block that cannot stand in a bucket: it must lie below the capacity, and the bucket on its path.
///
/// # Errors
/// [`OramError::Contradiction`].
pub(crate) fn check<E: Error + 'static>(
    (block, leaf): (BlockId, Leaf),
    capacity: u64,
    tree: &Geometry,
    (level, bucket): (Level, Bucket),
) -> Result<(), OramError<E>> {
    if block.0 >= capacity || leaf.0 >= tree.leaves() {
        return Err(OramError::Contradiction("a block lies beyond the capacity or the tree"));
    }
    if tree.bucket(level, leaf) != bucket {
        return Err(OramError::Contradiction("a block stands off its path"));
    }
    Ok(())
}
