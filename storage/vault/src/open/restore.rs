//! The restore after a lost machine: it recovers the vault from the store and the key.
//!
//! Positions that were in use when the machine was lost may have been read since the last shipped checkpoint. So the
//! restore reads nothing by position. It fetches the buckets of the checkpoint in the order of their numbers into a
//! local copy. It takes the blocks from there, and draws every position again. With Ring ORAM it writes the buckets
//! that exist, each once in the order of their numbers. With Path ORAM it writes each block into an empty vault by an
//! access. It makes as many accesses as there have been, or `capacity` if that is less. With Trivial ORAM it makes
//! `capacity` accesses. All of these numbers are public. So the watcher sees the same for any contents of the vault.
//!
//! If the vault announces in the store, everything that has been read is known. Then the restore only writes the state
//! of the checkpoint and the journal after it to the trusted disk, and the next opening repeats them.

use super::choose_checkpoint::{choose_checkpoint, choose_or_begin, list_checkpoints};
use super::create::write_initial_state;
use super::header::{raw_header, raw_header_of_store, read_header};
use super::inventory::{check_epochs, list_inventory};
use super::local_copy::LocalCopy;
use super::previous_vault::PreviousVault;
use super::rebuild_tree::rebuild_tree;
use super::restore_plan::{RestorePlan, plan_repetition, plan_restore};
use super::restored_journal::write_journal;
use super::setup::Setup;
use super::shipped_checkpoint::FoundCheckpoint;
use super::{recovery, restore_notes};
use crate::any_store::AnyStore;
use crate::claims::Claims;
use crate::engine::record::Call;
use crate::engine::scheme::SchemeParameters;
use crate::entropy::Entropy;
use crate::error::{ExistsIn, VaultError};
use crate::error_reason::ErrorReason;
use crate::log::merged_log::MergedLog;
use crate::log::objects::LogObjects;
use crate::store::{HEADER, SHIPPED_NOTE, VaultStore};
use crate::trusted::checkpoint::{Receipt, ShippedCheckpoint};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::position::Position;
use crate::trusted::row::{Row, RowChange};
use crate::trusted::rows::Rows;
use crate::trusted::shipped_state::ShippedPoint;
use crate::vault::Vault;
use ameles_core::store::Untrusted;
use ameles_core::types::BlockId;
use ameles_seal::epoch::Epoch;
use ameles_seal::key_ring::KeyRing;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::Sealed;
use ameles_seal::versions::TrustedVersions;
use futures::future::LocalBoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The stage of a restore that waits for the end of the lease of the gateway that it has displaced.
pub const WAITING: &str = "waiting until the old gateway has stopped answering";

/// The options of a restore.
pub struct Restore<L> {
    /// A local store with the vault's layout, for the copy of the buckets: empty, or as an interrupted restore left it.
    /// To be deleted afterwards.
    pub copy: L,
    /// A disk for the shipped stash, which is sealed there. To be deleted afterwards.
    pub scratch: TrustedDisk,
    /// The receipt that the owner kept. The restored state must be this one or a later one.
    pub expect: Option<Receipt>,
    /// True if a gateway that has the vault open may be displaced.
    pub takeover: bool,
    /// True if positions are drawn again although the vault announces in the store. Then a provider that hides the end
    /// of the journal sees no path read twice.
    pub redraw: bool,
    /// A function that gets what will be moved: before anybody is displaced, and again before the first bucket is
    /// fetched.
    pub announce: Box<dyn Fn(&RestorePlan)>,
    /// A function that gets the stage, the bytes done, and all bytes; [`WAITING`] has seconds.
    pub progress: Box<dyn Fn(&'static str, u64, u64)>,
}

/// Restores a vault from its store into an empty trusted disk. Returns the receipt of the newest checkpoint in the store.
/// The restore ships this checkpoint itself, unless the vault announces in the store. Afterwards the vault can be opened
/// like any other. Writes since the last shipped checkpoint are lost, unless the journal is in the store.
///
/// # Errors
/// [`VaultError::AlreadyExists`], [`VaultError::TakeoverNeeded`], [`VaultError::NoCheckpoint`],
/// [`VaultError::Receipt`], [`VaultError::WrongKey`], [`VaultError::LocalCopy`], tampering, and the errors of disk and
/// store.
pub async fn restore<U: VaultStore, L: VaultStore>(
    setup: Setup<U>,
    options: Restore<L>,
) -> Result<Receipt, VaultError> {
    let Restore { copy, scratch, expect, takeover, redraw, announce, progress } = options;
    let copy = AnyStore::new(copy);
    let options = Restore { copy, scratch, expect, takeover, redraw, announce, progress };
    restore_boxed(setup.erase_store(), options).await
}

/// Restores a vault. The future is boxed, so that the crates that poll it need not compile it.
fn restore_boxed(
    setup: Setup<AnyStore>,
    options: Restore<AnyStore>,
) -> LocalBoxFuture<'static, Result<Receipt, VaultError>> {
    Box::pin(restore_unboxed(setup, options))
}

