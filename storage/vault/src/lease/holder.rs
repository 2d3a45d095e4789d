//! The question whether the last gateway of the vault is gone.
//!
//! A process that has the trusted disk open holds its lock. So an opening on the same machine and disk as the last one
//! knows that its predecessor is dead. It recognises machine and disk by a mark that the last opening has left on the
//! disk. A copy of the disk finds another mark, and so does an opening after a reboot; these two cases cannot be
//! distinguished. In both, the mark in the store decides, which a gateway leaves when it stops in an orderly way.

use super::Host;
use crate::claims::Claims;
use crate::error::VaultError;
use crate::trusted::disk::TrustedDisk;
use ameles_store::Blobs;

/// The mark of the machine and the disk on which the vault was last open.
const NAME: &str = "host";

/// Returns whether the gateway of the newest epoch is known to be gone. Asks the store if the disk does not tell.
///
/// # Errors
/// The errors of disk and store.
pub(crate) async fn predecessor_is_gone<B: Blobs>(
    disk: &TrustedDisk,
    host: &Host,
    claims: &Claims<'_, B>,
    newest: u32,
) -> Result<bool, VaultError> {
    match disk.meta(NAME)? {
        // The vault was never open, or only under a version without leases: waiting would not help.
        None => Ok(true),
        Some(mark) if host.mark() == Some(&mark) => Ok(true),
        Some(_) => claims.has_ended(newest).await,
    }
}

/// Records that the vault is open on this host; durable when this returns. An opening that must wait calls this only
/// after its wait: an earlier call would let the next opening serve without a wait.
///
/// # Errors
/// The errors of the disk.
pub(crate) fn record_holder(disk: &TrustedDisk, host: &Host) -> Result<(), VaultError> {
    let mark = host.mark().unwrap_or_default();
    if disk.meta(NAME)?.as_deref() == Some(mark) {
        return Ok(());
    }
    disk.set_meta(NAME, mark)
}

/// Clears the mark, because another machine may have the same one: the next opening waits.
///
/// # Errors
/// The errors of the disk.
pub(crate) fn clear_holder(disk: &TrustedDisk) -> Result<(), VaultError> {
    disk.set_meta(NAME, b"")
}
