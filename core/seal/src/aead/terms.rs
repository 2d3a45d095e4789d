//! Sizes, names and the error type that the ciphers share.

/// The number of bytes that sealing adds to a text: the tag. The nonce is derived from what is sealed and not stored.
pub const TAG_BYTES: usize = 16;

/// The number of bytes of a nonce, for every cipher. AEGIS takes longer ones: the rest is zeros.
pub const NONCE_BYTES: usize = 12;

/// The tag over a text.
pub type Tag = [u8; TAG_BYTES];

/// The nonce of a text, used once under a key.
pub type Nonce = [u8; NONCE_BYTES];

/// The number of bytes of a key, for every cipher. AEGIS-128L uses the first 16.
pub const KEY_BYTES: usize = 32;

/// The tag does not belong to this text, key, nonce and associated data. The text was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not the sealed ones, or were sealed under another key")]
pub struct Forged;

/// The two ciphers that both libraries have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Algorithm {
    Aes256Gcm,
    ChaCha20Poly1305,
}
