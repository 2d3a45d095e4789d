//! The bucket versions that the store holds, held against those that the trusted side knows.

use crate::claims::Claims;
use crate::engine::Engine;
use crate::error::VaultError;
use crate::store::VaultStore;
use crate::trusted::checkpoint::Garbage;
use lethe_core::store::BucketVersion;
use lethe_core::words::Bucket;
use lethe_store::Blobs;
use std::collections::BTreeSet;

/// The bucket versions that a store holds.
pub(crate) type Inventory = BTreeSet<BucketVersion>;

/// Lists the bucket versions that the store holds.
pub(crate) async fn take_inventory<U: VaultStore>(store: &U) -> Result<Inventory, VaultError> {
    let mut inventory = Inventory::new();
    store.list_bucket_versions(&mut |found, _| inventory.extend([found])).await?;
    Ok(inventory)
}

/// Refuses an inventory in which something belongs to no epoch that was ever claimed.
///
/// # Errors
/// [`VaultError::Tampered`], or [`VaultError::Displaced`] if the epoch was claimed since.
pub(crate) async fn refuse_planted<B: Blobs>(
    inventory: &Inventory,
    claims: &Claims<'_, B>,
    claimed: u32,
) -> Result<(), VaultError> {
    let Some(found) = inventory.iter().find(|found| found.version.epoch > claimed) else { return Ok(()) };
    let theirs = found.version.epoch;
    if claims.is_claimed(theirs).await? {
        return Err(VaultError::Displaced { ours: claimed, theirs });
    }
    Err(planted(*found, "is of an epoch that nobody has claimed", ELSEWHERE))
}

/// The advice for a planted version, with the trusted folder at hand.
pub(crate) const REMOVE: &str =
    "it was planted. Delete nothing by hand: `lethe orphans --remove` removes it if it is nobody's";
/// The advice if nothing can tell who has written the version.
pub(crate) const UNCLEAR: &str = "it was planted, or this trusted folder is an older copy. Delete nothing by hand: serve with the \
    newest trusted folder, or use `restore --takeover` into an empty --data folder";
/// The advice without a trusted folder.
const ELSEWHERE: &str = "it was planted, or the claim was removed. Delete nothing by hand: restore from a copy of the \
    store that lacks this object, and leave the store as it is";

pub(crate) fn planted(
    BucketVersion { bucket, version }: BucketVersion,
    why: &str,
    what_to_do: &str,
) -> VaultError {
    VaultError::Tampered(format!("{bucket} {version} in the store {why}: {what_to_do}").into())
}

/// Checks that everything needed is in the store, and returns the versions that are not needed.
pub(crate) fn sort_out<U: VaultStore>(
    engine: &Engine<U>,
    garbage: &[Garbage],
    inventory: Inventory,
) -> Result<Vec<BucketVersion>, VaultError> {
    let unfinished: BTreeSet<Bucket> = engine.unfinished_buckets().collect();
    let mut needed: BTreeSet<BucketVersion> = garbage.iter().map(|garbage| garbage.written()).collect();
    engine.sealed.with_versions(|versions| {
        for live in versions.live().filter(|live| !unfinished.contains(&live.bucket)) {
            if !inventory.contains(&live) {
                return Err(VaultError::Vanished(live.bucket, live.version));
            }
            needed.insert(live);
        }
        Ok(())
    })?;
    Ok(inventory.into_iter().filter(|found| !needed.contains(found)).collect())
}
