//! The check of a bucket version in the store that is newer than all versions that the trusted disk knows.
//!
//! Most likely another gateway has continued with the vault, and the trusted disk is an earlier copy. There are two
//! signs of that: a claim of the version's epoch, or a slot that opens. Only a holder of the key can make them. A
//! version with neither sign was planted by somebody who can write to the store.

use super::persisted_state::PersistedState;
use crate::claims::Claims;
use crate::engine::record::Input;
use crate::engine::work::Work;
use crate::engine::work::execute;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::store::VaultStore;
use ameles_core::store::BucketVersion;
use ameles_core::types::{Slot, Version};
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, VersionedSlot};

/// The origin of a newer version without a sign of another gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The version was written by somebody without the key, for this reason.
    Planted(&'static str),
    /// A version of an epoch in which this disk has claimed but not written. Either it was planted, or the disk is a
    /// copy that was made between the claim and the first record, and the original continued. No known key can
    /// distinguish the two cases.
    Unclear,
}

/// Classifies newer versions, for one trusted disk.
pub(crate) struct NewerVersionCheck<'a, U> {
    sealed: Sealed<&'a U>,
    claims: Claims<'a, U>,
    buckets: u64,
    known: Version,
    claimed: u32,
}

impl<'a, U: VaultStore> NewerVersionCheck<'a, U> {
    /// A check for the gateway that has this trusted state, and that has claimed the epochs up to `claimed`.
    pub(crate) fn new(store: &'a U, persisted: &PersistedState, claimed: u32) -> Result<Self, VaultError> {
        let PersistedState { header, ring, state, records, known, .. } = persisted;
        let cipher = header.parameters.cipher()?;
        // The check only reads: it seals nothing.
        let nonces = Entropy::system().nonces();
        let sealed = Sealed::new(store, ring, cipher, nonces, state.versions.clone(), SealThreads::single())?;
        for record in records {
            if let Input::Epoch(epoch, _) = record.input {
                sealed.replay_epoch(epoch)?;
            }
        }
        let claims = Claims { blobs: store, ring: ring.clone(), vault: header.vault };
        let buckets = header.parameters.layout().buckets();
        Ok(NewerVersionCheck { sealed, claims, buckets, known: *known, claimed })
    }

    /// Finds out the origin of a newer version.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] or [`VaultError::StaleTrustedState`] if it comes from another gateway of this vault,
    /// and those of the store.
    pub(crate) async fn classify(&self, newer: BucketVersion) -> Result<Origin, VaultError> {
        let theirs = newer.version.epoch;
        if theirs > self.known.epoch {
            if theirs <= self.claimed {
                return Ok(Origin::Unclear);
            }
            // It may have been claimed after the claims were listed.
            if self.claims.is_claimed(theirs).await? {
                return Err(VaultError::Displaced { ours: self.known.epoch, theirs });
            }
            return Ok(Origin::Planted("is of an epoch that nobody has claimed"));
        }
        if newer.bucket.0 >= self.buckets {
            return Ok(Origin::Planted("is of no bucket of this vault"));
        }
        if self.opens(newer).await? {
            return Err(VaultError::StaleTrustedState(format!(
                "the store holds {}, and the newest known here is {}",
                newer.version, self.known
            )));
        }
        Ok(Origin::Planted("was not made with this vault's key"))
    }

    /// Returns whether any slot of the version opens: then a holder of the key has written it.
    async fn opens(&self, of: BucketVersion) -> Result<bool, VaultError> {
        for index in 0..self.sealed.layout().extent(of.bucket).slots {
            let slot = Slot { bucket: of.bucket, index };
            let read = Work::Read(vec![VersionedSlot { slot, version: of.version }], Vec::new());
            match execute(&self.sealed, read).await.map_err(VaultError::from) {
                Ok(_) => return Ok(true),
                Err(error) if error.is_tampering() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}