async fn restore_unboxed(
    mut setup: Setup<AnyStore>,
    options: Restore<AnyStore>,
) -> Result<Receipt, VaultError> {
    if raw_header(&setup.disk).is_ok() && !restore_notes::is_unfinished(&setup.disk)? {
        return Err(VaultError::AlreadyExists(ExistsIn::TrustedFolder));
    }
    let encoded = raw_header_of_store(&setup.store).await?;
    let (header, ring) = VaultHeader::decode_with_ring(&encoded, &setup.master)?;
    let keyed_header = (&header, &ring);
    let mut repeats = header.parameters.journal.announces() && !options.redraw;
    let mut chosen = choose(&mut setup, keyed_header, &options, repeats).await?;
    if repeats && chosen.1.scheme.has_origins {
        // The vault was converted, and this checkpoint is from before.
        repeats = false;
        chosen = choose(&mut setup, keyed_header, &options, repeats).await?;
    }
    let plan = if repeats {
        plan_repetition(&chosen.1, 0)
    } else {
        let copy = LocalCopy::open(&options.copy, &chosen.1.versions).await?;
        plan_restore(&header, &chosen.1, 0, copy.missing_bytes(&chosen.1.versions))
    };
    (options.announce)(&plan);

    let claimed = claim_epoch(&mut setup, keyed_header, &chosen.1, options.takeover).await?;
    let (next, serves_from) = claimed;
    if repeats {
        return repeat(&mut setup, (&encoded, keyed_header), &options, chosen, claimed).await;
    }
    let rewritten = fetch_and_rewrite(&mut setup, (&encoded, keyed_header), &options, chosen, claimed).await;
    let previous = match rewritten {
        Err(error) if serves_from.is_none() && is_local_error(&error) => {
            // This restore has answered no request in its epoch: the next restore need not wait for it.
            let claims = Claims { blobs: &setup.store, ring: ring.clone(), vault: header.vault };
            if let Err(error) = claims.mark_end(next, setup.entropy.salt()).await {
                tracing::warn!(%error, "cannot mark the end of this restore in the store: the next restore will have to wait");
            }
            return Err(error);
        }
        rewritten => rewritten?,
    };
    let serves_from = header.parameters.journal.wait_after_end(serves_from);
    let (disk, progress) = (setup.disk.clone(), &*options.progress);
    let (vault, running) = Vault::with_session(recovery::open_during_restore(setup).await?, Arc::default());
    // This future owns the vault, so the session ends with it, whether or not it succeeds.
    let rewriting = async move {
        if let Some((old, accesses)) = previous {
            rewrite(&vault, old, accesses, progress).await?;
        }
        // The first checkpoint that is shipped. From now on the previous buckets are orphans.
        vault.checkpoint().await?;
        if let Some(from) = serves_from {
            wait_until(from, progress).await;
        }
        restore_notes::complete(&disk)?;
        // This ships another checkpoint.
        vault.close().await
    };
    let (outcome, ()) = futures::join!(rewriting, running);
    outcome
}

/// Chooses the checkpoint. Its stash goes to the disk that needs it: the trusted disk if the restore continues its state,
/// and else the scratch disk.
async fn choose<L>(
    setup: &mut Setup<AnyStore>,
    keyed_header: (&VaultHeader, &KeyRing),
    options: &Restore<L>,
    repeats: bool,
) -> Result<(Receipt, FoundCheckpoint), VaultError> {
    let scratch = scratch_disk(setup, options, repeats);
    choose_or_begin(setup, keyed_header, (&scratch, options.expect.as_ref())).await
}

fn scratch_disk<U, L>(setup: &Setup<U>, options: &Restore<L>, repeats: bool) -> TrustedDisk {
    if repeats { setup.disk.clone() } else { options.scratch.clone() }
}

