//! The sealed notes on the trusted disk about what the store has.

use super::disk::TrustedDisk;
use super::header::VaultHeader;
use super::seal_context::context;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::master_key::MasterKey;
use borsh::BorshDeserialize;

/// Loads the note of this name, which is about `about`. `None` if there is none, or an empty one.
///
/// # Errors
/// [`VaultError::Damaged`], and the errors of the disk.
pub(super) fn load_note<T: BorshDeserialize>(
    (disk, header, master): (&TrustedDisk, &VaultHeader, &MasterKey),
    (name, about): (&str, &str),
) -> Result<Option<T>, VaultError> {
    let Some(sealed) = disk.meta(name)?.filter(|note| !note.is_empty()) else { return Ok(None) };
    let damaged = |why: ErrorReason| {
        VaultError::Damaged(why.about(format_args!("its note of {about} in the store does not open")))
    };
    let text = blob::open(master, Purpose::CHECKPOINT, &context(header, name), &sealed)
        .map_err(|error| damaged(ErrorReason::of(error)))?;
    borsh::from_slice(&text).map(Some).map_err(|error| damaged(ErrorReason::of(error)))
}
