//! The exchange of a vault's header, when its key is changed or its journal is moved: first on the trusted disk, then in the store. The disk
//! keeps the previous header until the store has the new one. So an opening can distinguish a store that lags behind
//! from one that was rolled back.

use super::disk::TrustedDisk;
use crate::error::VaultError;
use crate::store::HEADER;
use ameles_store::Blobs;

/// The name of the header that the store may still hold.
const BEFORE: &str = "header-before";

/// The name of the note of the epoch that was claimed for an exchange, unless an earlier key names it.
const CLAIMED: &str = "header-claimed";

/// The note of the epoch that was claimed for an exchange.
pub(crate) fn claimed_note(epoch: u32) -> (&'static str, Vec<u8>) {
    (CLAIMED, epoch.to_le_bytes().to_vec())
}

/// The epoch that was claimed for the running exchange, if it was noted.
pub(crate) fn claimed(disk: &TrustedDisk) -> Result<Option<u32>, VaultError> {
    let note = disk.meta(CLAIMED)?;
    Ok(note.and_then(|note| Some(u32::from_le_bytes(note.try_into().ok()?))))
}

/// The values on the disk that start an exchange.
///
/// # Errors
/// [`VaultError::NoVault`], and the errors of the disk.
pub(crate) fn begin_exchange(
    disk: &TrustedDisk,
    encoded: Vec<u8>,
) -> Result<[(&'static str, Vec<u8>); 2], VaultError> {
    let previous_header = disk.meta(HEADER)?.ok_or(VaultError::NoVault)?;
    Ok([(HEADER, encoded), (BEFORE, previous_header)])
}

/// The header that the store may still hold, while an exchange is running.
pub(crate) fn previous_header(disk: &TrustedDisk) -> Result<Option<Vec<u8>>, VaultError> {
    Ok(disk.meta(BEFORE)?.filter(|previous_header| !previous_header.is_empty()))
}

/// Replaces the header in the store by that of the disk. From then on the previous header is refused.
///
/// # Errors
/// The errors of disk and store.
pub(crate) async fn complete(disk: &TrustedDisk, store: &impl Blobs) -> Result<(), VaultError> {
    let header = disk.meta(HEADER)?.ok_or(VaultError::NoVault)?;
    store.put(HEADER, &header).await?;
    mark_complete(disk)
}

/// Records that the store holds the header of the disk.
pub(crate) fn mark_complete(disk: &TrustedDisk) -> Result<(), VaultError> {
    disk.set_metas(&[(BEFORE, Vec::new()), (CLAIMED, Vec::new())])
}
