//! The ciphers of ring, in C and assembler. It keeps its expanded keys private and does not wipe them.

use super::terms::{Algorithm, Forged, KEY_BYTES, Nonce, TAG_BYTES, Tag};
use ring::aead::{self, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, UnboundKey};

/// An expanded key.
pub(crate) struct Aead(LessSafeKey);

impl Aead {
    pub(crate) fn new(algorithm: Algorithm, key: &[u8; KEY_BYTES]) -> Self {
        let algorithm = match algorithm {
            Algorithm::Aes256Gcm => &AES_256_GCM,
            Algorithm::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        };
        let key = UnboundKey::new(algorithm, key).expect("both algorithms take 32 bytes");
        Aead(LessSafeKey::new(key))
    }

    pub(crate) fn seal(&self, nonce: &Nonce, aad: &[u8], text: &mut [u8]) -> Tag {
        let nonce = aead::Nonce::assume_unique_for_key(*nonce);
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce, Aad::from(aad), text)
            .expect("the text is shorter than the cipher's limit");
        let mut bytes = [0; TAG_BYTES];
        bytes.copy_from_slice(tag.as_ref());
        bytes
    }

    pub(crate) fn open(&self, nonce: &Nonce, aad: &[u8], text: &mut [u8], tag: &Tag) -> Result<(), Forged> {
        let nonce = aead::Nonce::assume_unique_for_key(*nonce);
        self.0
            .open_in_place_separate_tag(nonce, Aad::from(aad), (*tag).into(), text, 0..)
            .map(|_| ())
            .map_err(|_| Forged)
    }
}
