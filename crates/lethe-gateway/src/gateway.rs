//! The gateway itself: what all its parts share.

use crate::allocate::Allocator;
use crate::catalogue::{Catalogue, Upload};
use crate::commit::Uncertain;
use crate::device::{Device, DeviceError};
use crate::error::OpenError;
use crate::padding::Padding;
use crate::rows;
use parking_lot::RwLock;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// How a gateway treats objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size classes of new objects and parts. Those written before keep theirs.
    pub padding: Padding,
    /// Batches that one reader or writer keeps under way, at least 1. Each transfer holds at most this many batches
    /// and one more in memory, a batch being [`Device::max_batch`] blocks.
    pub window: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { padding: Padding::None, window: 2 }
    }
}

/// Objects and names over an oblivious block device. Clones are the same gateway.
///
/// Whatever changes something runs to its end once begun, also when the caller goes away; [`Gateway::settle`] waits
/// for that.
pub struct Gateway<D> {
    pub(crate) inner: Arc<Inner<D>>,
}

impl<D> Clone for Gateway<D> {
    fn clone(&self) -> Self {
        Gateway { inner: Arc::clone(&self.inner) }
    }
}

pub(crate) struct Inner<D> {
    pub(crate) device: D,
    pub(crate) options: Options,
    pub(crate) allocator: Arc<Allocator>,
    pub(crate) catalogue: RwLock<Catalogue>,
    /// Held from the check of a change's conditions until the change is durable and in memory.
    pub(crate) committing: tokio::sync::Mutex<Option<Uncertain>>,
    pub(crate) tasks: TaskTracker,
}

/// What a gateway holds. As secret as the objects: it changes with every put and delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Buckets.
    pub buckets: u64,
    /// Objects in all buckets.
    pub objects: u64,
    /// Multipart uploads neither completed nor aborted.
    pub uploads: u64,
    /// Bytes of all objects and parts, without padding.
    pub bytes: u64,
    /// Blocks that nothing holds.
    pub free_blocks: u64,
    /// Blocks of the device.
    pub blocks: u64,
}

impl<D: Device> Gateway<D> {
    /// Loads the catalogue of a device, or begins one on a device that has no rows.
    ///
    /// # Errors
    /// [`OpenError`] if the catalogue cannot be right or the device fails; nothing is changed then.
    pub async fn open(device: D, options: Options) -> Result<Self, OpenError> {
        let (block_bytes, max_batch) = (device.block_bytes(), device.max_batch());
        if block_bytes == 0 || max_batch == 0 {
            return Err(OpenError::Shape { block_bytes, max_batch });
        }
        options.padding.check()?;
        let allocator = Allocator::new(device.blocks());
        let stored = device.load_rows().await?;
        let catalogue = if stored.is_empty() {
            device.commit_rows(rows::first_rows(block_bytes)).await?;
            Catalogue::default()
        } else {
            Catalogue::load(stored, &allocator, block_bytes)?
        };
        Ok(Gateway {
            inner: Arc::new(Inner {
                device,
                options,
                allocator,
                catalogue: RwLock::new(catalogue),
                committing: tokio::sync::Mutex::new(None),
                tasks: TaskTracker::new(),
            }),
        })
    }

    /// The device below.
    pub fn device(&self) -> &D {
        &self.inner.device
    }

    /// What it holds; touches no block. Walks the whole catalogue.
    pub fn usage(&self) -> Usage {
        let catalogue = self.inner.catalogue.read();
        let objects = || catalogue.buckets.values().flat_map(|bucket| bucket.objects.values());
        let parts = |upload: &Upload| -> u64 { upload.parts.values().map(|part| part.segment.bytes()).sum() };
        Usage {
            buckets: catalogue.buckets.len() as u64,
            objects: objects().count() as u64,
            uploads: catalogue.uploads.len() as u64,
            bytes: objects().map(|object| object.bytes()).sum::<u64>()
                + catalogue.uploads.values().map(parts).sum::<u64>(),
            free_blocks: self.inner.allocator.free_blocks(),
            blocks: self.inner.device.blocks(),
        }
    }

    /// Waits until everything that was begun has ended: writes and commits whose callers have gone away.
    pub async fn settle(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.tasks.reopen();
    }
}

impl<D: Device> Inner<D> {
    /// Reads blocks and checks what the device promises of the answer.
    pub(crate) async fn read_blocks(&self, blocks: Vec<u64>) -> Result<Vec<bytes::Bytes>, DeviceError> {
        let count = blocks.len();
        let block_bytes = self.device.block_bytes();
        let answer = self.device.read(blocks).await?;
        if answer.len() != count || answer.iter().any(|block| block.len() != block_bytes) {
            return Err(DeviceError::Unavailable(
                "the device answered with blocks of another number or length".into(),
            ));
        }
        Ok(answer)
    }
}
