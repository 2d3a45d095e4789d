//! The question whether the gateway that last had the vault is gone.
//!
//! A process that has the trusted disk open holds its lock. So an opening on the machine and the disk of the last one
//! knows that its predecessor is dead. It recognises them by a mark that the last one has left on the disk. A copy of the
//! disk finds another mark, and so does an opening after the machine was started again: these two cannot be told apart.
//! There the mark in the store decides that a gateway leaves when it stops in order.

use super::Host;
use crate::claims::Claims;
use crate::error::VaultError;
use crate::trusted::disk::TrustedDisk;
use ameles_store::Blobs;

/// The mark of the machine and the disk on which the vault was last open.
const NAME: &str = "host";

/// Tells whether the gateway of the newest epoch is known to answer nothing any more. The store is asked if the disk
/// cannot tell.
///
/// # Errors
/// Those of disk and store.
pub(crate) async fn predecessor_is_gone<B: Blobs>(
    disk: &TrustedDisk,
    host: &Host,
    claims: &Claims<'_, B>,
    newest: u32,
) -> Result<bool, VaultError> {
    match disk.meta(NAME)? {
        // It was never open, or only under an Ameles that knows no lease: waiting would not help.
        None => Ok(true),
        Some(mark) if host.mark() == Some(&mark) => Ok(true),
        Some(_) => claims.has_ended(newest).await,
    }
}

/// Notes that the vault is open on this host; durable when this returns. Until an opening has waited as long as it must,
/// the mark before stays: the next opening would not wait otherwise.
///
/// # Errors
/// Those of the disk.
pub(crate) fn record_holder(disk: &TrustedDisk, host: &Host) -> Result<(), VaultError> {
    let mark = host.mark().unwrap_or_default();
    if disk.meta(NAME)?.as_deref() == Some(mark) {
        return Ok(());
    }
    disk.set_meta(NAME, mark)
}

/// Notes that another machine may have this one's mark: the next opening waits.
///
/// # Errors
/// Those of the disk.
pub(crate) fn clear_holder(disk: &TrustedDisk) -> Result<(), VaultError> {
    disk.set_meta(NAME, b"")
}