/// Restores a vault that announces in the store: the next opening repeats what was announced after the checkpoint.
/// Returns the receipt of the checkpoint.
async fn repeat<U: VaultStore, L: VaultStore>(
    setup: &mut Setup<U>,
    (encoded, keyed_header): (&[u8], (&VaultHeader, &KeyRing)),
    options: &Restore<L>,
    chosen: (Receipt, FoundCheckpoint),
    (next, serves_from): (u32, Option<Instant>),
) -> Result<Receipt, VaultError> {
    let (header, ring) = keyed_header;
    let claimed = (next, serves_from);
    let (receipt, found, mut logged) =
        fetch_newest(setup, keyed_header, options, chosen, (claimed, true)).await?;
    let newest = (found.versions.epochs().newest(), found.versions.counter());
    let history = found.history.clone();
    let rows = write_journal(setup, (header, encoded), found, &mut logged, next)?;
    restore_rows(setup, header, rows)?;
    restore_notes::record_receipt(&setup.disk, &receipt, newest, history)?;
    if let Some(from) = header.parameters.journal.wait_after_end(serves_from) {
        wait_until(from, &*options.progress).await;
    }
    restore_notes::complete(&setup.disk)?;
    // This restore has answered no request: the next opening need not wait for it.
    let claims = Claims { blobs: &setup.store, ring: ring.clone(), vault: header.vault };
    claims.mark_end(next, setup.entropy.salt()).await?;
    Ok(receipt)
}

/// Waits until the old gateway has stopped answering, and says so each second.
async fn wait_until(from: Instant, progress: &dyn Fn(&'static str, u64, u64)) {
    let left = || from.saturating_duration_since(Instant::now()).as_secs_f64().ceil() as u64;
    let all = left();
    while left() > 0 {
        progress(WAITING, all.saturating_sub(left()), all);
        sleep_until(from.min(Instant::now() + Duration::from_secs(1))).await;
    }
}

/// Returns whether an error comes from one of this machine's disks.
fn is_local_error(error: &VaultError) -> bool {
    matches!(error, VaultError::LocalCopy(_) | VaultError::Disk(_) | VaultError::DiskFull)
}

/// Fetches the newest state and writes it to the trusted disk, under the claimed epoch. Returns the previous vault if
/// its blocks must still be written, and the number of accesses that write them.
async fn fetch_and_rewrite<'a, U: VaultStore, L: VaultStore>(
    setup: &mut Setup<U>,
    (encoded, keyed_header): (&[u8], (&VaultHeader, &KeyRing)),
    options: &'a Restore<L>,
    chosen: (Receipt, FoundCheckpoint),
    (next, serves_from): (u32, Option<Instant>),
) -> Result<Option<(PreviousVault<'a, L>, u64)>, VaultError> {
    let (header, _) = keyed_header;
    let claimed = (next, serves_from);
    let (receipt, shipped, mut logged) =
        fetch_newest(setup, keyed_header, options, chosen, (claimed, false)).await?;
    let FoundCheckpoint { point, scheme, versions, rows, history, .. } = shipped;
    let (accesses, since) = (point.accesses, logged.accesses());
    let entropy = &mut setup.entropy;
    let mut old =
        PreviousVault::open(&options.copy, keyed_header, scheme, versions, accesses, entropy).await?;
    let rows = logged.change(rows);
    old.overlay(logged.into_writes());

    // The first checkpoint of a vault has number 1.
    let number = point.number.max(1);
    let base = Epoch { number: next, salt: setup.entropy.salt() };
    let previous = if let SchemeParameters::Ring(ring) = &header.parameters.scheme {
        let redraw = old.plan_redraw(ring, since)?;
        let point = ShippedPoint { number, epoch: next, accesses: accesses.saturating_add(since) };
        rebuild_tree(setup, header, (&old, &redraw), (point, base), &*options.progress).await?;
        setup.disk.set_meta(HEADER, encoded)?;
        drop(old);
        None
    } else {
        let fresh = versions_after(&setup.store, header, &setup.master, base)?;
        write_initial_state(setup, header, encoded, number, fresh)?;
        Some((old, header.parameters.scheme.accesses_of_restore(accesses.saturating_add(since))))
    };
    restore_rows(setup, header, rows)?;
    restore_notes::record_receipt(&setup.disk, &receipt, (0, 0), history)?;
    Ok(previous)
}

/// The receipt of the last checkpoint in the store, if the vault on this disk is the result of a complete restore.
///
/// # Errors
/// [`VaultError::WrongKey`], [`VaultError::Damaged`], and the errors of the disk.
pub fn restored(disk: &TrustedDisk, master: &MasterKey) -> Result<Option<Receipt>, VaultError> {
    if !restore_notes::is_complete(disk)? {
        return Ok(None);
    }
    let vault = read_header(disk, master)?.vault;
    let Some(note) = disk.meta(SHIPPED_NOTE)? else { return Ok(None) };
    let (shipped, _): (ShippedCheckpoint, Vec<(u64, [u8; 32])>) =
        borsh::from_slice(&note).map_err(|error| VaultError::Damaged(ErrorReason::of(error)))?;
    let ShippedCheckpoint { number, epoch, digest, .. } = shipped;
    Ok(Some(Receipt { vault, epoch, checkpoint: number, digest }))
}

