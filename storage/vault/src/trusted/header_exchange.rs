//! The exchange of a vault's header for another, which a change of its key makes: first on the trusted disk, then in the
//! store. Until the second is durable, the disk remembers the header before, so that an opening can tell a store that is
//! behind from one that was rolled back.

use super::disk::TrustedDisk;
use crate::error::VaultError;
use crate::store::HEADER;
use ameles_store::Blobs;

/// The name of the header that the store may still hold.
const BEFORE: &str = "header-before";

/// The values on the disk with which an exchange begins.
///
/// # Errors
/// [`VaultError::NoVault`], and those of the disk.
pub(crate) fn begin_exchange(
    disk: &TrustedDisk,
    encoded: Vec<u8>,
) -> Result<[(&'static str, Vec<u8>); 2], VaultError> {
    let previous_header = disk.meta(HEADER)?.ok_or(VaultError::NoVault)?;
    Ok([(HEADER, encoded), (BEFORE, previous_header)])
}

/// The header that the store may still hold, while an exchange is under way.
pub(crate) fn previous_header(disk: &TrustedDisk) -> Result<Option<Vec<u8>>, VaultError> {
    Ok(disk.meta(BEFORE)?.filter(|previous_header| !previous_header.is_empty()))
}

/// Puts the header of the disk into the store, in the place of the one before. From then on that one is refused.
///
/// # Errors
/// Those of disk and store.
pub(crate) async fn complete(disk: &TrustedDisk, store: &impl Blobs) -> Result<(), VaultError> {
    let header = disk.meta(HEADER)?.ok_or(VaultError::NoVault)?;
    store.put(HEADER, &header).await?;
    mark_complete(disk)
}

/// Records that the store holds the header of the disk.
pub(crate) fn mark_complete(disk: &TrustedDisk) -> Result<(), VaultError> {
    disk.set_meta(BEFORE, b"")
}
