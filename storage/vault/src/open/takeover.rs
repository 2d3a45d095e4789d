//! The takeover by a standby: it claims an epoch, ends the journal of the gateway before, and continues with its own
//! engine. It lists no buckets: the journal tells every version.

use super::follower::{Follower, Reachable};
use super::log::KnownLog;
use super::restore_notes;
use super::restored_journal::note_journal;
use super::setup::Setup;
use super::shipped_checkpoint::FoundManifest;
use crate::any_store::AnyStore;
use crate::claims::Claims;
use crate::error::VaultError;
use crate::lease::holder::record_holder;
use crate::lease::{Lease, LeaseTerm};
use crate::log::objects::LogObjects;
use crate::session::status::OpeningFigures;
use crate::session::{Identity, RecoveredState, Session, Shipping};
use crate::trusted::position::Position;
use ameles_seal::epoch::Epoch;
use std::sync::Arc;
use tokio::time::{Instant, sleep_until};

/// Takes the vault over. `None` if another gateway was first, or if the follower lags so far behind that the journal was
/// deleted: then it must begin again. `last_object` is the time at which the last object of the journal came.
///
/// # Errors
/// Tampering, and the errors of disk and store.
pub(super) async fn take_over(
    mut follower: Follower<'_>,
    mut last_object: Instant,
) -> Result<Option<Session<AnyStore>>, VaultError> {
    let began = Instant::now();
    if let Reachable::No = follower.reachable_manifest(follower.at).await? {
        return Ok(None);
    }
    let (disk, host) = (follower.setup.disk.clone(), follower.setup.host.clone());
    let (store, journal) = (follower.setup.store.clone(), follower.header.parameters.journal);
    let claims = Claims { blobs: &store, ring: follower.ring.clone(), vault: follower.header.vault };
    let followed = follower.at.epoch;
    let claimed = claims.newest(followed).await?;
    let (asked, since) = (Instant::now(), host.now());
    let epoch = match claims.claim(&disk, (followed, claimed), &mut follower.setup.entropy).await {
        Err(VaultError::Displaced { .. }) => return Ok(None),
        claimed => claimed?,
    };
    if claimed > followed {
        // A gateway that has claimed an epoch may answer, although its journal is empty.
        last_object = Instant::now();
    }
    if end_journals(&mut follower, epoch).await? {
        last_object = Instant::now();
    }
    // Before the claim was in the store, the gateway may have shipped a checkpoint and deleted objects.
    let Reachable::Yes(newest) = follower.reachable_manifest(follower.at).await? else { return Ok(None) };
    follower.step().await?;
    // The gateway before could renew its lease with its last object. If this wait is cut off, the next attempt starts
    // again: the disk has no vault yet.
    sleep_until(last_object + journal.lease()).await;
    complete(&mut follower, newest, epoch).await?;
    record_holder(&disk, &host)?;
    let lease_term =
        LeaseTerm { lease: Lease::since(&host, since, journal), began: asked, waits_until: None };
    let opening = OpeningFigures { journal: began.elapsed(), ..OpeningFigures::default() };
    let session = begin_session(follower, (epoch, lease_term), opening).await?;
    Ok(Some(session))
}

/// Ends the journals of all epochs before this one, and takes what they still have. Returns whether they had anything.
async fn end_journals(follower: &mut Follower<'_>, epoch: u32) -> Result<bool, VaultError> {
    let Follower { setup, header, ring, log, at, .. } = follower;
    let Setup { store, entropy, .. } = &mut **setup;
    let objects = LogObjects { blobs: &*store, header, ring };
    let listed = objects.list().await?;
    let mut next = *at;
    let mut take = |at: Position, entry, _| {
        next = at.next();
        log.take(at, entry)
    };
    objects.end_earlier_journals(*at, (epoch, &listed), None, &mut || entropy.salt(), &mut take).await?;
    let has_more = next > *at;
    *at = next;
    Ok(has_more)
}

/// Makes the trusted disk that of a vault: the next opening continues it.
async fn complete(
    follower: &mut Follower<'_>,
    newest: Option<FoundManifest>,
    epoch: u32,
) -> Result<(), VaultError> {
    let mut first_needed = None;
    if let Some(found) = newest {
        let history = follower.receipts_before(&found).await?;
        // Any replaced version may be one that it needs.
        let newest = (u32::MAX, u64::MAX);
        restore_notes::record_receipt(&follower.setup.disk, &found.receipt, newest, history)?;
        first_needed = found.from.object;
    }
    let disk = &follower.setup.disk;
    note_journal(disk, first_needed, (epoch, follower.log.next_record()))?;
    restore_notes::complete(disk)
}

/// Starts the session of this epoch.
async fn begin_session(
    follower: Follower<'_>,
    (number, lease_term): (u32, LeaseTerm),
    opening: OpeningFigures,
) -> Result<Session<AnyStore>, VaultError> {
    let checkpoint = follower.number();
    let Follower { setup, header, ring, engine, rows, writer, garbage, replay, log, .. } = follower;
    let Setup { disk, store, entropy, ship_after, .. } = setup;
    let rows = Arc::new(rows.with_log()?);
    let objects = LogObjects { blobs: &*store, header: &header, ring: &ring };
    let next_record = log.next_record();
    let known = KnownLog::after_takeover(number, next_record);
    let journal = known.begin(disk, &objects, &rows, number, entropy).await?;
    let epoch = Epoch { number, salt: entropy.salt() };
    Session::begin(RecoveredState {
        identity: Identity::new(header, ring, number),
        disk: disk.clone(),
        rows,
        entropy: entropy.split(),
        engine,
        epoch,
        lease_term,
        number: checkpoint,
        sequence: next_record,
        opening,
        writer,
        garbage,
        orphans: Vec::new(),
        finished: replay.into_answers(),
        shipping: Shipping::Idle,
        pacer: None,
        ship_after: *ship_after,
        log: Some(journal),
    })
}
