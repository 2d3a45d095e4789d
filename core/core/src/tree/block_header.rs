//! The header before each block in untrusted memory: its block and its leaf. Sealed with the block.

use crate::types::{BlockId, Leaf};

/// The number of bytes of a header.
pub const HEADER_BYTES: usize = 16;

/// Writes the header of a real block.
#[inline]
pub fn write(into: &mut [u8], block: BlockId, leaf: Leaf) {
    into[..8].copy_from_slice(&(block.0 + 1).to_le_bytes());
    into[8..HEADER_BYTES].copy_from_slice(&leaf.0.to_le_bytes());
}

/// Reads a header: the block and its leaf, or `None` for a dummy (all zeros, as in a bucket never written).
#[inline]
pub fn read(from: &[u8]) -> Option<(BlockId, Leaf)> {
    let word =
        |at: usize| from[at..at + 8].try_into().map(u64::from_le_bytes).expect("a word has eight bytes");
    word(0).checked_sub(1).map(|block| (BlockId(block), Leaf(word(8))))
}

/// Returns whether a header is of this block.
#[inline]
pub fn is_of(from: &[u8], block: BlockId) -> bool {
    from[..8] == (block.0 + 1).to_le_bytes()
}
