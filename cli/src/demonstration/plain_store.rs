//! A store without an ORAM: block n is in slot n, sealed.
//!
//! Contents are as safe as in a vault: each block is authenticated with its slot and its version before it is used. The
//! versions are in trusted memory, so an older version is refused. A watcher sees which slots are read or written, and
//! how often.

use crate::report::provider::Provider;
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::Bucket;
use ameles_gateway::DeviceError;
use ameles_seal::blob::{self, sealed_bytes};
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_store::{AccessCounts, Blobs, Meter, Objects, OpenOptions};
use anyhow::Result;
use bytes::Bytes;
use futures::future::{join_all, try_join_all};
use rand_core::{OsRng, TryRngCore};
use std::path::Path;
use tokio::sync::Mutex;

const BLOCKS: Purpose = Purpose::named("bare-blocks");

/// The store without an ORAM, see the module. Its key exists only in this process.
pub struct BareStore<S = Objects> {
    store: Meter<S>,
    access_counts: AccessCounts,
    master: MasterKey,
    cipher: Cipher,
    block_bytes: usize,
    /// The number of writes of each block. It is locked while its slot is read or written.
    versions: Vec<Mutex<u64>>,
}

impl BareStore {
    /// Creates a folder with an empty store of this many blocks.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub async fn create(folder: &Path, cipher: Cipher, blocks: u64, block_bytes: usize) -> Result<Self> {
        let options = OpenOptions { create: true, ..OpenOptions::default() };
        let objects = Objects::open(&folder.display().to_string(), &options).await?;
        Ok(Self::new(objects, cipher, blocks, block_bytes))
    }
}

impl<S: Blobs> BareStore<S> {
    fn new(store: S, cipher: Cipher, blocks: u64, block_bytes: usize) -> Self {
        let slot_bytes = sealed_bytes(block_bytes) as u32;
        BareStore {
            store: Meter::new(store),
            access_counts: AccessCounts::new(&Layout::new(vec![Extent {
                buckets: blocks,
                slots: 1,
                slot_bytes,
            }])),
            master: MasterKey::draw(&mut OsRng.unwrap_err()),
            cipher,
            block_bytes,
            versions: (0..blocks).map(|_| Mutex::new(0)).collect(),
        }
    }

    /// Returns the requests that the provider sees.
    pub fn provider(&self) -> Provider {
        Provider { meter: self.store.reader(), access_counts: self.access_counts.clone() }
    }

    /// Reads blocks in the given order. A block that was never written reads as zeros.
    ///
    /// # Errors
    /// [`DeviceError::Tampered`], [`DeviceError::Unavailable`].
    pub async fn read(&self, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        try_join_all(blocks.into_iter().map(|block| self.read_block(block))).await
    }

    /// Replaces blocks. All writes have ended when this returns, also after an error.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`].
    pub async fn write(&self, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        let writes = writes.into_iter().map(|(block, bytes)| self.write_block(block, bytes));
        join_all(writes).await.into_iter().collect()
    }

    async fn read_block(&self, block: u64) -> Result<Bytes, DeviceError> {
        let version = self.version(block)?.lock().await;
        self.access_counts.read(Bucket(block), 1);
        let found =
            self.store.get(&slot(block), sealed_bytes(self.block_bytes)).await.map_err(unavailable)?;
        match (found, *version) {
            (None, 0) => Ok(Bytes::from(vec![0; self.block_bytes])),
            (None, _) => Err(DeviceError::Tampered("a slot of the bare store is missing".into())),
            (Some(sealed), version) => blob::open(&self.master, BLOCKS, &identity(block, version), &sealed)
                .map(Bytes::from)
                .map_err(|error| DeviceError::Tampered(error.to_string())),
        }
    }

    async fn write_block(&self, block: u64, bytes: Bytes) -> Result<(), DeviceError> {
        let mut version = self.version(block)?.lock().await;
        let (identity, salt) = (identity(block, *version + 1), Salt::draw(&mut OsRng.unwrap_err()));
        let sealed = blob::seal(&self.master, BLOCKS, &identity, self.cipher, salt, &bytes);
        self.access_counts.written(Bucket(block));
        self.store.put(&slot(block), &sealed).await.map_err(unavailable)?;
        *version += 1;
        Ok(())
    }

    fn version(&self, block: u64) -> Result<&Mutex<u64>, DeviceError> {
        let found = usize::try_from(block).ok().and_then(|block| self.versions.get(block));
        found.ok_or_else(|| DeviceError::Unavailable("the block does not exist".into()))
    }
}

/// Returns the name of a slot at the provider.
fn slot(block: u64) -> String {
    format!("slot/{block}")
}

/// Returns the identity that a sealed block is bound to.
fn identity(block: u64, version: u64) -> [u8; 16] {
    let mut identity = [0; 16];
    identity[..8].copy_from_slice(&block.to_be_bytes());
    identity[8..].copy_from_slice(&version.to_be_bytes());
    identity
}

fn unavailable(error: impl std::fmt::Display) -> DeviceError {
    DeviceError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_store::VersionedMemory;

    const BLOCK: usize = 64;

    fn store() -> BareStore<VersionedMemory> {
        BareStore::new(VersionedMemory::new(Layout::default()), Cipher::Aes256Gcm, 128, BLOCK)
    }

    fn block(filled: u8) -> Bytes {
        Bytes::from(vec![filled; BLOCK])
    }

    #[tokio::test]
    async fn written_blocks_are_read_back_and_every_access_shows_in_its_place() {
        let bare = store();
        bare.write(vec![(2, block(1)), (127, block(2))]).await.unwrap();
        assert_eq!(bare.read(vec![127, 5, 2]).await.unwrap(), [block(2), block(0), block(1)]);
        let counts = bare.provider().access_counts.whole();
        assert_eq!((counts.writes[1], counts.writes[63], counts.writes.iter().sum::<u64>()), (1, 1, 2));
        assert_eq!((counts.reads[1], counts.reads[2], counts.reads[63]), (1, 1, 1));
        assert_eq!(bare.provider().meter.usage().requests(), 5);
    }

    #[tokio::test]
    async fn a_changed_older_moved_or_missing_slot_is_refused() {
        let bare = store();
        bare.write(vec![(0, block(1)), (1, block(2))]).await.unwrap();
        let inner = bare.store.inner();
        let older = inner.get("slot/0", 1000).await.unwrap().expect("there");
        bare.write(vec![(0, block(3))]).await.unwrap();
        let newest = inner.get("slot/0", 1000).await.unwrap().expect("there");
        let moved = inner.get("slot/1", 1000).await.unwrap().expect("there");
        let mut changed = newest.clone();
        *changed.last_mut().expect("not empty") ^= 1;
        for (what, bytes) in [("older", older), ("moved", moved), ("changed", changed)] {
            inner.put("slot/0", &bytes).await.unwrap();
            let answer = bare.read(vec![0]).await;
            assert!(matches!(answer, Err(DeviceError::Tampered(_))), "{what}: {answer:?}");
        }
        Blobs::remove(inner, "slot/0").await.unwrap();
        assert!(matches!(bare.read(vec![0]).await, Err(DeviceError::Tampered(_))));
        inner.put("slot/0", &newest).await.unwrap();
        assert_eq!(bare.read(vec![0]).await.unwrap(), [block(3)]);
    }
}
