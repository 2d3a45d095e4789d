//! The arrays that an ORAM is compared with: one that hides nothing, and one that hides contents only.

use super::super::BenchError;
use super::target::Target;
use ameles_core::store::Place;
use ameles_core::types::{Bucket, Slot, Version};
use ameles_seal::cipher::{Cipher, CipherKey, KEY_BYTES, TAG_BYTES};
use ameles_seal::identity::{associated, nonce};
use ameles_seal::slot_format::SlotFormat;
use rand_core::{OsRng, TryRngCore};

/// An array of blocks: an access is one copy.
pub(super) struct PlainArray {
    block_bytes: usize,
    bytes: Vec<u8>,
}

impl PlainArray {
    pub(super) fn new(capacity: u64, block_bytes: u32) -> Self {
        // Written, not only reserved: a page that was never touched costs nothing to read.
        PlainArray {
            block_bytes: block_bytes as usize,
            bytes: vec![7; capacity as usize * block_bytes as usize],
        }
    }
}

impl Target for PlainArray {
    fn access(&mut self, block: u64, write: bool, buffer: &mut [u8]) -> Result<(), BenchError> {
        let at = block as usize * self.block_bytes;
        let slot = &mut self.bytes[at..at + self.block_bytes];
        if write {
            slot.copy_from_slice(buffer)
        } else {
            buffer.copy_from_slice(slot)
        }
        Ok(())
    }
}

/// An array of blocks that are sealed one by one: an access is one copy and one call of the cipher.
pub(super) struct SealedArray {
    block_bytes: usize,
    key: CipherKey,
    bytes: Vec<u8>,
    versions: Vec<u64>,
    counter: u64,
}

impl SealedArray {
    pub(super) fn new(capacity: u64, block_bytes: u32, cipher: Cipher) -> Result<Self, BenchError> {
        let mut key = [0; KEY_BYTES];
        OsRng.try_fill_bytes(&mut key).map_err(BenchError::failed)?;
        let block_bytes = block_bytes as usize;
        let mut array = SealedArray {
            block_bytes,
            key: CipherKey::new(cipher, &key),
            bytes: vec![0; capacity as usize * (block_bytes + TAG_BYTES)],
            versions: vec![0; capacity as usize],
            counter: 0,
        };
        let mut block = vec![7; block_bytes];
        for at in 0..capacity {
            array.access(at, true, &mut block)?;
        }
        Ok(array)
    }

    fn place(&self, block: u64) -> Place {
        let version = Version { epoch: 1, counter: self.versions[block as usize] };
        Place { slot: Slot { bucket: Bucket(block), index: 0 }, version }
    }
}

impl Target for SealedArray {
    fn access(&mut self, block: u64, write: bool, buffer: &mut [u8]) -> Result<(), BenchError> {
        if write {
            self.counter += 1;
            self.versions[block as usize] = self.counter;
        }
        let place = self.place(block);
        let at = block as usize * (self.block_bytes + TAG_BYTES);
        let slot = &mut self.bytes[at..at + self.block_bytes + TAG_BYTES];
        let (text, tag) = slot.split_last_chunk_mut::<TAG_BYTES>().expect("a sealed block holds a tag");
        if write {
            text.copy_from_slice(buffer);
            *tag = self.key.seal(&nonce(&place), &associated(&place, SlotFormat::Counted), text);
            Ok(())
        } else {
            buffer.copy_from_slice(text);
            self.key
                .open(&nonce(&place), &associated(&place, SlotFormat::Counted), buffer, tag)
                .map_err(BenchError::failed)
        }
    }
}
