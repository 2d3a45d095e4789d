//! The memory of all transfers, and its limit.
//!
//! A transfer takes its share before it receives or reads ahead, and keeps it until its last block has left memory. A
//! transfer without a share is refused: otherwise it would wait for other clients, and the slowest takes as long as it
//! likes. Shares depend only on the sizes of objects in blocks, which are visible anyway.

use crate::error::Error;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory for the blocks of transfers.
#[derive(Debug)]
pub(crate) struct Memory {
    free: Arc<Semaphore>,
    block_bytes: u64,
    /// The total, in blocks.
    blocks: u64,
    /// The largest number of blocks of one transfer.
    max: u64,
}

/// A share of the memory; free again when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Memory {
    /// Creates a memory of `bytes`, and of at least `max` blocks, which is what one transfer may hold.
    pub(crate) fn new(bytes: u64, block_bytes: usize, max: u64) -> Self {
        let block_bytes = block_bytes as u64;
        let blocks = (bytes / block_bytes).max(max).min(u64::from(u32::MAX));
        let free = Arc::new(Semaphore::new(blocks as usize));
        Memory { free, block_bytes, blocks, max: max.min(blocks) }
    }

    /// Takes the share of a transfer of this many blocks.
    ///
    /// # Errors
    /// [`Error::Busy`] if too little is free.
    pub(crate) fn take(&self, blocks: u64) -> Result<Share, Error> {
        let permit = Arc::clone(&self.free).try_acquire_many_owned(self.share(blocks));
        permit.map(Share::of).map_err(|_| Error::Busy)
    }

    /// Takes the share of data of this size that is held as a whole; at most all of the memory.
    ///
    /// # Errors
    /// [`Error::Busy`] if too little is free.
    pub(crate) fn take_bytes(&self, bytes: u64) -> Result<Share, Error> {
        let blocks = bytes.div_ceil(self.block_bytes).min(self.blocks) as u32;
        let permit = Arc::clone(&self.free).try_acquire_many_owned(blocks);
        permit.map(Share::of).map_err(|_| Error::Busy)
    }

    /// Waits for the share of a transfer that continues with another object. The caller must hold no share, so that no
    /// transfer waits for another waiting one.
    pub(crate) async fn wait(&self, blocks: u64) -> Result<Share, Error> {
        let permit = Arc::clone(&self.free).acquire_many_owned(self.share(blocks)).await;
        permit.map(Share::of).map_err(|_| Error::Busy)
    }

    fn share(&self, blocks: u64) -> u32 {
        u32::try_from(blocks.clamp(1, self.max)).unwrap_or(u32::MAX)
    }

    /// Returns the free bytes.
    pub(crate) fn free(&self) -> u64 {
        self.free.available_permits() as u64 * self.block_bytes
    }
}

/// Bytes with their share of the memory.
struct SharedBytes<B> {
    bytes: B,
    _share: Share,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for SharedBytes<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl Share {
    fn of(permit: OwnedSemaphorePermit) -> Self {
        Share { _permit: Arc::new(permit) }
    }

    /// Returns the same bytes; dropping the last of them frees the share. A body keeps it until it is sent.
    pub(crate) fn holding(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(SharedBytes { bytes, _share: self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_blocks_and_never_more_than_a_transfer_holds() {
        let memory = Memory::new(10 * 64, 64, 4);
        let (small, large) = (memory.take(1).expect("room"), memory.take(1000).expect("room"));
        assert_eq!(memory.free(), 5 * 64);
        let empty = memory.take(0).expect("room");
        assert_eq!(memory.free(), 4 * 64);
        drop((small, empty));
        let clone = large.clone();
        drop(large);
        assert_eq!(memory.free(), 6 * 64, "the clone holds the share");
        drop(clone);
        assert_eq!(memory.free(), 10 * 64);
    }

    #[test]
    fn a_request_beyond_the_free_memory_is_refused_and_takes_nothing() {
        let memory = Memory::new(6 * 64, 64, 4);
        let first = memory.take(4).expect("room");
        assert!(matches!(memory.take(3), Err(Error::Busy)));
        assert!(matches!(memory.take_bytes(129), Err(Error::Busy)));
        let rest = memory.take_bytes(128).expect("room");
        assert_eq!(memory.free(), 0);
        drop((first, rest));
        assert_eq!(memory.free(), 6 * 64);
    }

    #[test]
    fn bytes_give_their_share_back_with_the_last_of_them() {
        let memory = Memory::new(4 * 64, 64, 4);
        let text = memory.take_bytes(100).expect("room").holding(vec![7u8; 100]);
        let rest = text.slice(50..);
        drop(text);
        assert_eq!((memory.free(), rest.len(), rest[49]), (2 * 64, 50, 7));
        drop(rest);
        assert_eq!(memory.free(), 4 * 64);
    }

    #[test]
    fn one_transfer_always_fits() {
        let memory = Memory::new(0, 64, 4);
        let share = memory.take(1000).expect("room");
        assert!(matches!(memory.take(1), Err(Error::Busy)));
        drop(share);
        memory.take(4).expect("room again");
    }
}
