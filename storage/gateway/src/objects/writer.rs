//! Writing: a stream of bytes is split into blocks and written in batches, a bounded number of them at a time.

use crate::catalogue::{Segment, SegmentPlace};
use crate::device::{Device, DeviceError, Flow};
use crate::error::Error;
use crate::objects::allocate::Allocation;
use crate::objects::checksums::{Algorithm, Checksum, Digested, Digests};
use crate::objects::gateway::{Gateway, Inner};
use crate::objects::memory::Share;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Writes the blocks of a new object or part. Nothing is visible until the result gets a name. If this is dropped
/// before, its blocks are free again as soon as the device is done with them.
pub struct Writer {
    inner: Arc<Inner>,
    flow: Flow,
    /// The share of memory for bytes that were received and not yet written.
    share: Share,
    declared: Option<u64>,
    /// All allocations so far. A write in flight holds the allocations too, so that none of its blocks is reused.
    allocations: Vec<Arc<Allocation>>,
    /// The blocks of the allocations that are not used yet.
    unused: VecDeque<u64>,
    partial: BytesMut,
    full: Vec<Bytes>,
    pending_writes: VecDeque<JoinHandle<Result<(), DeviceError>>>,
    bytes: u64,
    digests: Digests,
    /// The number of blocks that were not free when the writer was created, and may become free.
    missing: u64,
    /// A push failed or was dropped: bytes are missing, and the writer cannot be finished.
    is_incomplete: bool,
}

/// Written blocks without a name.
#[derive(Debug)]
pub struct Written {
    pub(crate) segment: Arc<Segment>,
    pub(crate) digests: Digested,
}

impl Written {
    /// Returns the MD5 of the bytes.
    pub fn md5(&self) -> &[u8; 16] {
        &self.digests.md5
    }

    /// Returns the requested checksum.
    pub fn checksum(&self) -> Option<&Checksum> {
        self.digests.checksum.as_ref()
    }

    /// Returns the number of bytes written, without padding.
    pub fn bytes(&self) -> u64 {
        self.segment.bytes()
    }
}

impl Gateway {
    /// Begins to write bytes. If their number is known, the blocks are reserved at once. `algorithm` is the checksum to
    /// compute in addition to the MD5.
    ///
    /// # Errors
    /// [`Error::Full`] if there are too few free blocks for `declared` bytes; [`Error::Busy`].
    pub fn writer(&self, declared: Option<u64>, algorithm: Option<Algorithm>) -> Result<Writer, Error> {
        let blocks = declared
            .map(|bytes| self.inner.options.padding.blocks(bytes, self.inner.device.shape().block_bytes));
        let mut writer = Writer {
            inner: Arc::clone(&self.inner),
            flow: self.inner.flow(),
            share: self.inner.memory.take(blocks.unwrap_or(u64::MAX))?,
            declared,
            allocations: Vec::new(),
            unused: VecDeque::new(),
            partial: BytesMut::new(),
            full: Vec::new(),
            pending_writes: VecDeque::new(),
            bytes: 0,
            digests: Digests::new(algorithm),
            missing: 0,
            is_incomplete: false,
        };
        if let Some(blocks) = blocks
            && !declared.is_some_and(|bytes| self.inner.is_fragment(bytes))
        {
            match writer.take(blocks) {
                // The space that small objects left behind is reclaimed as soon as the writer may wait.
                Err(Error::Full { .. }) if self.inner.can_reclaim(blocks) => writer.missing = blocks,
                outcome => outcome?,
            }
        }
        Ok(writer)
    }
}

impl Writer {
    /// Takes the next bytes. Waits while as many batches are in flight as may be.
    ///
    /// # Errors
    /// [`Error::WrongLength`] as soon as the body is longer than announced; [`Error::Full`]; [`Error::Device`]. After
    /// an error, or if the future is dropped before its end, the writer cannot be finished.
    pub async fn push(&mut self, bytes: Bytes) -> Result<(), Error> {
        self.is_incomplete = true;
        self.make_room().await?;
        self.split_into_blocks(bytes).await?;
        self.is_incomplete = false;
        Ok(())
    }

