//! With ring: C and assembler. It keeps its expanded keys private and does not wipe them.

use super::terms::{Algorithm, Forged, KEY_BYTES, NONCE_BYTES, TAG_BYTES};
use ring::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

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

    pub(crate) fn seal(
        &self,
        nonce: &[u8; NONCE_BYTES],
        associated: &[u8],
        text: &mut [u8],
    ) -> [u8; TAG_BYTES] {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce, Aad::from(associated), text)
            .expect("the text is shorter than the cipher's limit");
        let mut bytes = [0; TAG_BYTES];
        bytes.copy_from_slice(tag.as_ref());
        bytes
    }

    pub(crate) fn open(
        &self,
        nonce: &[u8; NONCE_BYTES],
        associated: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Forged> {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        self.0
            .open_in_place_separate_tag(nonce, Aad::from(associated), (*tag).into(), text, 0..)
            .map(|_| ())
            .map_err(|_| Forged)
    }
}
