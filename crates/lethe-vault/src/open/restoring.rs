//! The note on the trusted disk that a restore has begun, until it is complete.

use crate::error::VaultError;
use crate::trusted::disk::TrustedDisk;

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

/// Tells whether the vault on this disk came there by a restore, which is complete.
///
/// # Errors
/// Those of the disk.
pub(crate) fn is_complete(disk: &TrustedDisk) -> Result<bool, VaultError> {
    Ok(disk.meta(NAME)?.is_some_and(|note| note == DONE))
}

/// Tells whether a restore onto this disk has begun and is not complete.
///
/// # Errors
/// Those of the disk.
pub fn is_unfinished(disk: &TrustedDisk) -> Result<bool, VaultError> {
    Ok(disk.meta(NAME)?.is_some_and(|note| note == UNFINISHED))
}
