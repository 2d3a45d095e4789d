//! The work of a store.

use super::object_sizes::ObjectSizes;
use crate::virtual_time::ServerTime;
use ameles_store::{LinkSpeed, Prices};
use ameles_vault::JournalPlace;

/// The work of a month, and the available link, prices and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The number of bytes that are to be stored.
    pub capacity: u64,
    /// The sizes of the objects.
    pub sizes: ObjectSizes,
    /// The number of objects that are read in a month.
    pub reads: f64,
    /// The number of objects that are written in a month.
    pub writes: f64,
    /// The link to the store.
    pub speed: LinkSpeed,
    /// The time that the store takes for a request.
    pub server: ServerTime,
    /// The place of the vault's journal.
    pub journal: JournalPlace,
    /// The provider's prices.
    pub prices: Prices,
    /// The number of bytes of trusted memory.
    pub trusted: u64,
    /// The block sizes to examine, in bytes.
    pub block_bytes: Vec<u64>,
}

/// The number of accesses of a batch at most, as a vault serves an object.
pub(super) const BATCH: u64 = 16;

/// The block sizes that suit most work, in bytes.
pub const BLOCK_BYTES: [u64; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
