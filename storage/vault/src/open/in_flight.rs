//! The buckets that a restore has in flight at a time: a public number, and no more than a bound of their bytes allows.

use ameles_core::tree::layout::Layout;

/// Buckets that are in flight at a time, if they are small.
const MAX: usize = 8;
/// Bytes of the buckets that are in flight at a time, but for one that has more.
const MAX_BYTES: usize = 32 << 20;

/// The number of buckets of this layout that are fetched or written at a time.
pub(super) fn buckets_in_flight(layout: &Layout) -> usize {
    let bytes = layout.extents().iter().map(|extent| extent.slots as usize * extent.slot_bytes as usize);
    (MAX_BYTES / bytes.max().unwrap_or(0).max(1)).clamp(1, MAX)
}
