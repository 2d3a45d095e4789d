//! The vault of a run in real time.

use crate::bench::service::TrustedFolder;
use crate::thesis::error::ThesisError;
use ameles_core::types::BlockId;
use ameles_vault::{Call, Vault, VaultParameters};

/// A temporary folder for a vault with these parameters.
pub(crate) fn vault_folder(parameters: VaultParameters) -> Result<TrustedFolder, ThesisError> {
    Ok(TrustedFolder::new("ameles-lab-", parameters)?)
}

/// Writes every block with this byte.
pub(crate) async fn fill(vault: &Vault, byte: u8) -> Result<(), ThesisError> {
    let batch = vault.max_batch();
    for first in (0..vault.capacity()).step_by(batch) {
        let blocks = first..vault.capacity().min(first + batch as u64);
        let write = |block| Call::Write(BlockId(block), vec![byte; vault.block_bytes()].into());
        vault.access(blocks.map(write).collect()).await.map_err(ThesisError::real_time)?;
    }
    Ok(())
}

/// Waits until no eviction is pending.
pub(crate) async fn settle(vault: &Vault) -> Result<(), ThesisError> {
    while vault.status().evictions_pending > 0 {
        if let Some(error) = vault.failure() {
            return Err(ThesisError::real_time(error));
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    Ok(())
}
