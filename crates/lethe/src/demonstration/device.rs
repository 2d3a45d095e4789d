//! A vault and a bare store behind one device: written to both, read from the one that is switched on.

use super::BareStore;
use super::switch::Oblivious;
use crate::vault::device::VaultDevice;
use bytes::Bytes;
use lethe_gateway::device::{Row, RowChange};
use lethe_gateway::{Device, DeviceError, Flow};
use std::sync::Arc;

/// See the module. Rows are the vault's alone: they show in neither store.
#[derive(Clone)]
pub struct Switched {
    vault: VaultDevice,
    bare: Arc<BareStore>,
    oblivious: Oblivious,
}

impl Switched {
    /// Both must be empty, and of one shape.
    pub fn new(vault: VaultDevice, bare: BareStore, oblivious: Oblivious) -> Self {
        Switched { vault, bare: Arc::new(bare), oblivious }
    }
}

impl Device for Switched {
    fn block_bytes(&self) -> usize {
        self.vault.block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.vault.blocks()
    }

    fn max_batch(&self) -> usize {
        self.vault.max_batch()
    }

    fn rows_bytes(&self) -> u64 {
        self.vault.rows_bytes()
    }

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        if self.oblivious.is_on() {
            self.vault.read(flow, blocks).await
        } else {
            self.bare.read(blocks).await
        }
    }

    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        // Both to their end: after an error nothing may be replaced later on.
        let (vault, bare) = tokio::join!(self.vault.write(flow, writes.clone()), self.bare.write(writes));
        vault.and(bare)
    }

    async fn load_rows(&self) -> Result<Vec<Row>, DeviceError> {
        self.vault.load_rows().await
    }

    async fn commit_rows(&self, changes: Vec<RowChange>) -> Result<(), DeviceError> {
        self.vault.commit_rows(changes).await
    }
}
