//! The secrets of a scheme as its owner knows them, for tools that draw it.
//!
//! Behind the feature `inspect`. Nothing here changes a scheme: it runs the same with and without an inspection.

use crate::position_map::copy_map::CopyMap;
use crate::position_map::flat::Positions;
use crate::stash::Stash;
use crate::tree::bucket_buffer::BucketBuffer;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::types::{BlockId, Bucket, Leaf, Slot};
use alloc::vec::Vec;

/// A block on the trusted side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedBlock {
    /// The block.
    pub block: BlockId,
    /// The leaf that it is mapped to, in a scheme that has leaves; in one of partitions, the partition instead of it.
    pub leaf: Option<Leaf>,
    /// The contents of the block, as long as a block.
    pub payload: Vec<u8>,
}

/// The place where the position map says that a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The block is on the path to this leaf, or in the stash.
    Leaf(Leaf),
    /// The block is in this bucket.
    Bucket(Bucket),
    /// The block is in this partition, counted from 0, or in the cache.
    Partition(u64),
}

/// The trusted state of a scheme between two operations of its store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The blocks of the stash, the cache or the buffer.
    pub stash: Vec<TrustedBlock>,
    /// The place of each block, in the order of their numbers; empty in a scheme without a position map.
    pub positions: Vec<Option<Position>>,
    /// The buckets whose contents are on the trusted side. Their copies in the store are stale.
    pub stale: Vec<Bucket>,
    /// The slots that were read since their bucket was written, and are not read again. Public.
    pub used: Vec<Slot>,
    /// The block in each slot that holds one, if the trusted side knows it without reading.
    pub placed: Option<Vec<(Slot, BlockId)>>,
    /// The levels that hold something, from the top, in a scheme of levels that fill and empty. The levels of a
    /// partition come after those of the one before it. Public.
    pub levels: Vec<bool>,
    /// The numbers that the scheme counts, by their names. Public.
    pub counters: Vec<(&'static str, u64)>,
    /// The inner ORAMs of a recursive position map, the largest first: their PosMap blocks hold the places of blocks.
    /// In this case `positions` are the places of the last one's PosMap blocks, which the trusted side keeps.
    pub maps: Vec<Inspection>,
}

/// A scheme, or a position map, whose trusted state can be looked at.
pub trait Inspect {
    /// The trusted state; `None` while an operation under way has it.
    fn inspect(&self) -> Option<Inspection>;
}

/// The blocks of a stash.
pub(crate) fn stash(stash: &Stash) -> Vec<TrustedBlock> {
    let look = |handle| {
        let mut payload = Vec::new();
        stash.with_payload(handle, &mut |bytes| payload.extend_from_slice(bytes));
        TrustedBlock { block: stash.block(handle), leaf: Some(stash.leaf(handle)), payload }
    };
    stash.iter().map(look).collect()
}

/// The trusted state of a scheme that holds buckets between its operations. `None` while an operation has them: it
/// leaves buckets of no bytes.
pub(crate) fn with_held_buckets(
    map: Inspection,
    stash: &Stash,
    held: &BucketBuffer,
    schedule: &EvictionSchedule,
) -> Option<Inspection> {
    (held.entry_bytes() > 0).then(|| Inspection {
        stash: self::stash(stash),
        stale: held.buckets().to_vec(),
        counters: alloc::vec![("accesses", schedule.accesses), ("evictions", schedule.begun)],
        ..map
    })
}

/// The leaves of all blocks.
pub(crate) fn leaves(positions: &Positions) -> Vec<Option<Position>> {
    let blocks = (0..positions.blocks()).map(BlockId);
    blocks.map(|block| positions.get(block).map(Position::Leaf)).collect()
}

/// The newest copies of all pages, by position and by place.
pub(crate) fn newest_copies(newest: &CopyMap) -> Inspection {
    let placed = |(page, bucket)| (Slot::only(bucket), BlockId(page));
    Inspection {
        positions: newest.buckets().map(|bucket| Some(Position::Bucket(bucket))).collect(),
        placed: Some((0..).zip(newest.buckets()).map(placed).collect()),
        ..Inspection::default()
    }
}
