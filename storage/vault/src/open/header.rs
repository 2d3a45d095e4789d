//! The header on the trusted disk and in the store, and the rule that both are the same.

use super::restore_notes;
use crate::claims::Claims;
use crate::error::VaultError;
use crate::store::{HEADER, MAX_HEADER_BYTES, SHIPPED_NOTE, VaultStore};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::header_exchange;
use ameles_seal::key_ring::{EarlierKey, KeyRing};
use ameles_seal::master_key::MasterKey;
use ameles_store::Blobs;

/// The explanation of a different header in the store.
const ANOTHER_HEADER: &str = "the vault's header in the store is not the one that was made: it was changed, or one from before \
    a change of the key was brought back; or the key was changed with another trusted folder, and this one is an older copy; or \
    this is not the vault's store";

/// Reads the header on a trusted disk.
///
/// # Errors
/// [`VaultError::NoVault`], and the errors of [`VaultHeader::decode`].
pub fn read_header(disk: &TrustedDisk, master: &MasterKey) -> Result<VaultHeader, VaultError> {
    VaultHeader::decode(&raw_header(disk)?, master)
}

/// Reads the header on a trusted disk, with the keys of the vault.
///
/// # Errors
/// The errors of [`read_header`].
pub(crate) fn read_header_with_ring(
    disk: &TrustedDisk,
    master: &MasterKey,
) -> Result<(VaultHeader, KeyRing), VaultError> {
    VaultHeader::decode_with_ring(&raw_header(disk)?, master)
}

/// Reads the header on a trusted disk as stored: it contains the derivation of the key from a passphrase.
///
/// # Errors
/// [`VaultError::NoVault`], [`VaultError::RestoreUnfinished`].
pub fn raw_header(disk: &TrustedDisk) -> Result<Vec<u8>, VaultError> {
    match disk.meta(HEADER)? {
        Some(header) => Ok(header),
        None if restore_notes::is_unfinished(disk)? => Err(VaultError::RestoreUnfinished),
        None => Err(VaultError::NoVault),
    }
}

/// Reads the header in a store as stored.
///
/// # Errors
/// [`VaultError::StoreEmpty`], and the store's own.
pub async fn raw_header_of_store(store: &impl Blobs) -> Result<Vec<u8>, VaultError> {
    store.get(HEADER, MAX_HEADER_BYTES).await?.ok_or(VaultError::StoreEmpty)
}

/// Checks that the store holds the header of the trusted disk. Writes it there if a crash came between the two steps of
/// creating the vault, or of changing its key.
///
/// # Errors
/// [`VaultError::OtherVault`], [`VaultError::HeaderVanished`], [`VaultError::Tampered`], [`VaultError::Displaced`] if
/// another gateway took over between the two steps of a change, and the errors of disk and store.
pub(crate) async fn agree_on_header<U: VaultStore>(
    disk: &TrustedDisk,
    store: &U,
    master: &MasterKey,
) -> Result<(), VaultError> {
    let previous_header = header_exchange::previous_header(disk)?;
    match store.get(HEADER, MAX_HEADER_BYTES).await? {
        Some(theirs) if Some(&theirs) == disk.meta(HEADER)?.as_ref() => match previous_header {
            // The answer to the put was lost. From now on the previous header is refused.
            Some(_) => header_exchange::mark_complete(disk),
            None => Ok(()),
        },
        Some(theirs) if Some(&theirs) == previous_header.as_ref() => {
            check_not_displaced(disk, store, master).await?;
            header_exchange::complete(disk, store).await
        }
        Some(theirs) if VaultHeader::is_of_another_vault(&theirs, &raw_header(disk)?)? => {
            Err(VaultError::OtherVault)
        }
        Some(_) => Err(VaultError::Tampered(ANOTHER_HEADER.into())),
        // A crash came between the two steps of creating the vault.
        None if disk.meta(SHIPPED_NOTE)?.is_none() => {
            store.put_if_absent(HEADER, &raw_header(disk)?).await?;
            Ok(())
        }
        None => Err(VaultError::HeaderVanished),
    }
}

/// Checks, after an interrupted exchange of the header, that no other gateway has taken the vault over with the earlier
/// header. The new header would lock that gateway out. A change of the key claims the last epoch of the earlier key, and
/// a move of the journal notes the epoch that it claims.
async fn check_not_displaced<U: VaultStore>(
    disk: &TrustedDisk,
    store: &U,
    master: &MasterKey,
) -> Result<(), VaultError> {
    let (header, ring) = read_header_with_ring(disk, master)?;
    let (ring, until) = match (header_exchange::claimed(disk)?, ring.earlier()) {
        (Some(claimed), _) => (ring, claimed),
        (None, Some(EarlierKey { key, last_epoch })) => (key.into(), *last_epoch),
        (None, None) => return Ok(()),
    };
    Claims { blobs: store, ring, vault: header.vault }.check_next_epoch(until).await
}
