//! The keys of single slots: sub-keys, used as the format requires.
//!
//! # Salted
//! A sub-key gives three keys. To seal a slot with identity `place` and text `plain`:
//!
//! ```text
//! digest  = tag of sealing plain under the digest key, with place as its nonce; the ciphertext is discarded
//! salt    = first 128 bits of HMAC-SHA256(salt key, fresh ‖ place ‖ digest)
//! sealed  = salt ‖ plain sealed under the key HMAC-SHA256(root, salt), with place as its nonce
//! ```
//!
//! A copy of the process has the same sub-keys and counters. Its salts differ as soon as `fresh` or the plaintext
//! differs. Two texts shorter than 4 GiB have the same digest with a probability below 2^-75. GHASH and Poly1305 are
//! universal hashes, and AEGIS's tag is assumed to be one. The digest never leaves the process. With all three the
//! same, the sealed bytes are the same, and nothing else is revealed.

use crate::cipher::{Cipher, CipherKey, Forged, TAG_BYTES};
use crate::derive::{DerivedKey, expand};
use crate::identity::{associated, nonce};
use crate::slot_format::{Fresh, SALT_BYTES, SlotFormat};
use ameles_core::store::Place;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// A sub-key, expanded.
#[expect(
    clippy::large_enum_variant,
    reason = "the larger is the one that vaults use, and a pointer would cost every slot a look-up"
)]
pub(crate) enum SlotKey {
    Counted(CipherKey),
    Salted(SaltedKey),
}

impl SlotKey {
    pub(crate) fn new(format: SlotFormat, cipher: Cipher, key: &DerivedKey) -> Self {
        match format {
            SlotFormat::Counted => SlotKey::Counted(CipherKey::new(cipher, key)),
            SlotFormat::Salted => SlotKey::Salted(SaltedKey::new(cipher, key)),
        }
    }

    /// Seals `plain` into `sealed`, which is longer by what the format adds.
    pub(crate) fn seal(&self, place: &Place, fresh: &Fresh, plain: &[u8], sealed: &mut [u8]) {
        match self {
            SlotKey::Counted(key) => seal_under(key, place, SlotFormat::Counted, plain, sealed),
            SlotKey::Salted(keys) => {
                let (kept, sealed) = sealed.split_at_mut(SALT_BYTES);
                let salt = keys.salt(place, fresh, plain, &mut sealed[..plain.len()]);
                kept.copy_from_slice(&salt);
                seal_under(&keys.of(&salt), place, SlotFormat::Salted, plain, sealed);
            }
        }
    }

    /// Opens `sealed` in place, and returns the range of the plaintext in it.
    ///
    /// # Errors
    /// [`Forged`]; the contents of `sealed` are then meaningless.
    pub(crate) fn open<'a>(&self, place: &Place, sealed: &'a mut [u8]) -> Result<&'a [u8], Forged> {
        match self {
            SlotKey::Counted(key) => open_under(key, place, SlotFormat::Counted, sealed),
            SlotKey::Salted(keys) => {
                let (salt, sealed) = sealed.split_first_chunk_mut().ok_or(Forged)?;
                open_under(&keys.of(salt), place, SlotFormat::Salted, sealed)
            }
        }
    }
}

/// The keys of the salted format. Wiped when dropped, like [`CipherKey`].
pub(crate) struct SaltedKey {
    cipher: Cipher,
    digest: CipherKey,
    salt: Hmac<Sha256>,
    root: Hmac<Sha256>,
}

impl SaltedKey {
    fn new(cipher: Cipher, key: &DerivedKey) -> Self {
        let of = |purpose: &[u8]| expand(key, &[b"ameles/2/slot-", purpose]);
        let hmac =
            |purpose| Hmac::<Sha256>::new_from_slice(of(purpose).as_slice()).expect("any length works");
        SaltedKey {
            cipher,
            digest: CipherKey::new(cipher, &of(b"digest")),
            salt: hmac(b"salt"),
            root: hmac(b"root"),
        }
    }

    /// The salt of a slot. `scratch` is as long as `plain`, and is overwritten.
    fn salt(&self, place: &Place, fresh: &Fresh, plain: &[u8], scratch: &mut [u8]) -> [u8; SALT_BYTES] {
        scratch.copy_from_slice(plain);
        let identity = associated(place, SlotFormat::Salted);
        let digest = self.digest.seal(&nonce(place), &identity, scratch);
        let mut mac = self.salt.clone();
        [&fresh.0[..], &identity, &digest].into_iter().for_each(|part| mac.update(part));
        let full = Zeroizing::new(<[u8; 32]>::from(mac.finalize().into_bytes()));
        *full.first_chunk().expect("16 of 32 bytes")
    }

    fn of(&self, salt: &[u8; SALT_BYTES]) -> CipherKey {
        let mac = self.root.clone().chain_update(salt);
        CipherKey::new(self.cipher, &Zeroizing::new(mac.finalize().into_bytes().into()))
    }
}

fn seal_under(key: &CipherKey, place: &Place, format: SlotFormat, plain: &[u8], sealed: &mut [u8]) {
    let (text, tag) = sealed.split_at_mut(plain.len());
    text.copy_from_slice(plain);
    tag.copy_from_slice(&key.seal(&nonce(place), &associated(place, format), text));
}

fn open_under<'a>(
    key: &CipherKey,
    place: &Place,
    format: SlotFormat,
    sealed: &'a mut [u8],
) -> Result<&'a [u8], Forged> {
    let (text, tag) = sealed.split_last_chunk_mut::<TAG_BYTES>().ok_or(Forged)?;
    key.open(&nonce(place), &associated(place, format), text, tag)?;
    Ok(text)
}
