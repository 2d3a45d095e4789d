//! The interface of the ORAM in a partition.

use crate::oram::OramError;
use crate::types::BlockId;

/// An ORAM of one partition: blocks are taken out of it and put into it. One operation at a time; takes and puts
/// alternate, except for a put without a take before it.
///
/// Its trace must not reveal which block was taken, whether any was, or how many were put.
#[allow(async_fn_in_trait, reason = "one thread drives a scheme; its futures need not be Send")]
pub trait SubOram {
    /// The store's error.
    type Error: core::error::Error + 'static;

    /// The maximum number of blocks of one [`put`](Self::put).
    fn max_put_blocks(&self) -> usize;

    /// Returns the number of blocks that may still be put in. Secret.
    fn room(&self) -> usize;

    /// Returns the number of blocks that were put in and wait on the trusted side. Secret.
    fn waiting_blocks(&self) -> usize;

    /// Takes out a block that was put in: `into`, one block long, gets its payload. Without a block it looks the same.
    async fn take(&self, block: Option<BlockId>, into: &mut [u8]) -> Result<(), OramError<Self::Error>>;

    /// Puts blocks in, and ends the work of the take before it. `from` holds their payloads, one after the other. Fewer
    /// blocks than the most look the same.
    async fn put(&self, blocks: &[BlockId], from: &[u8]) -> Result<(), OramError<Self::Error>>;

    /// Returns the number of blocks that its next take holds in buffers, without those that wait. Public.
    fn take_buffer_blocks(&self) -> usize;

    /// Returns the number of blocks that its next put holds in buffers, without those that wait. Public.
    fn put_buffer_blocks(&self) -> usize;

    /// The trusted memory that the ORAM occupies between operations, in bytes.
    fn trusted_bytes(&self) -> usize;
}
