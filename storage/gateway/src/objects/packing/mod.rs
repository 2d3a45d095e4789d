//! Small objects share blocks.
//!
//! An object of at most half a block becomes a *fragment*. Its bytes first wait in a row of the catalogue, durable as
//! soon as the object is; when a block's worth of them waits, they are written together into a block, a *pack*. Packs
//! whose fragments are mostly gone are read and their last fragments wait again, so that the block is free.
//!
//! # What the watcher sees
//!
//! Packing goes by **rounds** of two accesses. A round begins for each half block of fragments that clients have
//! written, whether they were linked or not, and for nothing else: how many fragments there are, which ones are read,
//! replaced or deleted and how full packs are has no part in it. An access that a round has no use for is a dummy. With
//! half a block in and at most half a block of survivors from the pack that is read, one pack a round is written at
//! most, and a pack that is half dead gives its block back.
//!
//! Reading a fragment is one access, also if its bytes still wait.
//!
//! There is one exception, and it is no secret by then: when a put finds the vault full although packs hold dead
//! bytes, rounds go on until there is room ([`Inner::reclaim`](crate::objects::gateway::Inner)).

mod pack_index;
mod round;

pub(crate) use pack_index::{Fragment, FragmentId, Location, Pack, PackIndex};
pub(crate) use round::DUMMY;

/// The fill of the blocks that small objects share. It is as secret as the objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedUsage {
    /// Blocks that small objects share.
    pub blocks: u64,
    /// Bytes of small objects in them.
    pub live_bytes: u64,
    /// Bytes of small objects that wait in rows for a block.
    pub waiting_bytes: u64,
}

/// Rows must have room for this many blocks, or small objects get blocks of their own: two blocks of fragments wait at
/// most, and the names need most of the room.
const MIN_ROWS_IN_BLOCKS: u64 = 16;

/// The most bytes of a fragment in a device of this shape, if small objects share blocks at all.
pub(crate) fn max_fragment_bytes(block_bytes: usize, rows_bytes: u64) -> Option<u64> {
    let block = block_bytes as u64;
    (rows_bytes / MIN_ROWS_IN_BLOCKS >= block).then_some(block / 2)
}
