//! Small objects share blocks.
//!
//! An object of at most half a block becomes a *fragment*. Where changes of rows cost accesses, it is an object of at
//! most as many bytes as two accesses carry. Its bytes first wait in a row of the catalogue, durable as soon as the
//! object is. When a block's worth of them waits, they are written together into a block, a *pack*. Packs
//! with few live fragments are read and those fragments wait again, so that the block becomes free.
//!
//! # Visible accesses
//!
//! Packing works in **rounds** of two accesses. A round begins for each half block of fragments that clients have
//! written, whether they were linked or not, and for no other reason. It does not depend on how many fragments there
//! are, which ones are read, replaced or deleted, or how full packs are. An access that a round does not need is a
//! dummy. A round takes in half a block, and at most half a block of live bytes from the pack that it reads. So a round
//! writes at most one pack, and a pack that is half dead frees its block.
//!
//! Reading a fragment is one access, also if its bytes still wait.
//!
//! There is one exception. If a put finds the vault full while packs hold dead bytes, rounds run until there is room.
//! This shows only that the vault is full, which shows anyway ([`Inner::reclaim`](crate::objects::gateway::Inner)).

mod pack_index;
mod round;

use crate::device::DeviceShape;

pub(crate) use pack_index::{Fragment, FragmentId, Location, Pack, PackIndex};
pub(crate) use round::DUMMY;

/// The use of shared blocks by small objects. It is as secret as the objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedUsage {
    /// The number of blocks that small objects share.
    pub blocks: u64,
    /// The bytes of small objects in these blocks.
    pub live_bytes: u64,
    /// The number of bytes of small objects that wait in rows for a block.
    pub waiting_bytes: u64,
}

/// The table of rows must be as large as this many blocks, or small objects get blocks of their own. At most two blocks
/// of fragments wait, and the names need most of the space.
const MIN_ROWS_IN_BLOCKS: u64 = 16;

/// An object whose bytes cost more accesses than this in changes of rows gets blocks of its own, which cost two.
const MAX_ACCESSES_FOR_ROWS: u64 = 2;

/// Returns the maximum size of a fragment in bytes. `None` if the row table is too small for objects to share blocks.
pub(crate) fn max_fragment_bytes(shape: &DeviceShape) -> Option<u64> {
    let block = shape.block_bytes as u64;
    let in_rows = shape.row_bytes_per_access.map_or(u64::MAX, |bytes| bytes * MAX_ACCESSES_FOR_ROWS);
    (shape.rows_bytes / MIN_ROWS_IN_BLOCKS >= block).then_some((block / 2).min(in_rows))
}
