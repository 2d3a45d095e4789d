//! The choice of the checkpoint that a restore continues from.

use super::setup::Setup;
use super::shipped_checkpoint::{FoundCheckpoint, empty_checkpoint, fetch_checkpoint};
use crate::error::VaultError;
use crate::log::objects::LogObjects;
use crate::store::VaultStore;
use crate::trusted::checkpoint::{Receipt, parse_blob_name};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::position::Position;
use ameles_seal::key_ring::KeyRing;

/// The explanation of a newest checkpoint that does not open, and the advice.
const DAMAGED_CHECKPOINT: &str = "the checkpoint was planted, or it is the newest and was damaged; with --expect RECEIPT an \
    older one that the receipt covers is restored";
/// The advice if a receipt was given and no other checkpoint matches it.
const NONE_OTHER: &str = "no other checkpoint in the store is the receipt's, or came after it";

/// Chooses the newest checkpoint in the store that opens. Its stash goes to the scratch disk, and overwrites that of an
/// earlier choice. A newer object that has the name of a checkpoint and does not open was planted, or is damaged.
/// Without a receipt it is an error. With a receipt it is skipped: then the chosen checkpoint must be the receipt's or
/// a later one.
pub(super) async fn choose_checkpoint<U: VaultStore>(
    setup: &mut Setup<U>,
    keyed_header: (&VaultHeader, &KeyRing),
    wanted: (&TrustedDisk, Option<&Receipt>),
) -> Result<(Receipt, FoundCheckpoint), VaultError> {
    let mut orders = list_checkpoints(&setup.store).await?;
    loop {
        match choose_from(&orders, setup, keyed_header, wanted).await {
            Err(error) if error.is_tampering() => {
                // A gateway that still serves may have shipped a newer checkpoint meanwhile, and removed those that
                // were listed.
                let now = list_checkpoints(&setup.store).await?;
                if now.last() <= orders.last() {
                    return Err(error);
                }
                orders = now;
            }
            chosen => return chosen,
        }
    }
}

/// Chooses the newest checkpoint in the store, or the empty one if the journal there holds everything. Its stash goes to
/// the scratch disk.
pub(super) async fn choose_or_begin<U: VaultStore>(
    setup: &mut Setup<U>,
    (header, ring): (&VaultHeader, &KeyRing),
    (scratch, expect): (&TrustedDisk, Option<&Receipt>),
) -> Result<(Receipt, FoundCheckpoint), VaultError> {
    match choose_checkpoint(setup, (header, ring), (scratch, expect)).await {
        Err(VaultError::NoCheckpoint)
            if expect.is_none() && holds_all_in_log(&setup.store, (header, ring)).await? =>
        {
            empty_checkpoint(header, scratch)
        }
        chosen => chosen,
    }
}

/// Returns whether the store holds no checkpoint because none was shipped yet. Then the journal in the store holds
/// everything since the first opening.
async fn holds_all_in_log<U: VaultStore>(
    store: &U,
    (header, ring): (&VaultHeader, &KeyRing),
) -> Result<bool, VaultError> {
    if !header.parameters.journal.is_in_store() {
        return Ok(false);
    }
    let objects = LogObjects { blobs: store, header, ring };
    Ok(objects.list().await?.first() == Some(&Position::first_of(1)))
}

/// The epochs and numbers of the checkpoints in the store, in order.
pub(super) async fn list_checkpoints<U: VaultStore>(store: &U) -> Result<Vec<(u32, u64)>, VaultError> {
    let names = store.list("checkpoint/").await?;
    let mut orders: Vec<(u32, u64)> = names.iter().filter_map(|blob| parse_blob_name(&blob.name)).collect();
    orders.sort_unstable();
    Ok(orders)
}

/// Chooses the newest of these checkpoints.
async fn choose_from<U: VaultStore>(
    orders: &[(u32, u64)],
    setup: &mut Setup<U>,
    (header, ring): (&VaultHeader, &KeyRing),
    (scratch, expect): (&TrustedDisk, Option<&Receipt>),
) -> Result<(Receipt, FoundCheckpoint), VaultError> {
    let mut refused = None;
    for (epoch, number) in orders.iter().copied().rev() {
        let from = (&setup.store, scratch);
        let fetched = fetch_checkpoint(from, (header, ring), (epoch, number), &mut setup.entropy).await;
        let chosen = match fetched {
            Ok((receipt, shipped)) => {
                verify_receipt(header, &receipt, &shipped, expect).map(|()| (receipt, shipped))
            }
            Err(error) => Err(error),
        };
        match chosen {
            Ok(chosen) => return Ok(chosen),
            Err(VaultError::Tampered(why)) if expect.is_some() => {
                tracing::warn!(%why, "skipped this checkpoint: the receipt may be for an older one");
                refused.get_or_insert_with(|| VaultError::Tampered(why.followed_by(NONE_OTHER)));
            }
            Err(VaultError::Tampered(why)) => {
                return Err(VaultError::Tampered(why.followed_by(DAMAGED_CHECKPOINT)));
            }
            Err(error) => return Err(refused.unwrap_or(error)),
        }
    }
    Err(refused.unwrap_or_else(|| match expect {
        Some(expect) if expect.checkpoint > 0 => VaultError::Receipt(format!(
            "it is of checkpoint {} of epoch {}, and the store holds none: they were removed, or this is not the vault's store",
            expect.checkpoint, expect.epoch
        )),
        _ => VaultError::NoCheckpoint,
    }))
}

/// Verifies that the restored state is the receipt's state or a later one.
fn verify_receipt(
    header: &VaultHeader,
    found: &Receipt,
    shipped: &FoundCheckpoint,
    expect: Option<&Receipt>,
) -> Result<(), VaultError> {
    // Without a receipt, an older consistent state cannot be distinguished from the newest one.
    let Some(expect) = expect else { return Ok(()) };
    if expect.vault != header.vault {
        return Err(VaultError::Receipt("it belongs to another vault".into()));
    }
    // A holder of an earlier key can make checkpoints of its epochs. None of them follows a receipt of a later epoch.
    if found.epoch < expect.epoch {
        return Err(VaultError::Receipt(format!(
            "the newest checkpoint in the store is of epoch {} and the receipt of epoch {}: the store was rolled back",
            found.epoch, expect.epoch
        )));
    }
    let is_found = expect.checkpoint == found.checkpoint && expect.digest == found.digest;
    if is_found || shipped.history.contains(&(expect.checkpoint, expect.digest)) {
        return Ok(());
    }
    if expect.checkpoint == found.checkpoint {
        return Err(VaultError::Receipt(format!(
            "checkpoint {} in the store is another than the receipt's of the same number: the store was rolled back \
             or the receipt is mistyped",
            found.checkpoint
        )));
    }
    Err(VaultError::Receipt(format!(
        "the newest checkpoint in the store is number {} and is not known to come after number {} of the receipt: \
         the store was rolled back, or the receipt is older than the last 256",
        found.checkpoint, expect.checkpoint
    )))
}
