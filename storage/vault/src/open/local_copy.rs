//! The local copy of the buckets of a checkpoint. An interrupted restore leaves it, and the next one fetches only what
//! is missing in it. Its errors are faults of this machine, not of the provider's store.

use super::in_flight::buckets_in_flight;
use super::inventory::list_inventory;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::store::VaultStore;
use crate::trusted::header::VaultHeader;
use ameles_core::store::{BucketVersion, Place, Untrusted};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Slot;
use ameles_seal::error::SealError;
use ameles_seal::key_ring::KeyRing;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, VersionedSlot};
use ameles_seal::versions::TrustedVersions;
use futures::stream::{self, StreamExt, TryStreamExt};
use std::collections::BTreeSet;

/// Converts an error of the local copy.
pub(super) fn local_copy_error(error: impl Into<VaultError>) -> VaultError {
    match error.into() {
        VaultError::StoreFull => VaultError::LocalCopy("it is full".into()),
        VaultError::Refused(why) | VaultError::Unavailable(why) => VaultError::LocalCopy(why),
        other => other,
    }
}

/// A local copy, with the buckets that it held at first.
pub(super) struct LocalCopy<'a, L> {
    copy: &'a L,
    /// The buckets of the checkpoint that an interrupted restore has fetched.
    held: BTreeSet<BucketVersion>,
}

impl<'a, L: VaultStore> LocalCopy<'a, L> {
    /// Lists what the copy holds of a checkpoint with these versions, and deletes everything else in it.
    ///
    /// # Errors
    /// [`VaultError::LocalCopy`].
    pub(super) async fn open(copy: &'a L, versions: &TrustedVersions) -> Result<Self, VaultError> {
        copy.sweep_unfinished().await.map_err(local_copy_error)?;
        let inventory = list_inventory(copy).await.map_err(local_copy_error)?;
        let layout = copy.layout();
        let is_live = |at: &BucketVersion| {
            at.bucket.0 < versions.buckets()
                && versions.version(at.bucket) == at.version
                && inventory.check_size(layout, *at).is_ok()
        };
        let (held, stale): (BTreeSet<_>, BTreeSet<_>) = inventory.held.iter().copied().partition(is_live);
        let stale: Vec<BucketVersion> = stale.into_iter().collect();
        Untrusted::delete(copy, &stale).await.map_err(local_copy_error)?;
        Ok(LocalCopy { copy, held })
    }

    /// The number of bytes that must still be fetched, if everything in the copy is authentic.
    pub(super) fn missing_bytes(&self, versions: &TrustedVersions) -> u64 {
        let missing = versions.live().filter(|live| !self.held.contains(live));
        missing.map(|live| self.copy.layout().bucket_bytes(live.bucket) as u64).sum()
    }

    /// Copies the buckets of the checkpoint from the store, in the order of their numbers. A bucket in the copy that
    /// does not open is fetched again. `progress` gets the number of bytes in the copy, and the number of bytes of all
    /// buckets.
    ///
    /// # Errors
    /// [`VaultError::LocalCopy`], tampering, and the errors of the store.
    pub(super) async fn fetch<U: Untrusted>(
        &self,
        store: &U,
        (header, ring): (&VaultHeader, &KeyRing),
        versions: &TrustedVersions,
        progress: &dyn Fn(&'static str, u64, u64),
    ) -> Result<(), VaultError> {
        let cipher = header.parameters.cipher()?;
        // It only reads: it seals nothing.
        let nonces = Entropy::system().nonces();
        let opener = &Sealed::new(self.copy, ring, cipher, nonces, versions.clone(), SealThreads::single())?;
        let layout = store.layout();
        let fetch = async |live: BucketVersion| {
            if self.held.contains(&live) {
                if is_authentic(opener, live).await? {
                    return Ok(live);
                }
                Untrusted::delete(self.copy, &[live]).await.map_err(local_copy_error)?;
            }
            let mut sealed = vec![0; layout.bucket_bytes(live.bucket)];
            Untrusted::read(store, &places(layout, live), &mut sealed).await?;
            Untrusted::write(self.copy, &[live], &sealed).await.map_err(local_copy_error)?;
            Ok::<_, VaultError>(live)
        };
        let live: Vec<BucketVersion> = versions.live().collect();
        let bytes = |live: &BucketVersion| layout.bucket_bytes(live.bucket) as u64;
        let (mut done, all) = (0, live.iter().map(bytes).sum());
        // Requests leave in the order of the buckets. Some of them overlap.
        let mut fetched = stream::iter(live.into_iter().map(fetch)).buffered(buckets_in_flight(layout));
        while let Some(live) = fetched.try_next().await? {
            done += bytes(&live);
            progress("fetching", done, all);
        }
        Ok(())
    }
}

fn places(layout: &Layout, BucketVersion { bucket, version }: BucketVersion) -> Vec<Place> {
    let slots = 0..layout.extent(bucket).slots;
    slots.map(|index| Place { slot: Slot { bucket, index }, version }).collect()
}

/// Returns whether every slot of a bucket in the copy opens.
async fn is_authentic<L: Untrusted>(opener: &Sealed<&L>, live: BucketVersion) -> Result<bool, VaultError> {
    let slots: Vec<VersionedSlot> = places(opener.layout(), live)
        .into_iter()
        .map(|Place { slot, version }| VersionedSlot { slot, version })
        .collect();
    let mut plaintext = vec![0; opener.layout().bucket_bytes(live.bucket)];
    match opener.read_places(&slots, &mut plaintext).await {
        Ok(()) => Ok(true),
        Err(SealError::Forged(_) | SealError::Missing(_) | SealError::Truncated(_)) => Ok(false),
        Err(other) => Err(local_copy_error(other)),
    }
}