    async fn split_into_blocks(&mut self, mut bytes: Bytes) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        if let Some(declared) = self.declared
            && self.bytes > declared
        {
            return Err(Error::WrongLength { declared, got: self.bytes });
        }
        self.digests.update(&bytes);
        let block_bytes = self.inner.device.shape().block_bytes;
        while !bytes.is_empty() {
            if self.partial.is_empty() && bytes.len() >= block_bytes {
                // A copy, because a slice would keep a larger buffer alive.
                let block = Bytes::copy_from_slice(&bytes.split_to(block_bytes));
                self.push_block(block).await?;
                continue;
            }
            self.partial.reserve(block_bytes - self.partial.len());
            let part = bytes.split_to(bytes.len().min(block_bytes - self.partial.len()));
            self.partial.extend_from_slice(&part);
            if self.partial.len() == block_bytes {
                let block = self.partial.split().freeze();
                self.push_block(block).await?;
            }
        }
        Ok(())
    }

    /// Writes the remaining bytes and the padding, and waits until all of it is durable.
    ///
    /// # Errors
    /// [`Error::WrongLength`] if the body is shorter than announced; [`Error::Full`]; [`Error::Device`].
    pub async fn finish(mut self) -> Result<Written, Error> {
        if self.is_incomplete {
            return Err(Error::Body("a part of it was given up".into()));
        }
        if let Some(declared) = self.declared
            && self.bytes != declared
        {
            return Err(Error::WrongLength { declared, got: self.bytes });
        }
        self.make_room().await?;
        let block_bytes = self.inner.device.shape().block_bytes;
        if self.inner.is_fragment(self.bytes) {
            // A copy, because the buffer has room for a block.
            let bytes = Bytes::copy_from_slice(&self.partial);
            let fragment = self.inner.new_fragment(bytes).await;
            return Ok(self.into_written(SegmentPlace::Fragment(fragment)));
        }
        if !self.partial.is_empty() {
            self.partial.resize(block_bytes, 0);
            let block = self.partial.split().freeze();
            self.push_block(block).await?;
        }
        let padded = self.inner.options.padding.blocks(self.bytes, block_bytes);
        let zeros = Bytes::from(vec![0; block_bytes]);
        for _ in self.bytes.div_ceil(block_bytes as u64)..padded {
            self.push_block(zeros.clone()).await?;
        }
        self.flush().await?;
        while let Some(pending_write) = self.pending_writes.pop_front() {
            await_write(pending_write).await?;
        }
        let allocations = std::mem::take(&mut self.allocations);
        Ok(self.into_written(SegmentPlace::Blocks(allocations)))
    }

    fn into_written(self, place: SegmentPlace) -> Written {
        let digests = self.digests.finish();
        Written { segment: Arc::new(Segment { bytes: self.bytes, place }), digests }
    }

    /// Takes the missing blocks, after all blocks that can be freed are free.
    async fn make_room(&mut self) -> Result<(), Error> {
        let missing = std::mem::take(&mut self.missing);
        if missing > 0 {
            self.inner.reclaim(missing).await;
            self.take(missing)?;
        }
        Ok(())
    }

    async fn push_block(&mut self, block: Bytes) -> Result<(), Error> {
        self.full.push(block);
        if self.full.len() == self.inner.device.shape().max_batch {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Error> {
        if self.full.is_empty() {
            return Ok(());
        }
        if self.unused.len() < self.full.len() {
            self.take((self.full.len() - self.unused.len()) as u64)?;
        }
        let batch: Vec<(u64, Bytes)> =
            self.unused.drain(..self.full.len()).zip(self.full.drain(..)).collect();
        while self.pending_writes.len() >= self.inner.options.batches_in_flight.max(1)
            && let Some(pending_write) = self.pending_writes.pop_front()
        {
            await_write(pending_write).await?;
        }
        let inner = Arc::clone(&self.inner);
        let guards = (self.allocations.clone(), self.share.clone());
        let flow = self.flow;
        self.pending_writes.push_back(self.inner.tasks.spawn(async move {
            let outcome = inner.device.write(flow, batch).await;
            if let Err(failure) = &outcome {
                tracing::error!(error = %failure, "writing blocks failed");
            }
            drop(guards);
            outcome
        }));
        Ok(())
    }

    fn take(&mut self, blocks: u64) -> Result<(), Error> {
        if blocks > 0 {
            let allocation = Arc::new(self.inner.allocator.allocate(blocks)?);
            self.unused.extend(allocation.blocks());
            self.allocations.push(allocation);
        }
        Ok(())
    }
}

impl Inner {
    /// Returns whether an object of this size, written in one go, shares a block with others.
    fn is_fragment(&self, bytes: u64) -> bool {
        bytes > 0 && self.max_fragment_bytes.is_some_and(|max| bytes <= max)
    }
}

async fn await_write(pending_write: JoinHandle<Result<(), DeviceError>>) -> Result<(), Error> {
    match pending_write.await {
        Ok(outcome) => Ok(outcome?),
        Err(failure) if failure.is_panic() => std::panic::resume_unwind(failure.into_panic()),
        Err(_) => Err(DeviceError::Closed.into()),
    }
}
