//! The oblivious block device that this layer calls.

use bytes::Bytes;
use std::future::Future;

/// A row: its key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// A change of a row: the key, and its new value or `None` to remove it.
pub type RowChange = (Vec<u8>, Option<Vec<u8>>);

/// Names what belongs together, such as the batches of one transfer. A device serves flows in turns, a block each, so
/// that a long transfer does not keep short ones waiting, and the calls of one flow in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow(pub u64);

/// A durable block device whose accesses teach its watcher nothing but how many there are, with a small table of
/// rows beside it that the watcher does not see at all.
///
/// The gateway keeps object data in blocks and the catalogue of names in rows. It polls each `write` and
/// `commit_rows` to its end, even when the caller that asked for it has gone away; a `read` may be dropped half-way.
///
/// It never has two writes of one block under way, and names a block in a row only after its write has succeeded. So
/// the remains of a write that did not succeed are never read, after a crash or a failure: no row names the block, and
/// it is written again before a row does. A device that keeps two copies need not agree on such a block.
pub trait Device: Send + Sync + 'static {
    /// Bytes of a block.
    fn block_bytes(&self) -> usize;

    /// Blocks that can be addressed: `0..blocks`.
    fn blocks(&self) -> u64;

    /// The most blocks of one `read` or `write`: a public parameter, at least 1.
    fn max_batch(&self) -> usize;

    /// Bytes of room for rows: keys and values together.
    fn rows_bytes(&self) -> u64;

    /// Bytes of room for rows that are free now. A row takes at most 64 bytes beside its key and its value.
    fn rows_free(&self) -> u64;

    /// Reads blocks in the order asked, each exactly one block long. A block never written reads as zeros.
    fn read(
        &self,
        flow: Flow,
        blocks: Vec<u64>,
    ) -> impl Future<Output = Result<Vec<Bytes>, DeviceError>> + Send;

    /// Replaces whole blocks; they are durable when this returns. After an error some may be replaced and others
    /// not, but none is replaced later on.
    fn write(
        &self,
        flow: Flow,
        writes: Vec<(u64, Bytes)>,
    ) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// All rows, in any order. Shows nothing to the watcher.
    fn load_rows(&self) -> impl Future<Output = Result<Vec<Row>, DeviceError>> + Send;

    /// Changes rows, all of them or none, durable when this returns. A later change of a key wins over an earlier one.
    /// Nothing of it shows but that it happened.
    ///
    /// After [`DeviceError::Full`] or [`DeviceError::RowsFull`] nothing has changed. After any other error the
    /// changes may be there or not; the gateway then writes the rows as it knows them before it changes any other.
    fn commit_rows(&self, changes: Vec<RowChange>) -> impl Future<Output = Result<(), DeviceError>> + Send;
}

/// The reason why a device refused or failed. Its text names no block; [`DeviceError::client_message`] names nothing of
/// the machine either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No space for blocks: on the local disk, or in the store below.
    #[error("the vault has no space left for blocks: free some on its disk or in its store")]
    Full,
    /// The table of rows is at its bound.
    #[error(
        "the vault's catalogue is full: delete objects, or grow the vault with `ameles migrate --capacity SIZE`; it has a \
         256th of the capacity, and 2 MiB at least"
    )]
    RowsFull,
    /// The disk of the trusted folder is full.
    #[error("the trusted folder's disk is full: free some space on it; no acknowledged write is lost")]
    DiskFull,
    /// The store is full, and what is asked for needs room there first.
    #[error("the vault's store is full: free some space in it; no acknowledged write is lost")]
    StoreFull,
    /// Failed for now; the same may succeed later. The text may name folders and addresses: it is for the operator of
    /// the gateway alone.
    #[error("the vault is unavailable for now: {0}")]
    Unavailable(String),
    /// The store returned other bytes than had been written to it.
    #[error("the store was tampered with: {0}")]
    Tampered(String),
    /// The vault was closed.
    #[error("the vault is closed")]
    Closed,
}

impl DeviceError {
    /// The text that a client is told.
    pub fn client_message(&self) -> String {
        match self {
            DeviceError::Unavailable(_) => {
                "the vault is unavailable for now; the log of the gateway says why".into()
            }
            DeviceError::Tampered(_) => {
                "the store did not return what had been written to it; the log of the gateway says where"
                    .into()
            }
            other => other.to_string(),
        }
    }
}

/// Forwards the shape of a device, or its rows, within an `impl Device` of its wrapper:
/// `forward_device!(self => self.inner, shape)`.
#[macro_export]
macro_rules! forward_device {
    ($self:ident => $inner:expr, shape) => {
        fn block_bytes(&$self) -> usize {
            $crate::Device::block_bytes(&$inner)
        }
        fn blocks(&$self) -> u64 {
            $crate::Device::blocks(&$inner)
        }
        fn max_batch(&$self) -> usize {
            $crate::Device::max_batch(&$inner)
        }
        fn rows_bytes(&$self) -> u64 {
            $crate::Device::rows_bytes(&$inner)
        }
        fn rows_free(&$self) -> u64 {
            $crate::Device::rows_free(&$inner)
        }
    };
    ($self:ident => $inner:expr, rows) => {
        async fn load_rows(&$self) -> Result<Vec<$crate::device::Row>, $crate::DeviceError> {
            $crate::Device::load_rows(&$inner).await
        }
        async fn commit_rows(
            &$self,
            changes: Vec<$crate::device::RowChange>,
        ) -> Result<(), $crate::DeviceError> {
            $crate::Device::commit_rows(&$inner, changes).await
        }
    };
}

impl<D: Device> Device for std::sync::Arc<D> {
    forward_device!(self => **self, shape);
    forward_device!(self => **self, rows);

    fn read(
        &self,
        flow: Flow,
        blocks: Vec<u64>,
    ) -> impl Future<Output = Result<Vec<Bytes>, DeviceError>> + Send {
        (**self).read(flow, blocks)
    }

    fn write(
        &self,
        flow: Flow,
        writes: Vec<(u64, Bytes)>,
    ) -> impl Future<Output = Result<(), DeviceError>> + Send {
        (**self).write(flow, writes)
    }
}
