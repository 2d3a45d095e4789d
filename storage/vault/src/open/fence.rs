//! The fence between this opening and every other. It checks that nothing in the store is newer than what the trusted
//! disk knows, that nothing is missing that the journal reads again, and claims an epoch.

use super::inventory::{Inventory, REMOVE, UNCLEAR, check_replayed_reads, list_inventory, planted};
use super::log::{KnownLog, check_log};
use super::newer_versions::{NewerVersionCheck, Origin};
use super::persisted_state::PersistedState;
use crate::claims::Claims;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::lease::holder::{predecessor_is_gone, record_holder};
use crate::lease::{Host, Lease, LeaseTerm};
use crate::session::ShippingNotes;
use crate::store::VaultStore;
use crate::trusted::disk::TrustedDisk;
use ameles_core::store::{BucketVersion, Untrusted};
use ameles_seal::epoch::Epoch;
use tokio::time::Instant;

/// The claimed epoch of an opening, and what the store held before the claim.
pub(crate) struct ClaimedEpoch {
    pub(crate) epoch: Epoch,
    pub(crate) inventory: Inventory,
    pub(crate) lease_term: LeaseTerm,
    /// The journal in the store, if the vault has one.
    pub(super) log: Option<KnownLog>,
}

/// Claims an epoch for this opening.
///
/// # Errors
/// [`VaultError::Displaced`], [`VaultError::StaleTrustedState`], tampering, and the errors of disk and store.
pub(crate) async fn fence<U: VaultStore>(
    disk: &TrustedDisk,
    store: &U,
    persisted: &PersistedState,
    entropy: &mut Entropy,
    host: &Host,
) -> Result<ClaimedEpoch, VaultError> {
    let (vault, known) = (persisted.header.vault, persisted.known);
    let claims = Claims { blobs: store, ring: persisted.ring.clone(), vault };
    // Checked before the claim: an older copy that is refused must not displace the gateway that it is a copy of.
    let claimed = claims.ours(disk, known.epoch).await?;
    let log = if persisted.header.parameters.journal.is_in_store() {
        Some(check_log(disk, store, persisted, claimed).await?)
    } else {
        None
    };
    let is_alone = predecessor_is_gone(disk, host, &claims, claimed).await?;
    // Only the claim follows this list: the gateway whose folder this one is a copy of may write and delete in between.
    let inventory = list_inventory(store).await?;
    if let Some(newer) = inventory.held.iter().find(|found| found.version > known) {
        return Err(match NewerVersionCheck::new(store, persisted, claimed)?.classify(*newer).await? {
            Origin::Planted(why) => planted(*newer, why, REMOVE),
            Origin::Unclear => {
                planted(*newer, "is of an epoch in which this vault has written nothing", UNCLEAR)
            }
        });
    }
    if let Err(missing) = check_replayed_reads(&inventory, &persisted.records) {
        return Err(claims.or_displaced(claimed, missing).await);
    }
    let salt = entropy.salt();
    if is_alone {
        record_holder(disk, host)?;
    }
    let (began, since) = (Instant::now(), host.now());
    let number = match claims.claim(disk, (known.epoch, claimed), entropy).await {
        // If another gateway may be running, nothing is removed.
        Err(VaultError::StoreFull) if is_alone => {
            claims.check(claimed).await?;
            free_store_space(disk, store, persisted, &inventory).await?;
            claims.claim(disk, (known.epoch, claimed), entropy).await?
        }
        claimed => claimed?,
    };
    // Counted from the answer on: the claim may have been made just before it.
    let journal = persisted.header.parameters.journal;
    let waits_until = (!is_alone).then(|| Instant::now() + journal.lease());
    store.sweep_unfinished().await?;
    let lease_term = LeaseTerm { lease: Lease::since(host, since, journal), began, waits_until };
    Ok(ClaimedEpoch { epoch: Epoch { number, salt }, inventory, lease_term, log })
}

/// Deletes what an earlier opening could have deleted: versions that neither checkpoint needs, and parts of interrupted
/// writes. A full store may have no room even for a claim.
async fn free_store_space<U: VaultStore>(
    disk: &TrustedDisk,
    store: &U,
    persisted: &PersistedState,
    inventory: &Inventory,
) -> Result<(), VaultError> {
    let noted = ShippingNotes::load(disk)?;
    let mut number = if noted.is_unclear { 0 } else { persisted.state.head.number };
    if persisted.header.parameters.journal.announces() {
        // A restore repeats all reads since the checkpoint in the store.
        number = number.min(noted.shipped.number);
    }
    let unneeded =
        persisted.state.garbage.iter().filter(|garbage| !garbage.is_needed(number, &noted.shipped));
    let held: Vec<BucketVersion> = unneeded
        .map(|garbage| garbage.written())
        .filter(|version| inventory.held.contains(version))
        .collect();
    let (unfinished, replaced) = (store.sweep_unfinished().await?, held.len());
    if replaced > 0 {
        Untrusted::delete(store, &held).await?;
    }
    tracing::info!(replaced, unfinished, "the store had no room for a claim: unneeded objects were deleted");
    Ok(())
}
