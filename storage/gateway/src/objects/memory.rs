//! The bytes of objects that all transfers hold in memory together, and their limit.
//!
//! A transfer takes its share before it receives or reads ahead, and keeps it until its last block has left memory. A
//! transfer that finds no share is refused: it would have to wait for others' clients, of which the slowest takes as
//! long as it likes. Shares follow from the sizes of objects in blocks, which show anyway, and from nothing else of
//! them.

use crate::error::Error;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory for the blocks of transfers.
#[derive(Debug)]
pub(crate) struct Memory {
    free: Arc<Semaphore>,
    block_bytes: u64,
    /// All of it, in blocks.
    blocks: u64,
    /// The most blocks that one transfer holds.
    max: u64,
}

/// A part of it; free again when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Memory {
    /// `bytes` in all, and at least `max` blocks, which is what one transfer may hold.
    pub(crate) fn new(bytes: u64, block_bytes: usize, max: u64) -> Self {
        let block_bytes = block_bytes as u64;
        let blocks = (bytes / block_bytes).max(max).min(u64::from(u32::MAX));
        let free = Arc::new(Semaphore::new(blocks as usize));
        Memory { free, block_bytes, blocks, max: max.min(blocks) }
    }

    /// The share of a transfer of so many blocks.
    ///
    /// # Errors
    /// [`Error::Busy`] if too little is free.
    pub(crate) fn take(&self, blocks: u64) -> Result<Share, Error> {
        let permit = Arc::clone(&self.free).try_acquire_many_owned(self.share(blocks));
        permit.map(Share::of).map_err(|_| Error::Busy)
    }

    /// The share of something of so many bytes that is held whole; all of the memory if there is not so much.
    ///
    /// # Errors
    /// [`Error::Busy`] if too little is free.
    pub(crate) fn take_bytes(&self, bytes: u64) -> Result<Share, Error> {
        let blocks = bytes.div_ceil(self.block_bytes).min(self.blocks) as u32;
        let permit = Arc::clone(&self.free).try_acquire_many_owned(blocks);
        permit.map(Share::of).map_err(|_| Error::Busy)
    }

    /// The share of a transfer that goes on with another object, once there is one. To be called with no share held, so
    /// that no transfer waits for another that waits.
    pub(crate) async fn wait(&self, blocks: u64) -> Result<Share, Error> {
        let permit = Arc::clone(&self.free).acquire_many_owned(self.share(blocks)).await;
        permit.map(Share::of).map_err(|_| Error::Busy)
    }

    fn share(&self, blocks: u64) -> u32 {
        u32::try_from(blocks.clamp(1, self.max)).unwrap_or(u32::MAX)
    }

    /// Bytes that are free.
    pub(crate) fn free(&self) -> u64 {
        self.free.available_permits() as u64 * self.block_bytes
    }
}

/// Bytes and their share of the memory.
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

    /// The same bytes, which give the share back when the last of them is dropped: a body keeps it until it is sent.
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
    fn who_finds_too_little_is_refused_and_takes_nothing() {
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
