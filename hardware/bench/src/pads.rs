//! The pads of the controller: AES-128 of the IV, the bucket and the number of the chunk.

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};

/// The part of a bucket that a pad hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Header,
    Body,
}

/// Pads under a key.
pub(crate) struct Pads {
    cipher: Aes128,
}

impl Pads {
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        Pads { cipher: Aes128::new(key.into()) }
    }

    /// Encrypts or decrypts a part of a bucket.
    pub(crate) fn apply(&self, part: Part, iv: u64, bucket: u64, bytes: &mut [u8]) {
        for (chunk, bytes) in bytes.chunks_mut(16).enumerate() {
            let mut pad = aes::Block::default();
            // The highest bit separates pads from leaves.
            let domain = 1 << 31 | u32::from(part == Part::Body) << 30;
            pad[..8].copy_from_slice(&iv.to_le_bytes());
            pad[8..12].copy_from_slice(&(bucket as u32).to_le_bytes());
            pad[12..].copy_from_slice(&(chunk as u32 | domain).to_le_bytes());
            self.cipher.encrypt_block(&mut pad);
            bytes.iter_mut().zip(pad.iter()).for_each(|(byte, pad)| *byte ^= pad);
        }
    }
}
