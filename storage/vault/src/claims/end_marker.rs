//! The mark that a gateway leaves in the store when it stops in order: a takeover need not wait for it.
//!
//! It is one object, sealed, and overwritten at each stop. It names the epoch that has ended. So an older one that the
//! untrusted side brings back is the mark of an older epoch.

use super::{Claims, MAX_BYTES};
use crate::error::VaultError;
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_store::{BlobError, Blobs};

/// The name of the mark.
pub(crate) const END_MARKER: &str = "ended";

impl<B: Blobs> Claims<'_, B> {
    /// Marks that the gateway of this epoch has ended: it answers nothing any more.
    pub(crate) async fn mark_end(&self, epoch: u32, salt: Salt) -> Result<(), VaultError> {
        let (context, cipher) = (self.context(END_MARKER), Cipher::default());
        let sealed =
            blob::seal(self.ring.newest(), Purpose::HEADER, &context, cipher, salt, &epoch.to_le_bytes());
        Ok(self.blobs.put(END_MARKER, &sealed).await?)
    }

    /// Tells whether the gateway of this epoch has left its mark. Without one, or with a spoilt one, it may be there.
    pub(crate) async fn has_ended(&self, epoch: u32) -> Result<bool, VaultError> {
        match self.blobs.get(END_MARKER, MAX_BYTES).await {
            Ok(Some(sealed)) => {
                let opened = self.opens(END_MARKER, epoch, &sealed);
                Ok(opened.is_some_and(|of| of == epoch.to_le_bytes()))
            }
            Ok(None) | Err(BlobError::TooLarge { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Seals the mark of an end anew, if it is of an epoch of the earlier key.
    pub(crate) async fn reseal_end_marker(&self, salt: Salt) -> Result<(), VaultError> {
        self.reseal_object(END_MARKER, self.ring.until(), salt).await
    }
}
