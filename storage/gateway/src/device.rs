//! The oblivious block device that the gateway calls.

use bytes::Bytes;
use std::future::Future;

/// A row: its key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// A change of a row: the key, and its new value or `None` to remove it.
pub type RowChange = (Vec<u8>, Option<Vec<u8>>);

/// A group of calls that belong together, such as the batches of one transfer. A device serves flows in turns, a block
/// each, so that a long transfer does not keep short ones waiting. It serves the calls of one flow in the order in
/// which they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow(pub u64);

/// A durable block device with a small table of rows. A watcher learns only the number of accesses, and does not see
/// the rows at all.
///
/// The gateway stores object data in blocks and the catalogue of names in rows. It polls each `write` and `commit_rows`
/// to its end, even when the caller is gone. A `read` may be dropped half-way.
///
/// The gateway never has two writes of one block in flight, and a row refers to a block only after its write has
/// succeeded. So the remains of a failed write are never read after a crash or an error. No row refers to the block,
/// and the gateway writes the block again before a row does. A device that keeps two copies need not agree on such a
/// block.
pub trait Device: Send + Sync + 'static {
    /// Returns the sizes of the device, which never change.
    fn shape(&self) -> DeviceShape;

    /// Returns the number of bytes of the table of rows that are free now. A row takes at most 64 bytes in addition to
    /// its key and its value.
    fn rows_free(&self) -> u64;

    /// Reads blocks in the order given, each exactly one block long. A block that was never written reads as zeros.
    fn read(
        &self,
        flow: Flow,
        blocks: Vec<u64>,
    ) -> impl Future<Output = Result<Vec<Bytes>, DeviceError>> + Send;

    /// Replaces whole blocks; they are durable when this returns. After an error some may be replaced and others not,
    /// but none is replaced later.
    fn write(
        &self,
        flow: Flow,
        writes: Vec<(u64, Bytes)>,
    ) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// Returns all rows, in any order. The watcher cannot see this.
    fn load_rows(&self) -> impl Future<Output = Result<Vec<Row>, DeviceError>> + Send;

    /// Changes rows, all of them or none, durable when this returns. A later change of a key wins over an earlier one.
    /// The watcher sees only that a commit happened.
    ///
    /// After [`DeviceError::Full`] or [`DeviceError::RowsFull`] nothing has changed. After any other error the changes
    /// may be there or not: the gateway writes the earlier rows again before it changes others.
    fn commit_rows(&self, changes: Vec<RowChange>) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// Waits as [`commit_rows`](Self::commit_rows) does, if a watcher could otherwise tell an answer with reads from
    /// one with writes. The gateway calls it after the last read of an answer, before the answer's last bytes leave.
    fn settle_reads(&self) -> impl Future<Output = Result<(), DeviceError>> + Send {
        std::future::ready(Ok(()))
    }
}

/// The sizes of a device. All of them are public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceShape {
    /// The size of a block in bytes.
    pub block_bytes: usize,
    /// The number of blocks that can be addressed: `0..blocks`.
    pub blocks: u64,
    /// The largest number of blocks of one `read` or `write`, at least 1.
    pub max_batch: usize,
    /// The number of bytes of the table of rows: keys and values together.
    pub rows_bytes: u64,
    /// The number of bytes of changes of rows that cost an access, if they go to the store. `None` if they cost none.
    pub row_bytes_per_access: Option<u64>,
}

/// The reason why a device refused or failed. Its text names no block; [`DeviceError::client_message`] names nothing of
/// the machine either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The local disk or the store has no space for blocks.
    #[error("the vault has no space left for blocks: free some space on its disk or in its store")]
    Full,
    /// The table of rows is full.
    #[error(
        "the vault's catalogue is full: delete objects, or grow the vault with `ameles migrate --capacity SIZE`; its size is 1/256 of the capacity, at least 2 MiB"
    )]
    RowsFull,
    /// The disk of the trusted folder is full.
    #[error("the trusted folder's disk is full: free some space on it; no acknowledged write is lost")]
    DiskFull,
    /// The store is full, and the operation needs space there first.
    #[error("the vault's store is full: free some space in it; no acknowledged write is lost")]
    StoreFull,
    /// A temporary failure: the same operation may succeed later. The text may name folders and addresses: it is for
    /// the operator of the gateway only.
    #[error("the vault is unavailable for now: {0}")]
    Unavailable(String),
    /// The store returned other bytes than the written ones.
    #[error("the store was tampered with: {0}")]
    Tampered(String),
    /// The vault was closed.
    #[error("the vault is closed")]
    Closed,
}

impl DeviceError {
    /// Returns the text for a client.
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

/// Forwards methods of a device, within an `impl Device` of its wrapper: those about its shape, or those about its
/// rows. `forward_device!(self => self.inner, shape)`.
#[macro_export]
macro_rules! forward_device {
    ($self:ident => $inner:expr, shape) => {
        fn shape(&$self) -> $crate::DeviceShape {
            $crate::Device::shape(&$inner)
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
        async fn settle_reads(&$self) -> Result<(), $crate::DeviceError> {
            $crate::Device::settle_reads(&$inner).await
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
