//! A master key from a passphrase (Argon2id, RFC 9106).

use crate::master_key::MasterKey;
use argon2::{Algorithm, Argon2, Params, Version};
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::CryptoRng;

/// The public parameters that are needed to derive the key from the passphrase again.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PassphraseHeader {
    /// Memory of one derivation, in KiB.
    pub memory_kib: u32,
    /// The number of passes over that memory.
    pub passes: u32,
    /// The number of lanes that can be computed in parallel.
    pub lanes: u32,
    /// The salt, drawn for this vault.
    pub salt: [u8; 32],
}

/// The reason why no key was derived from a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassphraseError {
    /// An empty passphrase does not protect anything.
    #[error("the passphrase is empty")]
    Empty,
    /// The header requests less work than is safe or more than a machine can do: it was changed or is damaged.
    #[error(
        "the passphrase header was changed or is damaged: it asks for {memory_kib} KiB, {passes} passes and {lanes} lanes; \
         accepted are {min_kib} to {max_kib} KiB, 2 to 64 passes and 1 to 64 lanes",
        min_kib = PassphraseHeader::MIN_MEMORY_KIB, max_kib = PassphraseHeader::MAX_MEMORY_KIB
    )]
    Parameters {
        /// The requested memory, in KiB.
        memory_kib: u32,
        /// The number of requested passes.
        passes: u32,
        /// The number of requested lanes.
        lanes: u32,
    },
}

impl PassphraseHeader {
    /// The least memory accepted, in KiB (with two passes, the least that OWASP recommends).
    pub const MIN_MEMORY_KIB: u32 = 19 * 1024;
    /// The most memory accepted, in KiB: a forged header must not exhaust the machine.
    pub const MAX_MEMORY_KIB: u32 = 4 * 1024 * 1024;

    /// RFC 9106's second recommended choice: 64 MiB, 3 passes, 4 lanes, and a fresh salt.
    pub fn draw<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut salt = [0; 32];
        rng.fill_bytes(&mut salt);
        PassphraseHeader { memory_kib: 64 * 1024, passes: 3, lanes: 4, salt }
    }

    /// Derives the key of a passphrase. Takes some tenths of a second, deliberately.
    ///
    /// # Errors
    /// [`PassphraseError`]. A wrong passphrase is not an error: it gives another key
    /// (see [`key_check`](crate::derive::key_check)).
    pub fn master_key(&self, passphrase: &str) -> Result<MasterKey, PassphraseError> {
        if passphrase.is_empty() {
            return Err(PassphraseError::Empty);
        }
        let refusal = PassphraseError::Parameters {
            memory_kib: self.memory_kib,
            passes: self.passes,
            lanes: self.lanes,
        };
        let accepted = (Self::MIN_MEMORY_KIB..=Self::MAX_MEMORY_KIB).contains(&self.memory_kib)
            && (2..=64).contains(&self.passes)
            && (1..=64).contains(&self.lanes);
        if !accepted {
            return Err(refusal);
        }
        let params = Params::new(self.memory_kib, self.passes, self.lanes, None).map_err(|_| refusal)?;
        let mut key = MasterKey::blank();
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.as_bytes(), &self.salt, key.expose_mut())
            .map_err(|_| refusal)?;
        Ok(key)
    }
}
