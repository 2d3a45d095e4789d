//! The choice of a tree: as low as its blocks allow, with as many levels on the trusted side as fit.

use crate::range::OutOfRange;
use crate::types::Level;

/// The reason why a tree that may be at most half full is refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HalfFullTreeError {
    /// A value that is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The tree is too full for blocks to find their way down.
    #[error("a tree for {max} blocks is too small for {capacity}: raise leaf_level or blocks_per_bucket")]
    TreeTooSmall {
        /// Z · 2^L: half of the tree's slots.
        max: u64,
        /// N.
        capacity: u64,
    },
}

/// The level of the leaves of the lowest tree that has room; 31, the highest, if none has.
pub(crate) fn lowest_leaf_level(has_room: impl Fn(Level) -> bool) -> Level {
    (0..31).map(Level).find(|level| has_room(*level)).unwrap_or(Level(31))
}

/// The parameters with the lowest first level in untrusted memory that fit the trusted side. If none fit, the whole
/// tree is in untrusted memory.
pub(crate) fn highest_top<P>(
    leaf_level: Level,
    with_top: impl Fn(Level) -> P,
    fits: impl FnMut(&P) -> bool,
) -> P {
    (0..=leaf_level.0).rev().map(|top| with_top(Level(top))).find(fits).unwrap_or_else(|| with_top(Level(0)))
}

/// The maximum number of blocks that a tree is allowed: half of its places, the trusted levels counted as if they were
/// buckets.
pub(crate) fn half_of_places(blocks_per_bucket: u32, leaf_level: Level) -> u64 {
    u64::from(blocks_per_bucket) << leaf_level.0
}

/// Refuses a capacity of more than half of the tree's places.
///
/// # Errors
/// [`HalfFullTreeError::TreeTooSmall`].
pub(crate) fn check_half_full(
    blocks_per_bucket: u32,
    leaf_level: Level,
    capacity: u64,
) -> Result<(), HalfFullTreeError> {
    let max = half_of_places(blocks_per_bucket, leaf_level);
    if capacity > max { Err(HalfFullTreeError::TreeTooSmall { max, capacity }) } else { Ok(()) }
}

/// The buckets of a path in untrusted memory.
pub(crate) fn path_buckets(leaf_level: Level, top: Level) -> usize {
    (leaf_level.0 + 1 - top.0) as usize
}
