//! The identity that a sealed slot is bound to: its place, and which write of its bucket it is.
//!
//! The vault and the cipher are bound through the key (see [`slot_keys`](crate::slot_keys)); the rest is
//! authenticated with every slot, as bytes of a fixed length.

use crate::cipher::NONCE_BYTES;
use crate::slot_format::SlotFormat;
use ameles_core::store::Place;

/// The number of bytes that are authenticated with each slot and not stored.
pub const ASSOCIATED_BYTES: usize = 28;

/// The slot's nonce: the counter of its bucket's write, then its index, both big-endian.
///
/// Every bucket write of an epoch takes a fresh counter, and every epoch has its own keys. So no nonce repeats under
/// one key, if only one process counts. [`SlotFormat::Salted`] is for processes that may be copied.
pub fn nonce(place: &Place) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    nonce[..8].copy_from_slice(&place.version.counter.to_be_bytes());
    nonce[8..].copy_from_slice(&place.slot.index.to_be_bytes());
    nonce
}

/// The bytes that are authenticated with the slot: format, epoch, counter, bucket and index, big-endian.
pub fn associated(place: &Place, format: SlotFormat) -> [u8; ASSOCIATED_BYTES] {
    let mut bytes = [0; ASSOCIATED_BYTES];
    bytes[..4].copy_from_slice(&u32::from(format.number()).to_be_bytes());
    bytes[4..8].copy_from_slice(&place.version.epoch.to_be_bytes());
    bytes[8..16].copy_from_slice(&place.version.counter.to_be_bytes());
    bytes[16..24].copy_from_slice(&place.slot.bucket.0.to_be_bytes());
    bytes[24..].copy_from_slice(&place.slot.index.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_core::types::{Bucket, Slot, Version};

    #[test]
    fn every_part_of_a_slots_identity_is_authenticated_at_its_place() {
        let slot = Slot { bucket: Bucket(0x3132_3334_3536_3738), index: 0x4142_4344 };
        let version = Version { epoch: 0x1112_1314, counter: 0x2122_2324_2526_2728 };
        let place = Place { slot, version };
        assert_eq!(&nonce(&place), b"\x21\x22\x23\x24\x25\x26\x27\x28\x41\x42\x43\x44");
        for (format, number) in [(SlotFormat::Counted, 1), (SlotFormat::Salted, 2)] {
            let identity = associated(&place, format);
            assert_eq!(identity[..4], [0, 0, 0, number]);
            assert_eq!(
                &identity[4..],
                b"\x11\x12\x13\x14\x21\x22\x23\x24\x25\x26\x27\x28\
                  \x31\x32\x33\x34\x35\x36\x37\x38\x41\x42\x43\x44"
            );
        }
    }
}
