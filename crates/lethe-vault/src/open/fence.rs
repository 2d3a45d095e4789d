//! The fence between this opening and every other: nothing in the store may be newer than what the trusted disk knows,
//! and an epoch of its own is claimed.

use super::at_rest::AtRest;
use super::inventory::{Inventory, REMOVE, UNCLEAR, planted, take_inventory};
use super::newer::{Judge, Origin};
use crate::claims::Claims;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::store::VaultStore;
use crate::trusted::disk::TrustedDisk;
use lethe_seal::epoch::Epoch;
use lethe_seal::master_key::MasterKey;

/// Claims an epoch for this opening; returns it with what the store held before.
///
/// # Errors
/// [`VaultError::Displaced`], [`VaultError::StaleTrustedState`], tampering, and those of disk and store.
pub(crate) async fn fence<U: VaultStore>(
    disk: &TrustedDisk,
    store: &U,
    master: &MasterKey,
    at_rest: &AtRest,
    entropy: &mut Entropy,
) -> Result<(Epoch, Inventory), VaultError> {
    let (vault, known) = (at_rest.header.vault, at_rest.known);
    let claims = Claims { blobs: store, master, vault };
    // Before the claim: an older copy that is refused must not have displaced the gateway that it is a copy of.
    let claimed = claims.ours(disk, known.epoch).await?;
    let inventory = take_inventory(store).await?;
    if let Some(newer) = inventory.iter().find(|found| found.version > known) {
        return Err(match Judge::new(store, master, at_rest, claimed)?.judge(*newer).await? {
            Origin::Planted(why) => planted(*newer, why, REMOVE),
            Origin::Unclear => {
                planted(*newer, "is of an epoch in which this vault has written nothing", UNCLEAR)
            }
        });
    }
    let salt = entropy.salt();
    let number = claims.claim(disk, (known.epoch, claimed), entropy).await?;
    let epoch = Epoch { number, salt };
    store.sweep_unfinished().await?;
    Ok((epoch, inventory))
}
