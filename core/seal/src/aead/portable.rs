//! With RustCrypto: pure Rust, for targets without a C compiler. Its keys are wiped when dropped.

use super::terms::{Algorithm, Forged, KEY_BYTES, NONCE_BYTES, TAG_BYTES};
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
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

    pub(crate) fn seal(
        &self,
        nonce: &[u8; NONCE_BYTES],
        associated: &[u8],
        text: &mut [u8],
    ) -> [u8; TAG_BYTES] {
        let nonce: &Nonce<_> = nonce.into();
        let tag = match self {
            Aead::Aes256Gcm(key) => key.encrypt_inout_detached(nonce, associated, text.into()),
            Aead::ChaCha20Poly1305(key) => key.encrypt_inout_detached(nonce, associated, text.into()),
        };
        tag.expect("the text is shorter than the cipher's limit").into()
    }

    pub(crate) fn open(
        &self,
        nonce: &[u8; NONCE_BYTES],
        associated: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Forged> {
        let (nonce, tag): (&Nonce<_>, &Tag) = (nonce.into(), tag.into());
        let opened = match self {
            Aead::Aes256Gcm(key) => key.decrypt_inout_detached(nonce, associated, text.into(), tag),
            Aead::ChaCha20Poly1305(key) => key.decrypt_inout_detached(nonce, associated, text.into(), tag),
        };
        opened.map_err(|_| Forged)
    }
}
