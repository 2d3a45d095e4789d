//! The gateway's device with the ORAM off: each block is one sealed object, and rows are a synced table.

use crate::bench::BenchError;
use crate::bench::service::VaultOptions;
use ameles_gateway::device::{Row, RowChange};
use ameles_gateway::{Device, DeviceError, DeviceShape, Flow};
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_store::{Blobs, Link, LinkSpeed, VersionedMemory};
use bytes::Bytes;
use futures::future::try_join_all;
use rand_core::{OsRng, TryRngCore};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;
use std::sync::Arc;

const BLOCKS: Purpose = Purpose::named("plain-blocks");
const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

/// A device without an ORAM. A watcher sees which block is requested.
pub(super) struct PlainDevice {
    link: Link<VersionedMemory>,
    master: MasterKey,
    cipher: Cipher,
    rows: Arc<Database>,
    shape: DeviceShape,
}

impl PlainDevice {
    /// A device of as many blocks as the vault has, sealed with the same cipher, behind a link as fast.
    pub(super) fn new(options: &VaultOptions, speed: LinkSpeed, folder: &Path) -> Result<Self, BenchError> {
        let rows = Database::create(folder.join("plain.redb")).map_err(BenchError::failed)?;
        Ok(PlainDevice {
            link: Link::new(VersionedMemory::new(Default::default()), speed).precise(),
            master: MasterKey::draw(&mut OsRng.unwrap_err()),
            cipher: options.cipher,
            rows: Arc::new(rows),
            shape: DeviceShape {
                block_bytes: options.block_bytes as usize,
                blocks: options.capacity,
                max_batch: options.batch as usize,
                rows_bytes: u64::MAX,
                row_bytes_per_access: None,
            },
        })
    }

    fn name(block: u64) -> String {
        format!("plain/{block}")
    }

    async fn read_block(&self, block: u64) -> Result<Bytes, DeviceError> {
        let name = Self::name(block);
        let found =
            self.link.get(&name, blob::sealed_bytes(self.shape.block_bytes)).await.map_err(unavailable)?;
        let Some(sealed) = found else { return Ok(Bytes::from(vec![0; self.shape.block_bytes])) };
        let opened = blob::open(&self.master, BLOCKS, name.as_bytes(), &sealed);
        opened.map(Bytes::from).map_err(|error| DeviceError::Tampered(error.to_string()))
    }

    async fn write_block(&self, block: u64, bytes: Bytes) -> Result<(), DeviceError> {
        let (name, salt) = (Self::name(block), Salt::draw(&mut OsRng.unwrap_err()));
        let sealed = blob::seal(&self.master, BLOCKS, name.as_bytes(), self.cipher, salt, &bytes);
        self.link.put(&name, &sealed).await.map_err(unavailable)
    }
}

fn unavailable(error: impl std::fmt::Display) -> DeviceError {
    DeviceError::Unavailable(error.to_string())
}

impl Device for PlainDevice {
    fn shape(&self) -> DeviceShape {
        self.shape
    }

    fn rows_free(&self) -> u64 {
        u64::MAX
    }

    async fn read(&self, _: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        try_join_all(blocks.into_iter().map(|block| self.read_block(block))).await
    }

    async fn write(&self, _: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        let writes = writes.into_iter().map(|(block, bytes)| self.write_block(block, bytes));
        try_join_all(writes).await.map(drop)
    }

    async fn load_rows(&self) -> Result<Vec<Row>, DeviceError> {
        let reading = self.rows.begin_read().map_err(unavailable)?;
        let Ok(table) = reading.open_table(ROWS) else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        for row in table.iter().map_err(unavailable)? {
            let (key, value) = row.map_err(unavailable)?;
            rows.push((key.value().to_vec(), value.value().to_vec()));
        }
        Ok(rows)
    }

    async fn commit_rows(&self, changes: Vec<RowChange>) -> Result<(), DeviceError> {
        let rows = Arc::clone(&self.rows);
        let commit = move || {
            let writing = rows.begin_write().map_err(unavailable)?;
            {
                let mut table = writing.open_table(ROWS).map_err(unavailable)?;
                for (key, value) in changes {
                    match value {
                        Some(value) => table.insert(key.as_slice(), value.as_slice()).map(drop),
                        None => table.remove(key.as_slice()).map(drop),
                    }
                    .map_err(unavailable)?;
                }
            }
            writing.commit().map_err(unavailable)
        };
        tokio::task::spawn_blocking(commit).await.map_err(unavailable)?
    }
}
