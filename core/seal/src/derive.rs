//! Keys, one for each purpose, from the master key and a public salt (HKDF-SHA256, RFC 5869).
//!
//! Keys are wiped when they are dropped; the hash's own state, while it derives them, is not.

use crate::master_key::MasterKey;
use borsh::{BorshDeserialize, BorshSerialize};
use core::fmt;
use hkdf::Hkdf;
use rand_core::CryptoRng;
use sha2::Sha256;
use zeroize::Zeroizing;

/// A public 32-byte random value that makes a derived key a fresh one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Salt(pub [u8; 32]);

impl Salt {
    /// Draws a salt. Two draws are equal with probability 2^-256.
    pub fn draw<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        Salt(draw_bytes(rng))
    }
}

/// Draws random bytes.
pub(crate) fn draw_bytes<const N: usize, R: CryptoRng + ?Sized>(rng: &mut R) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Salt({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

/// The purpose of a key. Keys of different purposes are unrelated, even under the same salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Purpose(&'static str);

impl Purpose {
    /// Sealing of slots; every epoch and sub-key is derived further.
    pub const SLOTS: Purpose = Purpose("slots");
    /// Checkpoints of trusted state.
    pub const CHECKPOINT: Purpose = Purpose("checkpoint");
    /// The blocks of a stash on the trusted disk.
    pub const STASH: Purpose = Purpose("stash");
    /// The list of the pieces of a shipped checkpoint.
    pub const MANIFEST: Purpose = Purpose("manifest");
    /// Records of the journal.
    pub const JOURNAL: Purpose = Purpose("journal");
    /// The gateway's table of rows.
    pub const ROWS: Purpose = Purpose("rows");
    /// Receipts, by which a later opening recognises the newest state.
    pub const RECEIPT: Purpose = Purpose("receipt");
    /// A vault's header and its claims of epochs.
    pub const HEADER: Purpose = Purpose("header");
    /// Credentials of a gateway.
    pub const CREDENTIALS: Purpose = Purpose("credentials");
    /// The seed of a scheme's randomness.
    pub const RANDOMNESS: Purpose = Purpose("randomness");
    /// The public value that distinguishes a wrong master key from a damaged vault.
    pub const KEY_CHECK: Purpose = Purpose("key-check");

    /// A purpose of the caller's own. Its label differs from every other.
    pub const fn named(label: &'static str) -> Purpose {
        Purpose(label)
    }
}

/// A key derived from the master key. Wiped when dropped.
pub type DerivedKey = Zeroizing<[u8; 32]>;

/// Derives the key of `purpose` under `salt`. `context` is what else the key is bound to (a vault, a name).
pub fn derive(master: &MasterKey, purpose: Purpose, salt: &Salt, context: &[u8]) -> DerivedKey {
    let label = purpose.0.as_bytes();
    // The length separates (label, context) pairs with any bytes.
    let length = (label.len() as u64).to_be_bytes();
    let mut key = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(Some(&salt.0), master.expose())
        .expand_multi_info(&[b"ameles/1/", &length, label, context], &mut *key)
        .expect("32 bytes are within HKDF's limit");
    key
}

/// A public value that depends on the master key. If it differs from the one stored with a vault, the key is wrong, and
/// the vault is not damaged. It reveals nothing about any other derived key.
pub fn key_check(master: &MasterKey, salt: &Salt) -> [u8; 16] {
    let key = derive(master, Purpose::KEY_CHECK, salt, &[]);
    let mut check = [0; 16];
    check.copy_from_slice(&key[..16]);
    check
}

/// The pseudorandom key from which the sub-keys of one salt are expanded (HKDF's extract step).
pub(crate) fn extract(root: &DerivedKey, salt: &Salt) -> DerivedKey {
    let (prk, _) = Hkdf::<Sha256>::extract(Some(&salt.0), root.as_slice());
    Zeroizing::new(prk.into())
}

/// Expands a sub-key (HKDF's expand step).
pub(crate) fn expand(prk: &DerivedKey, info: &[&[u8]]) -> DerivedKey {
    let mut key = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::from_prk(prk.as_slice())
        .expect("the pseudorandom key is as long as the hash")
        .expand_multi_info(info, &mut *key)
        .expect("32 bytes are within HKDF's limit");
    key
}
