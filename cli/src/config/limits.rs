//! The bounds of options.

use crate::config::interval::Interval;
use crate::config::size::Size;
use std::time::Duration;

/// The maximum of `--requests`.
pub(super) const MAX_REQUESTS: u32 = 65536;

/// The minimal and the maximal size of a block. In smaller blocks, a slot is mostly overhead. With larger ones, an
/// access takes seconds on an ordinary link.
pub(super) const MIN_BLOCK_SIZE: Size = Size(64);
pub(super) const MAX_BLOCK_SIZE: Size = Size(16 << 20);

/// The first number of blocks that does not fit the entries of the position map.
pub(super) const BLOCK_COUNT_LIMIT: u64 = 1 << 31;
/// The largest batch of the schemes.
pub(super) const MAX_BATCH: u32 = 1024;
/// The maximum of `--eviction-slice`. No path is longer.
pub(super) const MAX_EVICTION_SLICE: Size = Size(1 << 40);
/// Path ORAM's largest bucket.
pub(super) const MAX_PATH_Z: u32 = 64;
/// The maximum of Z, S and A of Ring ORAM. With larger buckets, one eviction moves gigabytes.
pub(super) const MAX_SLOTS: u32 = 1024;

/// The bounds of `--ship-after`. A checkpoint is many requests; after a day, its age says nothing any more.
pub(super) const MIN_SHIP_AFTER: Interval = Interval(Duration::from_secs(10));
pub(super) const MAX_SHIP_AFTER: Interval = Interval(Duration::from_secs(24 * 3600));
