//! A vault as the gateway's device, with or without a successor.

use ameles_core::types::BlockId;
use ameles_gateway::device::RowChange;
use ameles_gateway::{Device, DeviceError, DeviceShape, Flow};
use ameles_vault::{Call, MirroredVaults, Receipt, Vault, VaultError};
use anyhow::Context;
use bytes::Bytes;

/// The message for a failure of the successor.
const SUCCESSOR_STOPPED: &str =
    "the successor has stopped (`ameles migrate --cancel` removes it without loss of data)";

/// The device of a vault, see the module. With a successor, capacity and rows are those of the old vault.
///
/// A [`MirroredVaults`] has two conditions. A block that a failed or unfinished write may have changed is written again
/// before it is read. No block has two writes under way. The gateway keeps to that, as [`Device`] says.
#[derive(Clone)]
pub enum VaultDevice {
    /// A vault without a successor.
    Single(Vault),
    /// A vault whose successor is being filled.
    WithSuccessor(MirroredVaults),
}

impl VaultDevice {
    /// Returns the vault that answers: with a successor, the old one.
    pub fn vault(&self) -> &Vault {
        match self {
            VaultDevice::Single(vault) => vault,
            VaultDevice::WithSuccessor(succession) => succession.old(),
        }
    }

    /// Returns true if requests may be answered: no vault has stopped or may have been displaced.
    pub fn may_answer(&self) -> bool {
        match self {
            VaultDevice::Single(vault) => vault.may_answer(),
            VaultDevice::WithSuccessor(succession) => {
                succession.old().may_answer() && succession.successor().may_answer()
            }
        }
    }

    /// Returns the error that stopped a vault, if any.
    pub fn failure(&self) -> Option<anyhow::Error> {
        match self {
            VaultDevice::Single(vault) => vault.failure().map(Into::into),
            VaultDevice::WithSuccessor(succession) => {
                let successor_failure = || {
                    succession
                        .successor()
                        .failure()
                        .map(|error| anyhow::Error::new(error).context(SUCCESSOR_STOPPED))
                };
                succession.old().failure().map(Into::into).or_else(successor_failure)
            }
        }
    }

    /// Stops the vaults after the machine was resumed from a snapshot.
    pub async fn stop_after_resume(&self) {
        self.vault().stop_resumed().await;
        if let VaultDevice::WithSuccessor(succession) = self {
            succession.successor().stop_resumed().await;
        }
    }

    /// Finishes requests, ships checkpoints unless `no_ship`, and closes. Returns the receipt of the vault that
    /// answers.
    ///
    /// # Errors
    /// The error that stopped a vault.
    pub async fn close(&self, no_ship: bool) -> anyhow::Result<Receipt> {
        let close = async |vault: &Vault| match no_ship {
            true => vault.close_without_shipping().await,
            false => vault.close().await,
        };
        match self {
            VaultDevice::Single(vault) => Ok(close(vault).await?),
            VaultDevice::WithSuccessor(succession) => {
                let (old, new) = tokio::join!(close(succession.old()), close(succession.successor()));
                new.context(SUCCESSOR_STOPPED)?;
                Ok(old?)
            }
        }
    }

    async fn access(&self, flow: Flow, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, DeviceError> {
        let flow = ameles_vault::Flow(flow.0);
        let answers = match self {
            VaultDevice::Single(vault) => vault.access_in(flow, calls).await,
            VaultDevice::WithSuccessor(succession) => succession.access_in(flow, calls).await,
        };
        answers.map_err(failure)
    }
}

impl Device for VaultDevice {
    fn shape(&self) -> DeviceShape {
        let vault = self.vault();
        DeviceShape {
            block_bytes: vault.block_bytes(),
            blocks: vault.capacity(),
            max_batch: match self {
                VaultDevice::Single(vault) => vault.max_batch(),
                VaultDevice::WithSuccessor(succession) => succession.max_batch(),
            },
            rows_bytes: vault.header().parameters.rows_bytes,
            row_bytes_per_access: vault.header().parameters.row_bytes_per_access(),
        }
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

    async fn settle_reads(&self) -> Result<(), DeviceError> {
        self.vault().settle_reads().await.map_err(failure)
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
