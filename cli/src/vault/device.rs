//! A vault as the gateway's device, alone or together with its successor.

use ameles_core::types::BlockId;
use ameles_gateway::device::RowChange;
use ameles_gateway::{Device, DeviceError, Flow};
use ameles_vault::{Call, MirroredVaults, Receipt, Vault, VaultError};
use anyhow::Context;
use bytes::Bytes;

/// The words with which a failure of the successor is told.
const GIVE_UP: &str = "the successor has stopped (`ameles migrate --cancel` gives it up, and loses nothing)";

/// See the module. With a successor, capacity and rows are those of the vault that answers.
///
/// A [`MirroredVaults`] asks that a block which a failed or unfinished write may have touched is written again before it is
/// read, and that no block has two writes under way. The gateway keeps to that, as [`Device`] says.
#[derive(Clone)]
pub enum VaultDevice {
    /// A vault without a successor.
    Alone(Vault),
    /// A vault whose successor is being filled.
    Followed(MirroredVaults),
}

impl VaultDevice {
    /// The vault that answers.
    pub fn vault(&self) -> &Vault {
        match self {
            VaultDevice::Alone(vault) => vault,
            VaultDevice::Followed(both) => both.old(),
        }
    }

    /// Tells whether anything may be answered now: no vault has stopped, and none may have been displaced.
    pub fn may_answer(&self) -> bool {
        match self {
            VaultDevice::Alone(vault) => vault.may_answer(),
            VaultDevice::Followed(both) => both.old().may_answer() && both.successor().may_answer(),
        }
    }

    /// The reason why it has stopped, if it has.
    pub fn failure(&self) -> Option<anyhow::Error> {
        match self {
            VaultDevice::Alone(vault) => vault.failure().map(Into::into),
            VaultDevice::Followed(both) => {
                let of_new =
                    || both.successor().failure().map(|error| anyhow::Error::new(error).context(GIVE_UP));
                both.old().failure().map(Into::into).or_else(of_new)
            }
        }
    }

    /// Stops, because the machine was resumed from a snapshot.
    pub async fn stop_after_resume(&self) {
        self.vault().stop_resumed().await;
        if let VaultDevice::Followed(both) = self {
            both.successor().stop_resumed().await;
        }
    }

    /// Finishes what was asked for, ships checkpoints and closes; returns the receipt of the vault that answers.
    ///
    /// # Errors
    /// Why it has stopped.
    pub async fn close(&self) -> anyhow::Result<Receipt> {
        let VaultDevice::Followed(both) = self else { return Ok(self.vault().close().await?) };
        let (old, new) = tokio::join!(both.old().close(), both.successor().close());
        new.context(GIVE_UP)?;
        Ok(old?)
    }

    async fn access(&self, flow: Flow, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, DeviceError> {
        let flow = ameles_vault::Flow(flow.0);
        let answers = match self {
            VaultDevice::Alone(vault) => vault.access_in(flow, calls).await,
            VaultDevice::Followed(both) => both.access_in(flow, calls).await,
        };
        answers.map_err(failure)
    }
}

impl Device for VaultDevice {
    fn block_bytes(&self) -> usize {
        self.vault().block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.vault().capacity()
    }

    fn max_batch(&self) -> usize {
        match self {
            VaultDevice::Alone(vault) => vault.max_batch(),
            VaultDevice::Followed(both) => both.max_batch(),
        }
    }

    fn rows_bytes(&self) -> u64 {
        self.vault().header().parameters.rows_bytes
    }

    fn rows_free(&self) -> u64 {
        self.vault().rows().free()
    }

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        let calls = blocks.into_iter().map(|block| Call::Read(BlockId(block))).collect();
        Ok(self.access(flow, calls).await?.into_iter().flatten().collect())
    }

    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        let calls = writes.into_iter().map(|(block, payload)| Call::Write(BlockId(block), payload));
        self.access(flow, calls.collect()).await.map(drop)
    }

    async fn load_rows(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>, DeviceError> {
        let rows = self.vault().load_rows().await.map_err(failure)?;
        Ok(rows.into_iter().map(|row| (row.key.into(), row.value.into())).collect())
    }

    async fn commit_rows(&self, changes: Vec<RowChange>) -> Result<(), DeviceError> {
        let changes = changes
            .into_iter()
            .map(|(key, value)| ameles_vault::RowChange { key: key.into(), value: value.map(Bytes::from) });
        self.vault().commit_rows(changes.collect()).await.map_err(failure)
    }
}

fn failure(error: VaultError) -> DeviceError {
    match error {
        VaultError::RowsFull { .. } => DeviceError::RowsFull,
        VaultError::Closed => DeviceError::Closed,
        VaultError::NoRoom => DeviceError::Full,
        VaultError::DiskFull => DeviceError::DiskFull,
        VaultError::StoreFull => DeviceError::StoreFull,
        VaultError::Tampered(what) => DeviceError::Tampered(what.to_string()),
        tampering if tampering.is_tampering() => DeviceError::Tampered(tampering.to_string()),
        other => DeviceError::Unavailable(other.to_string()),
    }
}
