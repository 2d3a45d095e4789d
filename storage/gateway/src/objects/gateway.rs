//! The gateway: the state that all its parts share.

use crate::any_device::AnyDevice;
use crate::catalogue::rows;
use crate::catalogue::{Catalogue, Clock, UnixMillis, Upload};
use crate::device::{Device, DeviceError, DeviceShape, Flow};
use crate::error::OpenError;
use crate::objects::allocate::Allocator;
use crate::objects::group::Commits;
use crate::objects::memory::Memory;
use crate::objects::packing::{self, PackedUsage};
use crate::objects::padding::Padding;
use crate::page::RequestCounters;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::task::TaskTracker;

/// The options of a gateway for its objects.
#[derive(Clone, Debug)]
pub struct Options {
    /// Size classes of new objects and parts. Existing ones keep theirs.
    pub padding: Padding,
    /// The number of batches that one reader or writer has in flight, at least 1. A transfer holds at most one batch
    /// more than that in memory. A batch has [`DeviceShape::max_batch`] blocks.
    pub batches_in_flight: usize,
    /// True if small objects share blocks. With padding they never do: each takes its class. They also do not if the
    /// table of rows is too small ([`DeviceShape::rows_bytes`]).
    pub pack: bool,
    /// The clock for the times of objects and for their expiry.
    pub clock: Clock,
    /// The number of bytes of blocks that all readers and writers together hold in memory. More is refused with
    /// [`Error::Busy`](crate::Error::Busy). A single transfer always fits.
    pub transfer_memory_bytes: u64,
    /// Counters of the requested objects, if the owner's page shows them.
    pub counters: Option<RequestCounters>,
    /// The region that S3 clients must sign for; without it any region is accepted.
    pub region: Option<Arc<str>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            padding: Padding::None,
            batches_in_flight: 2,
            transfer_memory_bytes: 256 << 20,
            pack: true,
            clock: Clock::default(),
            counters: None,
            region: None,
        }
    }
}

/// Objects and names over an oblivious block device. Clones are the same gateway.
///
/// A change runs to its end once it has begun, even if the caller is gone; [`Gateway::settle`] waits for that.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) device: AnyDevice,
    pub(crate) options: Options,
    pub(crate) allocator: Arc<Allocator>,
    pub(crate) catalogue: RwLock<Catalogue>,
    pub(crate) commits: Commits,
    pub(crate) tasks: TaskTracker,
    /// The largest number of bytes of a fragment, if small objects share blocks.
    pub(crate) max_fragment_bytes: Option<u64>,
    pub(crate) next_fragment: AtomicU64,
    /// The number of bytes of all fragments that were written since the gateway was opened.
    pub(crate) fragment_bytes: AtomicU64,
    /// The lock of a round of packing.
    pub(crate) packing: tokio::sync::Mutex<()>,
    pub(crate) memory: Arc<Memory>,
    flows: AtomicU64,
}

/// The totals of a gateway. They are as secret as the objects: they change with every put and delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The number of containers of all accounts.
    pub containers: u64,
    /// The number of objects in all containers, old versions among them.
    pub objects: u64,
    /// The number of multipart uploads neither completed nor aborted.
    pub uploads: u64,
    /// The number of bytes of all objects and parts, without padding.
    pub bytes: u64,
    /// The number of free blocks.
    pub free_blocks: u64,
    /// The number of blocks of the device.
    pub blocks: u64,
    /// The use of shared blocks by small objects.
    pub packed: PackedUsage,
}

impl Gateway {
    /// Loads the catalogue of a device, or creates one on a device without rows.
    ///
    /// # Errors
    /// [`OpenError`] if the catalogue is invalid or the device fails; in this case nothing is changed.
    pub async fn open(device: impl Device, options: Options) -> Result<Self, OpenError> {
        let device = AnyDevice::new(device);
        let shape = device.shape();
        let DeviceShape { block_bytes, blocks, max_batch, .. } = shape;
        if block_bytes == 0 || max_batch == 0 {
            return Err(OpenError::Shape { block_bytes, max_batch });
        }
        options.padding.check()?;
        let allocator = Allocator::new(blocks);
        let stored = device.load_rows().await?;
        let catalogue = if stored.is_empty() {
            device.commit_rows(rows::first_rows(block_bytes)).await?;
            Catalogue::default()
        } else {
            Catalogue::load(stored, &allocator, block_bytes)?
        };
        let packs = options.pack && options.padding == Padding::None;
        let max_fragment_bytes = packs.then(|| packing::max_fragment_bytes(&shape)).flatten();
        let next_fragment = AtomicU64::new(catalogue.pack_index.next_id());
        let max = (options.batches_in_flight.max(1) as u64 + 1).saturating_mul(max_batch as u64);
        let memory = Arc::new(Memory::new(options.transfer_memory_bytes, block_bytes, max));
        Ok(Gateway {
            inner: Arc::new(Inner {
                device,
                options,
                allocator,
                catalogue: RwLock::new(catalogue),
                commits: Commits::default(),
                tasks: TaskTracker::new(),
                max_fragment_bytes,
                next_fragment,
                fragment_bytes: AtomicU64::new(0),
                packing: tokio::sync::Mutex::new(()),
                memory,
                flows: AtomicU64::new(0),
            }),
        })
    }

    /// Returns the device.
    pub fn device(&self) -> &AnyDevice {
        &self.inner.device
    }

    /// Returns the totals of the contents. Touches no block. Walks the containers, not the objects.
    pub fn usage(&self) -> Usage {
        let catalogue = self.inner.catalogue.read();
        let containers = || catalogue.accounts.values().flat_map(|account| account.containers.values());
        let parts = |upload: &Upload| -> u64 { upload.parts.values().map(|part| part.segment.bytes()).sum() };
        Usage {
            containers: containers().count() as u64,
            objects: containers().map(|container| (container.totals + container.old).objects).sum(),
            uploads: catalogue.uploads.len() as u64,
            bytes: containers().map(|container| (container.totals + container.old).bytes).sum::<u64>()
                + catalogue.uploads.values().map(parts).sum::<u64>(),
            free_blocks: self.inner.allocator.free_blocks(),
            blocks: self.inner.device.shape().blocks,
            packed: catalogue.pack_index.usage(),
        }
    }

    /// Returns the bytes of blocks that further transfers may hold: all of [`Options::transfer_memory_bytes`] when no
    /// transfer is running.
    pub fn free_memory(&self) -> u64 {
        self.inner.memory.free()
    }

    /// Waits until everything that has begun has ended: writes and commits whose callers are gone.
    pub async fn settle(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.tasks.reopen();
    }
}

impl Inner {
    pub(crate) fn now(&self) -> UnixMillis {
        self.options.clock.now()
    }

    /// Returns a flow for a new transfer.
    pub(crate) fn flow(&self) -> Flow {
        Flow(self.flows.fetch_add(1, Ordering::Relaxed))
    }

    /// Reads blocks, and checks that the device returned what it promises.
    pub(crate) async fn read_blocks(
        &self,
        flow: Flow,
        blocks: Vec<u64>,
    ) -> Result<Vec<bytes::Bytes>, DeviceError> {
        let count = blocks.len();
        let block_bytes = self.device.shape().block_bytes;
        let answer = self.device.read(flow, blocks).await?;
        if answer.len() != count || answer.iter().any(|block| block.len() != block_bytes) {
            return Err(DeviceError::Unavailable(
                "the device answered with blocks of another number or length".into(),
            ));
        }
        Ok(answer)
    }
}
