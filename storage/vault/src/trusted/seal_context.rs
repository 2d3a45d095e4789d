//! The context for sealing trusted state: the vault, its key, and the source of salts.

use super::header::VaultHeader;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::master_key::MasterKey;

/// The header and the key that trusted state is sealed with.
pub(crate) struct SealContext<'a> {
    pub(crate) header: &'a VaultHeader,
    pub(crate) master: &'a MasterKey,
    pub(crate) entropy: &'a mut Entropy,
}

impl SealContext<'_> {
    /// Seals a part of a checkpoint under its name.
    pub(crate) fn seal(
        &mut self,
        text: &impl borsh::BorshSerialize,
        name: &str,
    ) -> Result<Vec<u8>, VaultError> {
        let text = borsh::to_vec(text).map_err(|error| VaultError::Damaged(ErrorReason::of(error)))?;
        let (cipher, salt) = (self.header.parameters.cipher()?, self.entropy.salt());
        Ok(blob::seal(self.master, Purpose::CHECKPOINT, &context(self.header, name), cipher, salt, &text))
    }
}

/// The context under which an object is sealed: the vault and the object's name.
pub(crate) fn context(header: &VaultHeader, name: &str) -> Vec<u8> {
    [header.vault.0.as_slice(), name.as_bytes()].concat()
}
