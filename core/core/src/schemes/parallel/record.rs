//! The record of a request on its way between processors. Records are sorted by block, passed on to the other
//! processors that request the same block, and returned to the processor that made the request.

use crate::types::{BlockId, Leaf};

/// The number of bytes before the payload: the block, its new leaf, the index of the requesting processor, and whether
/// there is a payload.
pub(super) const HEADER: usize = 32;

const BLOCK: usize = 0;
const LEAF: usize = 8;
const ORIGIN: usize = 16;
const HAS_PAYLOAD: usize = 24;

/// Reads a word of a message.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Writes a word of a message.
pub(super) fn set_word(bytes: &mut [u8], at: usize, word: u64) {
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

/// The block that a word stands for: 0 is none.
pub(super) fn block_of(word: u64) -> Option<BlockId> {
    word.checked_sub(1).map(BlockId)
}

/// The word that stands for a block.
pub(super) fn word_of(block: Option<BlockId>) -> u64 {
    block.map_or(0, |block| block.0 + 1)
}

/// Writes the record of a request: its block, the processor that made it, and what it writes.
pub(super) fn write(record: &mut [u8], block: Option<BlockId>, origin: usize, written: Option<&[u8]>) {
    record.fill(0);
    set_word(record, BLOCK, word_of(block));
    set_word(record, ORIGIN, origin as u64);
    if let Some(written) = written {
        set_value(record, written);
    }
}

/// The block that is requested.
pub(super) fn block(record: &[u8]) -> Option<BlockId> {
    block_of(word(record, BLOCK))
}

/// The index of the processor that made the request.
pub(super) fn origin(record: &[u8]) -> u64 {
    word(record, ORIGIN)
}

/// The order by blocks. Requests for one block are in the order of their processors, and dummies are last.
pub(super) fn by_block(record: &[u8]) -> (u64, u64) {
    (block(record).map_or(u64::MAX, |block| block.0), origin(record))
}

/// The block's new leaf, if it is known here.
pub(super) fn leaf(record: &[u8]) -> Option<Leaf> {
    word(record, LEAF).checked_sub(1).map(Leaf)
}

/// Records the block's new leaf.
pub(super) fn set_leaf(record: &mut [u8], leaf: Leaf) {
    set_word(record, LEAF, leaf.0 + 1);
}

/// The block's contents after this request, if they are known here.
pub(super) fn value(record: &[u8]) -> Option<&[u8]> {
    (word(record, HAS_PAYLOAD) != 0).then(|| &record[HEADER..])
}

/// Records the block's contents.
pub(super) fn set_value(record: &mut [u8], value: &[u8]) {
    set_word(record, HAS_PAYLOAD, 1);
    record[HEADER..].copy_from_slice(value);
}

/// Lets a request learn from an earlier one for the same block: contents, unless it has its own, and leaf.
pub(super) fn learn(record: &mut [u8], earlier: &[u8]) {
    if block(record).is_none() || block(record) != block(earlier) {
        return;
    }
    if let (None, Some(known)) = (value(record), value(earlier)) {
        set_value(record, known);
    }
    if let (None, Some(known)) = (leaf(record), leaf(earlier)) {
        set_leaf(record, known);
    }
}
