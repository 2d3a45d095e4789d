//! The ciphers of RustCrypto, in pure Rust, for targets without a C compiler. Keys are wiped when they are dropped.

use super::terms::{Algorithm, Forged, KEY_BYTES, Nonce, Tag};
use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use chacha20poly1305::ChaCha20Poly1305;

/// An expanded key.
#[allow(
    clippy::large_enum_variant,
    reason = "the largest is the default, and a pointer would cost every slot a look-up"
)]
pub(crate) enum Aead {
    Aes256Gcm(Aes256Gcm),
    ChaCha20Poly1305(ChaCha20Poly1305),
}

impl Aead {
    pub(crate) fn new(algorithm: Algorithm, key: &[u8; KEY_BYTES]) -> Self {
        match algorithm {
            Algorithm::Aes256Gcm => Aead::Aes256Gcm(Aes256Gcm::new(key.into())),
            Algorithm::ChaCha20Poly1305 => Aead::ChaCha20Poly1305(ChaCha20Poly1305::new(key.into())),
        }
    }

    pub(crate) fn seal(&self, nonce: &Nonce, aad: &[u8], text: &mut [u8]) -> Tag {
        let nonce: &aes_gcm::Nonce<_> = nonce.into();
        let tag = match self {
            Aead::Aes256Gcm(key) => key.encrypt_inout_detached(nonce, aad, text.into()),
            Aead::ChaCha20Poly1305(key) => key.encrypt_inout_detached(nonce, aad, text.into()),
        };
        tag.expect("the text is shorter than the cipher's limit").into()
    }

    pub(crate) fn open(&self, nonce: &Nonce, aad: &[u8], text: &mut [u8], tag: &Tag) -> Result<(), Forged> {
        let (nonce, tag): (&aes_gcm::Nonce<_>, &aes_gcm::Tag) = (nonce.into(), tag.into());
        let opened = match self {
            Aead::Aes256Gcm(key) => key.decrypt_inout_detached(nonce, aad, text.into(), tag),
            Aead::ChaCha20Poly1305(key) => key.decrypt_inout_detached(nonce, aad, text.into(), tag),
        };
        opened.map_err(|_| Forged)
    }
}
