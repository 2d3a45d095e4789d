//! The authenticated ciphers, one expanded key each, in place.

use crate::aead::Aead;
use crate::aead::terms::Algorithm;
use crate::named_enum;
use aegis::aegis128l::Aegis128L;
use aegis::aegis256::Aegis256;
use borsh::{BorshDeserialize, BorshSerialize};
use core::fmt;
use zeroize::Zeroizing;

pub use crate::aead::terms::{Forged, KEY_BYTES, NONCE_BYTES, Nonce, TAG_BYTES, Tag};

/// The choice of the authenticated cipher that seals a vault. Public, and fixed when the vault is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
#[borsh(use_discriminant = true)]
#[repr(u8)]
pub enum Cipher {
    /// AES-256-GCM (NIST SP 800-38D), by ring (without the feature `native`, RustCrypto): the fastest of those in wide
    /// use.
    #[default]
    Aes256Gcm = 0,
    /// ChaCha20-Poly1305 (RFC 8439), by the same: for processors without AES instructions.
    ChaCha20Poly1305 = 1,
    /// AEGIS-128L with a 128-bit tag (CFRG draft), by libaegis: the fastest, with a 128-bit key.
    Aegis128L = 2,
    /// AEGIS-256 with a 128-bit tag (CFRG draft), by libaegis.
    Aegis256 = 3,
}

impl Cipher {
    /// All ciphers.
    pub const ALL: [Cipher; 4] =
        [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305, Cipher::Aegis128L, Cipher::Aegis256];

    /// The name used in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Cipher::Aes256Gcm => "aes-256-gcm",
            Cipher::ChaCha20Poly1305 => "chacha20-poly1305",
            Cipher::Aegis128L => "aegis-128l",
            Cipher::Aegis256 => "aegis-256",
        }
    }

    /// Returns the cipher's number in sealed headers.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The cipher with a number in a sealed header, if there is one.
    pub fn from_number(number: u8) -> Option<Cipher> {
        Cipher::ALL.into_iter().find(|c| c.number() == number)
    }
}

named_enum! {
    Cipher,
    /// The error for an unknown cipher.
    UnknownCipher,
    "unknown cipher; choose aes-256-gcm, chacha20-poly1305, aegis-128l or aegis-256"
}

/// A cipher with its key, expanded once. Neither `seal` nor `open` allocates.
///
/// Keys are wiped when dropped, except those in the crate `ring`, which keeps its expanded keys private and does not
/// wipe them.
pub struct CipherKey {
    inner: Inner,
}

#[expect(
    clippy::large_enum_variant,
    reason = "the largest is the default, and a pointer would cost every slot a look-up"
)]
enum Inner {
    Aead(Aead),
    Aegis128L(Zeroizing<[u8; 16]>),
    Aegis256(Zeroizing<[u8; 32]>),
}

impl CipherKey {
    /// Expands a key.
    pub fn new(cipher: Cipher, key: &[u8; KEY_BYTES]) -> Self {
        let inner = match cipher {
            Cipher::Aes256Gcm => Inner::Aead(Aead::new(Algorithm::Aes256Gcm, key)),
            Cipher::ChaCha20Poly1305 => Inner::Aead(Aead::new(Algorithm::ChaCha20Poly1305, key)),
            Cipher::Aegis128L => {
                let mut half = Zeroizing::new([0; 16]);
                half.copy_from_slice(&key[..16]);
                Inner::Aegis128L(half)
            }
            Cipher::Aegis256 => Inner::Aegis256(Zeroizing::new(*key)),
        };
        CipherKey { inner }
    }

    /// Encrypts `text` in place and returns the tag over it and `aad`, the additional data.
    ///
    /// The caller never uses one nonce for two different texts under one key.
    ///
    /// # Panics
    /// If `text` is longer than the cipher takes at once (64 GiB for AES-GCM, 256 GiB for ChaCha20-Poly1305).
    pub fn seal(&self, nonce: &Nonce, aad: &[u8], text: &mut [u8]) -> Tag {
        match &self.inner {
            Inner::Aead(key) => key.seal(nonce, aad, text),
            Inner::Aegis128L(key) => {
                Aegis128L::<TAG_BYTES>::new(key, &widen(nonce)).encrypt_in_place(text, aad)
            }
            Inner::Aegis256(key) => {
                Aegis256::<TAG_BYTES>::new(key, &widen(nonce)).encrypt_in_place(text, aad)
            }
        }
    }

    /// Checks the tag and decrypts `text` in place.
    ///
    /// # Errors
    /// [`Forged`]; the contents of `text` are then meaningless.
    pub fn open(&self, nonce: &Nonce, aad: &[u8], text: &mut [u8], tag: &Tag) -> Result<(), Forged> {
        match &self.inner {
            Inner::Aead(key) => key.open(nonce, aad, text, tag),
            Inner::Aegis128L(key) => Aegis128L::<TAG_BYTES>::new(key, &widen(nonce))
                .decrypt_in_place(text, tag, aad)
                .map_err(|_| Forged),
            Inner::Aegis256(key) => Aegis256::<TAG_BYTES>::new(key, &widen(nonce))
                .decrypt_in_place(text, tag, aad)
                .map_err(|_| Forged),
        }
    }
}

impl fmt::Debug for CipherKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CipherKey").finish_non_exhaustive()
    }
}

fn widen<const N: usize>(nonce: &Nonce) -> [u8; N] {
    let mut wide = [0; N];
    wide[..NONCE_BYTES].copy_from_slice(nonce);
    wide
}
