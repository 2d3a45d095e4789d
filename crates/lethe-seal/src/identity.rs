//! What a sealed slot is bound to: where it stands and which writing of its bucket it is.
//!
//! The vault and the cipher are bound through the key (see [`slot_keys`](crate::slot_keys)); the rest is
//! authenticated with every slot, as bytes of a fixed length.

use crate::cipher::NONCE_BYTES;
use lethe_core::store::Place;

/// The format of sealed slots.
pub const FORMAT: u32 = 1;

/// Bytes that are authenticated with each slot and not stored.
pub const ASSOCIATED_BYTES: usize = 28;

/// The slot's nonce: the counter of its bucket's writing, then its index, both big-endian.
///
/// Every bucket write of an epoch takes a fresh counter, and every epoch has keys of its own: so no nonce comes back
/// under one key.
pub fn nonce(place: &Place) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    nonce[..8].copy_from_slice(&place.version.counter.to_be_bytes());
    nonce[8..].copy_from_slice(&place.slot.index.to_be_bytes());
    nonce
}

/// What is authenticated with the slot: format, epoch, counter, bucket and index, big-endian.
pub fn associated(place: &Place) -> [u8; ASSOCIATED_BYTES] {
    let mut bytes = [0; ASSOCIATED_BYTES];
    bytes[..4].copy_from_slice(&FORMAT.to_be_bytes());
    bytes[4..8].copy_from_slice(&place.version.epoch.to_be_bytes());
    bytes[8..16].copy_from_slice(&place.version.counter.to_be_bytes());
    bytes[16..24].copy_from_slice(&place.slot.bucket.0.to_be_bytes());
    bytes[24..].copy_from_slice(&place.slot.index.to_be_bytes());
    bytes
}
