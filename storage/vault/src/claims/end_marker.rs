//! The marker that a gateway leaves in the store when it stops in an orderly way: a takeover need not wait for that
//! gateway.
//!
//! The marker is one sealed object, which is overwritten at each stop. It contains the epoch that has ended. So an
//! older marker that the untrusted side brings back is only that of an older epoch.

use super::{Claims, MAX_BYTES};
use crate::error::VaultError;
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_store::{BlobError, Blobs};

/// The name of the marker.
pub(crate) const END_MARKER: &str = "ended";

impl<B: Blobs> Claims<'_, B> {
    /// Writes the marker: the gateway of this epoch has ended and answers nothing any more.
    pub(crate) async fn mark_end(&self, epoch: u32, salt: Salt) -> Result<(), VaultError> {
        let (context, cipher) = (self.context(END_MARKER), Cipher::default());
        let sealed =
            blob::seal(self.ring.newest(), Purpose::HEADER, &context, cipher, salt, &epoch.to_le_bytes());
        Ok(self.blobs.put(END_MARKER, &sealed).await?)
    }

    /// Returns whether the gateway of this epoch has left its marker. If the marker is missing or damaged, the gateway
    /// may still be running.
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

    /// Reseals the marker, if it is of an epoch of the earlier key.
    pub(crate) async fn reseal_end_marker(&self, salt: Salt) -> Result<(), VaultError> {
        self.reseal_object(END_MARKER, self.ring.last_earlier_epoch(), salt).await
    }
}
