//! A vault as the gateway's device.

use bytes::Bytes;
use lethe_core::words::BlockId;
use lethe_gateway::device::RowChange;
use lethe_gateway::{Device, DeviceError, Flow};
use lethe_vault::{Call, Vault, VaultError};

/// See the module.
#[derive(Clone)]
pub struct VaultDevice(pub Vault);

impl Device for VaultDevice {
    fn block_bytes(&self) -> usize {
        self.0.block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.0.capacity()
    }

    fn max_batch(&self) -> usize {
        self.0.max_batch()
    }

    fn rows_bytes(&self) -> u64 {
        self.0.header().parameters.rows_bytes
    }

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        let calls = blocks.into_iter().map(|block| Call::Read(BlockId(block))).collect();
        Ok(self
            .0
            .access_in(lethe_vault::Flow(flow.0), calls)
            .await
            .map_err(failure)?
            .into_iter()
            .flatten()
            .collect())
    }

    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        let calls = writes.into_iter().map(|(block, payload)| Call::Write(BlockId(block), payload.into()));
        self.0.access_in(lethe_vault::Flow(flow.0), calls.collect()).await.map(drop).map_err(failure)
    }

    async fn load_rows(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>, DeviceError> {
        self.0.load_rows().await.map_err(failure)
    }

    async fn commit_rows(&self, changes: Vec<RowChange>) -> Result<(), DeviceError> {
        self.0.commit_rows(changes).await.map_err(failure)
    }
}

fn failure(error: VaultError) -> DeviceError {
    match error {
        VaultError::RowsFull { .. } => DeviceError::RowsFull,
        VaultError::Closed => DeviceError::Closed,
        VaultError::Tampered(what) => DeviceError::Tampered(what),
        tampering if tampering.is_tampering() => DeviceError::Tampered(tampering.to_string()),
        other => DeviceError::Unavailable(other.to_string()),
    }
}
