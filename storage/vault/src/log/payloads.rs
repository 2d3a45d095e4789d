//! The payloads of a log object in an object of their own, in a vault whose journal is in etcd.
//!
//! The object has a payload for each access, zeros for a read or a dummy. It is created when the log object and all
//! before it are there, beside the requests, and the accesses are answered when it is in the store. If it never came, an
//! opening that ends the journal creates an **absence marker** under its name. Then the accesses count as reads, and none
//! of them was answered: the same requests follow from them.

use super::announcements::AnnouncedRecords;
use super::open_named;
use crate::engine::record::Call;
use crate::error::VaultError;
use crate::trusted::header::{VaultHeader, VaultParameters};
use crate::trusted::position::Position;
use crate::trusted::seal_context::context;
use ameles_seal::blob;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::key_ring::KeyRing;
use ameles_seal::master_key::MasterKey;
use bytes::Bytes;

/// The purpose under which these objects are sealed.
pub(crate) const PURPOSE: Purpose = Purpose::named("log-payloads");

const HELD: u8 = 1;
const ABSENT: u8 = 2;

/// The contents of an object of payloads.
pub(super) enum Payloads {
    /// The payloads, one after the other.
    Held(Bytes),
    /// The payloads never came. The opening of this epoch has ended the journal without them.
    Absent(u32),
}

/// Returns the number of bytes of the object for this many accesses. Without an access there is none.
pub(super) fn payload_object_bytes(parameters: &VaultParameters, calls: usize) -> u64 {
    let text = 1 + calls * parameters.scheme.block_bytes() as usize;
    if calls == 0 { 0 } else { blob::sealed_bytes(text) as u64 }
}

/// Seals the payloads of records. `None` if they have no access.
pub(crate) fn seal_payloads(
    keys: (&VaultHeader, &MasterKey),
    at: Position,
    records: &AnnouncedRecords,
    salt: Salt,
) -> Result<Option<Vec<u8>>, VaultError> {
    let block = keys.0.parameters.scheme.block_bytes() as usize;
    let mut text = Vec::with_capacity(1 + records.accesses() * block);
    text.push(HELD);
    for call in records.calls() {
        let end = text.len() + block;
        if let Call::Write(_, payload) = call {
            text.extend_from_slice(payload);
        }
        text.resize(end, 0);
    }
    if text.len() == 1 { Ok(None) } else { seal(keys, at, &text, salt).map(Some) }
}

/// Seals an absence marker of the opening of the epoch `by`.
pub(super) fn seal_absence(
    keys: (&VaultHeader, &MasterKey),
    at: Position,
    by: u32,
    salt: Salt,
) -> Result<Vec<u8>, VaultError> {
    let mut text = vec![ABSENT];
    text.extend_from_slice(&by.to_le_bytes());
    seal(keys, at, &text, salt)
}

fn seal(
    (header, master): (&VaultHeader, &MasterKey),
    at: Position,
    text: &[u8],
    salt: Salt,
) -> Result<Vec<u8>, VaultError> {
    let cipher = header.parameters.cipher()?;
    Ok(blob::seal(master, PURPOSE, &context(header, &at.payload_name()), cipher, salt, text))
}

/// Opens the payloads of the log object at a position.
///
/// # Errors
/// [`VaultError::Tampered`].
pub(super) fn open(
    (header, ring): (&VaultHeader, &KeyRing),
    at: Position,
    sealed: &[u8],
) -> Result<Payloads, VaultError> {
    let name = at.payload_name();
    let text = open_named((header, ring), (PURPOSE, &name, at.epoch), sealed)?;
    match text.split_first() {
        Some((&HELD, _)) => Ok(Payloads::Held(Bytes::from(text).slice(1..))),
        Some((&ABSENT, by)) if by.len() == 4 => {
            Ok(Payloads::Absent(u32::from_le_bytes([by[0], by[1], by[2], by[3]])))
        }
        _ => Err(VaultError::Tampered(format!("{name} in the store has no payloads").into())),
    }
}

/// Adds payloads to the accesses of records. `None` if they are of another number of accesses.
pub(super) fn add_payloads(
    records: &mut AnnouncedRecords,
    payloads: &Bytes,
    parameters: &VaultParameters,
) -> Option<()> {
    let block = parameters.scheme.block_bytes() as usize;
    if payloads.len() != records.accesses() * block {
        return None;
    }
    for (nth, call) in records.calls_mut().enumerate() {
        if let Call::Write(_, payload) = call {
            *payload = payloads.slice(nth * block..(nth + 1) * block);
        }
    }
    Some(())
}
