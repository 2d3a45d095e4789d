//! Records that are sorted by a number: the header before each block in untrusted memory, sealed with it.

use crate::tree::block_header::{self, HEADER_BYTES};
use crate::types::{BlockId, Leaf};

/// The place among others in which a record is to be.
pub(crate) type Order = u64;

/// The order of records that come last.
pub(crate) const LAST: Order = u64::MAX;

/// Writes the header of a record: its block, or none for a dummy.
pub(crate) fn label(record: &mut [u8], block: Option<BlockId>, order: Order) {
    let (header, _) = record.split_at_mut(HEADER_BYTES);
    match block {
        Some(block) => block_header::write(header, block, Leaf(order)),
        None => {
            header[..8].fill(0);
            header[8..].copy_from_slice(&order.to_le_bytes());
        }
    }
}

/// The block of a record; none for a dummy.
pub(crate) fn block(record: &[u8]) -> Option<BlockId> {
    block_header::read(record).map(|(block, _)| block)
}

/// The number that a record is sorted by.
pub(crate) fn order(record: &[u8]) -> Order {
    let (_, order) = record[..HEADER_BYTES].split_at(8);
    order.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The payload of a record.
pub(crate) fn payload(record: &mut [u8]) -> &mut [u8] {
    &mut record[HEADER_BYTES..]
}
