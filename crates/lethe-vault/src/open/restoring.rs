//! The note on the trusted disk that a restore has begun, until it is complete.

use super::header::read_header;
use crate::error::VaultError;
use crate::reason::Reason;
use crate::store::SHIPPED;
use crate::trusted::checkpoint::{Receipt, Shipped};
use crate::trusted::disk::TrustedDisk;
use lethe_seal::master_key::MasterKey;

const NAME: &str = "restoring";
const UNFINISHED: &[u8] = b"unfinished";
const DONE: &[u8] = b"done";

/// Notes that a restore begins.
pub(crate) fn begin(disk: &TrustedDisk) -> Result<(), VaultError> {
    disk.set_meta(NAME, UNFINISHED)
}

/// Notes that the restore is complete.
pub(crate) fn complete(disk: &TrustedDisk) -> Result<(), VaultError> {
    disk.set_meta(NAME, DONE)
}

/// The receipt of the last checkpoint in the store, if the vault on this disk came there by a restore, which is complete.
///
/// # Errors
/// [`VaultError::WrongKey`], [`VaultError::Damaged`], and those of the disk.
pub fn restored(disk: &TrustedDisk, master: &MasterKey) -> Result<Option<Receipt>, VaultError> {
    if disk.meta(NAME)?.is_none_or(|note| note != DONE) {
        return Ok(None);
    }
    let vault = read_header(disk, master)?.vault;
    let Some(note) = disk.meta(SHIPPED)? else { return Ok(None) };
    let (shipped, _): (Shipped, Vec<(u64, [u8; 32])>) =
        borsh::from_slice(&note).map_err(|error| VaultError::Damaged(Reason::of(error)))?;
    let Shipped { number, epoch, digest, .. } = shipped;
    Ok(Some(Receipt { vault, epoch, checkpoint: number, digest }))
}

/// Tells whether a restore onto this disk has begun and is not complete.
///
/// # Errors
/// Those of the disk.
pub fn is_unfinished(disk: &TrustedDisk) -> Result<bool, VaultError> {
    Ok(disk.meta(NAME)?.is_some_and(|note| note == UNFINISHED))
}
