//! The least and the most that an option may be.

use crate::config::size::Size;

/// The most requests at work at a time that may be asked for.
pub(super) const MAX_REQUESTS: u32 = 65536;

/// Below, a slot is mostly overhead; above, one access takes seconds on an ordinary link.
pub(super) const MIN_BLOCK_SIZE: Size = Size(64);
pub(super) const MAX_BLOCK_SIZE: Size = Size(16 << 20);

/// 2^31 blocks do not fit the position map's entries any more.
pub(super) const BLOCK_COUNT_LIMIT: u64 = 1 << 31;
/// The schemes serve no larger batch.
pub(super) const MAX_BATCH: u32 = 1024;
/// Path ORAM's largest bucket.
pub(super) const MAX_PATH_Z: u32 = 64;
/// Ring ORAM's buckets grow with Z, S and A; beyond this, one eviction moves gigabytes.
pub(super) const MAX_SLOTS: u32 = 1024;