/// Claims the epoch after the last claimed one. Returns it, and the time before which nothing may be served, unless the
/// last gateway has stopped in an orderly way.
async fn claim_epoch<U: VaultStore>(
    setup: &mut Setup<U>,
    (header, ring): (&VaultHeader, &KeyRing),
    chosen: &FoundCheckpoint,
    may_displace: bool,
) -> Result<(u32, Option<Instant>), VaultError> {
    let claims = Claims { blobs: &setup.store, ring: ring.clone(), vault: header.vault };
    // The gateway that shipped the checkpoint had claimed its epoch.
    let shipped_in = chosen.point.epoch;
    let claimed = claims.newest(shipped_in).await?;
    let inventory = list_inventory(&setup.store).await?;
    check_epochs(&inventory, &claims, claimed).await?;
    // Checked before the claim: a restore that cannot succeed displaces nobody.
    let layout = setup.store.layout();
    chosen.versions.live().try_for_each(|live| inventory.check_size(layout, live))?;
    if claimed > 0 && !may_displace {
        return Err(VaultError::TakeoverNeeded(claimed));
    }
    // An earlier restore onto this disk has claimed epochs and answered nobody: this one need not wait for it.
    let displaced = match restore_notes::displaced(&setup.disk)? {
        Some(displaced) if claims.is_noted(&setup.disk, claimed).await? => displaced,
        _ => claimed,
    };
    // From here on the displaced gateway can neither ship nor delete.
    restore_notes::begin(&setup.disk, displaced)?;
    let has_ended = claims.has_ended(displaced).await?;
    let next = claims.claim(&setup.disk, (shipped_in, claimed), &mut setup.entropy).await?;
    Ok((next, (!has_ended).then(|| Instant::now() + header.parameters.journal.lease())))
}

