//! Claims that were made with an earlier key, sealed anew with the newest, so that nothing is left in the store that the
//! earlier one opens.

use super::ended::ENDED;
use super::{Claims, MAX_BYTES, name};
use crate::error::VaultError;
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_store::{BlobError, Blobs};

impl<B: Blobs> Claims<'_, B> {
    /// Seals the claim of an epoch anew. A claim that is gone or spoilt stays as it is: a check tells.
    pub(crate) async fn seal_anew(&self, epoch: u32, salt: Salt) -> Result<(), VaultError> {
        self.seal_object_anew(&name(epoch), epoch, salt).await
    }

    /// Seals the mark of an end anew, if it is of an epoch of the earlier key.
    pub(crate) async fn seal_mark_anew(&self, salt: Salt) -> Result<(), VaultError> {
        self.seal_object_anew(ENDED, self.ring.until(), salt).await
    }

    async fn seal_object_anew(&self, name: &str, epoch: u32, salt: Salt) -> Result<(), VaultError> {
        let held = match self.blobs.get(name, MAX_BYTES).await {
            Ok(Some(held)) => held,
            Ok(None) | Err(BlobError::TooLarge { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let context = self.context(name);
        let is_new = blob::open(self.ring.newest(), Purpose::HEADER, &context, &held).is_ok();
        match self.opens(name, epoch, &held) {
            Some(text) if !is_new => {
                let (newest, cipher) = (self.ring.newest(), Cipher::default());
                let sealed = blob::seal(newest, Purpose::HEADER, &context, cipher, salt, &text);
                Ok(self.blobs.put(name, &sealed).await?)
            }
            _ => Ok(()),
        }
    }
}
