//! The bucket versions in the store, compared with those that the trusted side knows.

use crate::claims::Claims;
use crate::engine::Engine;
use crate::engine::record::{Effect, Record};
use crate::error::VaultError;
use crate::store::VaultStore;
use crate::trusted::checkpoint::Garbage;
use ameles_core::store::BucketVersion;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Bytes, Slot};
use ameles_store::Blobs;
use std::collections::{BTreeMap, BTreeSet};

/// The bucket versions in a store.
#[derive(Default)]
pub(crate) struct Inventory {
    pub(crate) held: BTreeSet<BucketVersion>,
    /// The versions of the wrong size, with their size in the store.
    wrong_size: BTreeMap<BucketVersion, u64>,
}

/// Lists the bucket versions in the store.
pub(crate) async fn list_inventory<U: VaultStore>(store: &U) -> Result<Inventory, VaultError> {
    let mut inventory = Inventory::default();
    let layout = store.layout();
    let mut add = |found, bytes: Bytes| {
        inventory.held.insert(found);
        if !has_expected_size(layout, found, bytes.0) {
            inventory.wrong_size.insert(found, bytes.0);
        }
    };
    store.list_bucket_versions(&mut add).await?;
    Ok(inventory)
}

/// Returns whether a bucket version has the size with which it was written. A version of a bucket outside of the layout
/// counts as right.
pub(crate) fn has_expected_size(layout: &Layout, of: BucketVersion, bytes: u64) -> bool {
    of.bucket.0 >= layout.buckets() || layout.bucket_bytes(of.bucket) as u64 == bytes
}

impl Inventory {
    /// Checks that a bucket version has the size with which it was written, if it is in the store.
    ///
    /// # Errors
    /// [`VaultError::Tampered`].
    pub(crate) fn check_size(&self, layout: &Layout, of: BucketVersion) -> Result<(), VaultError> {
        let Some(bytes) = self.wrong_size.get(&of) else { return Ok(()) };
        let BucketVersion { bucket, version } = of;
        Err(VaultError::Tampered(
            format!(
                "{bucket} ({version}) has {bytes} bytes in the store and was written with {}: it was cut or replaced ({} such \
                 in all). Put the store's own copy back; delete nothing by hand",
                layout.bucket_bytes(bucket),
                self.wrong_size.len(),
            )
            .into(),
        ))
    }
}

/// Checks that every version is of an epoch that was claimed.
///
/// # Errors
/// [`VaultError::Tampered`], or [`VaultError::Displaced`] if the epoch was claimed since.
pub(crate) async fn check_epochs<B: Blobs>(
    inventory: &Inventory,
    claims: &Claims<'_, B>,
    claimed: u32,
) -> Result<(), VaultError> {
    let Some(found) = inventory.held.iter().find(|found| found.version.epoch > claimed) else {
        return Ok(());
    };
    let theirs = found.version.epoch;
    if claims.is_claimed(theirs).await? {
        return Err(VaultError::Displaced { ours: claimed, theirs });
    }
    Err(planted(*found, "is of an epoch that nobody has claimed", ELSEWHERE))
}

/// The advice about a planted version if the trusted folder is at hand.
pub(crate) const REMOVE: &str =
    "it was planted. Delete nothing by hand: `ameles gc --remove` removes it if it is nobody's";
/// The advice if it cannot be known who has written the version.
pub(crate) const UNCLEAR: &str = "it was planted, or this trusted folder is an older copy. Delete nothing by hand: serve with the \
    newest trusted folder, or use `restore --takeover` into an empty --data folder";
/// The advice about a planted version without a trusted folder.
const ELSEWHERE: &str = "it was planted, or the claim was removed. Delete nothing by hand: restore from a copy of the \
    store that lacks this object, and leave the store as it is";

pub(crate) fn planted(
    BucketVersion { bucket, version }: BucketVersion,
    why: &str,
    what_to_do: &str,
) -> VaultError {
    VaultError::Tampered(format!("{bucket} {version} in the store {why}: {what_to_do}").into())
}

/// Checks that the store has every version that the replay of these records reads. Called before the claim: a copy of a
/// folder whose gateway still serves, and has deleted one since, must not displace that gateway.
///
/// # Errors
/// [`VaultError::Tampered`].
pub(crate) fn check_replayed_reads(inventory: &Inventory, records: &[Record]) -> Result<(), VaultError> {
    for announced in records.iter().flat_map(|record| &record.announced) {
        let Effect::Read(places) = &announced.effect else { continue };
        let written = places.iter().filter(|(_, version)| !version.is_never());
        for (Slot { bucket, .. }, version) in written {
            if !inventory.held.contains(&BucketVersion { bucket: *bucket, version: *version }) {
                return Err(VaultError::Tampered(
                    format!(
                        "{bucket} ({version}) is missing from the store: it was removed, or this trusted folder is an \
                         older copy. Delete nothing by hand: serve with the newest trusted folder, or use \
                         `restore --takeover` into an empty --data folder"
                    )
                    .into(),
                ));
            }
        }
    }
    Ok(())
}

/// Checks that everything needed is in the store, and returns the versions that nothing needs.
pub(crate) fn find_unneeded<U: VaultStore>(
    engine: &Engine<U>,
    garbage: &[Garbage],
    inventory: Inventory,
) -> Result<Vec<BucketVersion>, VaultError> {
    let layout = engine.sealed.untrusted().layout();
    let unfinished: BTreeSet<Bucket> = engine.unfinished_buckets().collect();
    let mut needed: BTreeSet<BucketVersion> = garbage.iter().map(|garbage| garbage.written()).collect();
    engine.sealed.with_versions(|versions| {
        for live in versions.live().filter(|live| !unfinished.contains(&live.bucket)) {
            if !inventory.held.contains(&live) {
                return Err(VaultError::Vanished(live.bucket, live.version));
            }
            inventory.check_size(layout, live)?;
            needed.insert(live);
        }
        Ok(())
    })?;
    for kept in garbage.iter().map(|garbage| garbage.written()) {
        if let Err(error) = inventory.check_size(layout, kept) {
            // The vault can continue without it, and need not keep it after the next checkpoint is shipped.
            tracing::warn!(%error, "a replaced bucket that a restore may need is damaged");
        }
    }
    Ok(inventory.held.into_iter().filter(|found| !needed.contains(found)).collect())
}