/// Writes every block of the previous vault into the new one, in full batches of accesses. The accesses without a block
/// are dummies. Each access reads a block of the local copy.
async fn rewrite<L: Untrusted>(
    vault: &Vault,
    mut old: PreviousVault<'_, L>,
    accesses: u64,
    progress: &dyn Fn(&'static str, u64, u64),
) -> Result<(), VaultError> {
    let written: Vec<BlockId> =
        (0..vault.capacity()).map(BlockId).filter(|block| old.is_written(*block)).collect();
    if written.len() as u64 > accesses {
        return Err(VaultError::Tampered("the checkpoint in the store has more blocks than accesses".into()));
    }
    let (batch, bytes) = (vault.max_batch() as u64, vault.block_bytes() as u64);
    for first in (0..accesses).step_by(batch as usize) {
        let end = accesses.min(first + batch);
        let places: Vec<Option<BlockId>> =
            (first..end).map(|nth| written.get(nth as usize).copied()).collect();
        let blocks: Vec<BlockId> = places.iter().map(|block| block.unwrap_or(BlockId(0))).collect();
        let payloads = old.read(&blocks).await?;
        let call = |(block, payload): (Option<BlockId>, _)| match block {
            Some(block) => Call::Write(block, payload),
            None => Call::Dummy,
        };
        vault.access(places.into_iter().zip(payloads).map(call).collect()).await?;
        progress("rewriting", end * bytes, accesses * bytes);
    }
    Ok(())
}

/// Ends the journal in the store, if there is one. Copies the buckets of the chosen checkpoint, or of a newer one, unless
/// the restore only repeats what was announced.
/// The displaced gateway may have sent a newer checkpoint before it could see the claim, and that one may have replaced
/// the chosen one.
async fn fetch_newest<U: VaultStore, L: VaultStore>(
    setup: &mut Setup<U>,
    keyed_header: (&VaultHeader, &KeyRing),
    options: &Restore<L>,
    mut chosen: (Receipt, FoundCheckpoint),
    ((claimed, serves_from), repeats): ((u32, Option<Instant>), bool),
) -> Result<(Receipt, FoundCheckpoint, MergedLog), VaultError> {
    let order = |receipt: &Receipt| (receipt.epoch, receipt.checkpoint);
    let wait = || serves_from.map_or(Duration::ZERO, |from| from.saturating_duration_since(Instant::now()));
    let scratch = scratch_disk(setup, options, repeats);
    loop {
        let Setup { store, entropy, .. } = &mut *setup;
        let from = first_needed(keyed_header.0, &chosen.1);
        let sequence = chosen.1.from.sequence;
        let logged = match from {
            Some(from) => merge_log(&*store, keyed_header, (from, sequence), claimed, entropy).await,
            None => Ok(MergedLog::default()),
        };
        let fetched = match logged {
            Ok(logged) if repeats => {
                (options.announce)(&RestorePlan {
                    wait: wait(),
                    ..plan_repetition(&chosen.1, logged.accesses())
                });
                Ok(logged)
            }
            Ok(logged) => {
                let versions = &chosen.1.versions;
                let copy = LocalCopy::open(&options.copy, versions).await?;
                let missing = copy.missing_bytes(versions);
                let plan = plan_restore(keyed_header.0, &chosen.1, logged.accesses(), missing);
                (options.announce)(&RestorePlan { wait: wait(), ..plan });
                copy.fetch(store, keyed_header, versions, &*options.progress).await.map(|()| logged)
            }
            Err(error) => Err(error),
        };
        let error = match fetched {
            Err(error) if error.is_tampering() => error,
            Err(error) => return Err(error),
            // Log objects may have been deleted for a newer checkpoint before the first of them was read.
            Ok(logged) if from.is_none() || is_newest(store, &chosen.0).await? => {
                return Ok((chosen.0, chosen.1, logged));
            }
            Ok(_) => VaultError::Tampered("a newer checkpoint appeared in the store, and was removed".into()),
        };
        let wanted = (&scratch, options.expect.as_ref());
        let newest = choose_checkpoint(setup, keyed_header, wanted).await?;
        if order(&newest.0) <= order(&chosen.0) {
            return Err(error);
        }
        chosen = newest;
    }
}

/// The first object of the journal in the store that a checkpoint does not have, if the vault has such a journal. A
/// checkpoint from before the journal was moved into the store has everything of its epoch and names no object.
fn first_needed(header: &VaultHeader, checkpoint: &FoundCheckpoint) -> Option<Position> {
    let is_kept = header.parameters.journal.is_in_store();
    is_kept.then(|| checkpoint.from.object.unwrap_or(Position::first_of(checkpoint.point.epoch + 1)))
}

/// Returns whether no checkpoint in the store is newer.
async fn is_newest<U: VaultStore>(store: &U, receipt: &Receipt) -> Result<bool, VaultError> {
    let newest = list_checkpoints(store).await?.pop();
    Ok(newest <= Some((receipt.epoch, receipt.checkpoint)))
}

/// Ends the journals of all openings before `claimed`, and merges their contents from `from` on.
async fn merge_log<U: VaultStore>(
    blobs: &U,
    (header, ring): (&VaultHeader, &KeyRing),
    (from, sequence): (Position, u64),
    claimed: u32,
    entropy: &mut Entropy,
) -> Result<MergedLog, VaultError> {
    let objects = LogObjects { blobs, header, ring };
    let listed = objects.list().await?;
    let mut merged = MergedLog::from(sequence);
    let mut take = |at, entry, _| merged.take(at, entry);
    objects.end_earlier_journals(from, (claimed, &listed), None, &mut || entropy.salt(), &mut take).await?;
    Ok(merged)
}

/// An empty version table whose newest epoch is `base`.
fn versions_after<U: VaultStore>(
    store: &U,
    header: &VaultHeader,
    master: &MasterKey,
    base: Epoch,
) -> Result<TrustedVersions, VaultError> {
    let empty = TrustedVersions::new(header.vault, header.parameters.layout().buckets());
    let (cipher, nonces) = (header.parameters.cipher()?, Entropy::system().nonces());
    let sealed = Sealed::new(store, master, cipher, nonces, empty, SealThreads::single())?;
    sealed.replay_epoch(base)?;
    Ok(sealed.snapshot())
}

/// Replaces the rows on the trusted disk.
pub(super) fn restore_rows<U>(
    setup: &Setup<U>,
    header: &VaultHeader,
    rows: Vec<Row>,
) -> Result<(), VaultError> {
    let table =
        Rows::open(setup.disk.clone(), setup.master.clone(), header.vault, header.parameters.rows_bytes)?;
    let mut entropy = Entropy::system();
    // Rows of an earlier attempt.
    let stale = table.load()?.into_iter().map(|row| RowChange::remove(row.key));
    let changes = stale.chain(rows.into_iter().map(RowChange::from)).collect();
    table.commit(changes, || entropy.salt()).map(drop)
}
