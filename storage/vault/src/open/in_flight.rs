//! The number of buckets that a restore has in flight. It is public, and bounded by the bytes of these buckets.

use ameles_core::tree::layout::Layout;

/// The maximum number of buckets in flight.
const MAX: usize = 8;
/// The maximum bytes of the buckets in flight. A single larger bucket is allowed.
const MAX_BYTES: usize = 32 << 20;

/// The number of buckets of this layout that are fetched or written in parallel.
pub(super) fn buckets_in_flight(layout: &Layout) -> usize {
    let bytes = layout.extents().iter().map(|extent| extent.slots as usize * extent.slot_bytes as usize);
    (MAX_BYTES / bytes.max().unwrap_or(0).max(1)).clamp(1, MAX)
}
