//! The note on the trusted disk that a restore has started, until it is complete.

use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::store::SHIPPED_NOTE;
use crate::trusted::checkpoint::{Receipt, ShippedCheckpoint};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::long_notes::{SENT_NOTE, STATE_NOTE};

const NAME: &str = "restoring";
const EPOCH: &str = "restored-in";
const DISPLACED: &str = "restoring-displaces";
const UNFINISHED: &[u8] = b"unfinished";
const DONE: &[u8] = b"done";

/// Records that a restore starts which displaces the gateway of epoch `displaced`. All later epochs that are claimed so
/// far were claimed by restores onto this disk, which have answered nobody.
pub(crate) fn begin(disk: &TrustedDisk, displaced: u32) -> Result<(), VaultError> {
    disk.set_metas(&[(NAME, UNFINISHED), (DISPLACED, displaced.to_le_bytes().as_slice())])
}

/// The epoch that an unfinished restore onto this disk displaces.
pub(crate) fn displaced(disk: &TrustedDisk) -> Result<Option<u32>, VaultError> {
    if !is_unfinished(disk)? {
        return Ok(None);
    }
    let noted = disk.meta(DISPLACED)?;
    Ok(noted.and_then(|epoch| epoch.try_into().ok()).map(u32::from_le_bytes))
}

/// Records that the vault on this disk is the result of a restore in this epoch. It repeats an earlier epoch's journal, so
/// no record of it is of this epoch.
pub(crate) fn set_epoch(disk: &TrustedDisk, epoch: u32) -> Result<(), VaultError> {
    disk.set_meta(EPOCH, &epoch.to_le_bytes())
}

/// The epoch of the restore that has made the vault on this disk from an earlier epoch's journal. 0 if there was none.
pub(crate) fn epoch(disk: &TrustedDisk) -> Result<u32, VaultError> {
    let noted = disk.meta(EPOCH)?;
    Ok(noted.and_then(|epoch| epoch.try_into().ok()).map_or(0, u32::from_le_bytes))
}

/// Records that the restore is complete.
pub(crate) fn complete(disk: &TrustedDisk) -> Result<(), VaultError> {
    disk.set_meta(NAME, DONE)
}

/// Records the receipt of the restored checkpoint and the earlier ones, so that they are still recognised. The vault on
/// the disk needs the versions of this checkpoint up to `newest`.
pub(super) fn record_receipt(
    disk: &TrustedDisk,
    receipt: &Receipt,
    newest: (u32, u64),
    mut history: Vec<(u64, [u8; 32])>,
) -> Result<(), VaultError> {
    let Receipt { epoch, checkpoint: number, digest, .. } = *receipt;
    if number == 0 {
        return Ok(());
    }
    history.push((number, digest));
    let known = ShippedCheckpoint { number, epoch, newest, digest };
    let note =
        borsh::to_vec(&(known, history)).map_err(|error| VaultError::Damaged(ErrorReason::of(error)))?;
    // An interrupted restore may have noted what it had sent.
    disk.set_metas(&[(SHIPPED_NOTE, note), (SENT_NOTE, Vec::new()), (STATE_NOTE, Vec::new())])
}

/// Returns whether the vault on this disk is the result of a complete restore.
///
/// # Errors
/// The errors of the disk.
pub(crate) fn is_complete(disk: &TrustedDisk) -> Result<bool, VaultError> {
    Ok(disk.meta(NAME)?.is_some_and(|note| note == DONE))
}

/// Returns whether a restore onto this disk has started and is not complete.
///
/// # Errors
/// The errors of the disk.
pub fn is_unfinished(disk: &TrustedDisk) -> Result<bool, VaultError> {
    Ok(disk.meta(NAME)?.is_some_and(|note| note == UNFINISHED))
}
