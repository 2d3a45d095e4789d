//! The conversion of a vault in place, between its journal on the trusted disk and in the store.
//!
//! Everything must be in the store before: then the checkpoint there is complete, whichever journal a restore expects
//! after it. An epoch is claimed, which keeps other gateways out, and the header is exchanged as a
//! [change of the key](super::new_key) does it. No bucket moves. The next opening begins the journal in its new place.

use crate::any_store::AnyStore;
use crate::claims::Claims;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::log::objects::LogObjects;
use crate::log::{FIRST_NEEDED_NOTE, NEXT_OBJECT_NOTE, NextObject, read_note};
use crate::open::fence::{ClaimedEpoch, fence};
use crate::open::persisted_state::PersistedState;
use crate::open::setup::Setup;
use crate::session::{ATTEMPTED_NOTE, ShippingNotes};
use crate::store::VaultStore;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::{JournalPlace, VaultHeader};
use crate::trusted::header_exchange;
use crate::trusted::position::Position;
use ameles_seal::epoch::Epoch;
use futures::future::LocalBoxFuture;
use tokio::time::sleep_until;

/// Moves the journal of a vault that was closed with everything in the store and not opened since. When this returns,
/// the vault's header names the new place, and the next opening begins the journal there. Does nothing if the journal is
/// there already.
///
/// It may be cut off at any time, and repeated. Then the vault has its journal in the old place or in the new one.
///
/// # Errors
/// [`VaultError::Parameters`] if the store lacks something, [`VaultError::KeyChanging`] while the key is being changed,
/// and the errors of an opening.
pub async fn move_journal<U: VaultStore>(setup: Setup<U>, place: JournalPlace) -> Result<(), VaultError> {
    move_boxed(setup.erase_store(), place).await
}

/// Moves the journal. The future is boxed, so that the crates that poll it need not compile it.
fn move_boxed(
    setup: Setup<AnyStore>,
    place: JournalPlace,
) -> LocalBoxFuture<'static, Result<(), VaultError>> {
    Box::pin(move_unboxed(setup, place))
}

async fn move_unboxed(setup: Setup<AnyStore>, place: JournalPlace) -> Result<(), VaultError> {
    let Setup { disk, store, master, mut entropy, host, .. } = setup;
    // Completes an exchange that was cut off.
    let persisted = PersistedState::read(&disk, &store, &master).await?;
    if persisted.header.parameters.journal == place {
        return Ok(());
    }
    if persisted.ring.earlier().is_some() {
        return Err(VaultError::KeyChanging);
    }
    let ShippingNotes { shipped, is_unclear, .. } = ShippingNotes::load(&disk)?;
    if is_unclear || !persisted.records.is_empty() || shipped.number != persisted.state.head.number {
        let why = "the store lacks the last accesses of the vault: open it, close it with a checkpoint, and try again";
        return Err(VaultError::Parameters(why.into()));
    }
    let ClaimedEpoch { epoch: Epoch { number: claimed, .. }, lease_term, .. } =
        fence(&disk, &store, &persisted, &mut entropy, &host).await?;
    if persisted.header.parameters.journal.is_in_store() {
        end_journals(&disk, &store, &persisted, claimed, &mut entropy).await?;
    }
    // The checkpoint in the store has all changes of rows. A later journal in the store must not repeat them.
    if let Some((last, _)) = disk.unlogged_commits()?.last() {
        disk.commit(disk.enqueue_rows_with_commit(Vec::new(), None, *last))?;
    }
    let PersistedState { header, ring, .. } = persisted;
    let had_origins = header.parameters.uses_origins();
    let header = VaultHeader { parameters: header.parameters.with_journal(place), ..header };
    let encoded = header.encode(ring.clone(), entropy.salt(), entropy.salt());
    let mut exchange = Vec::from(header_exchange::begin_exchange(&disk, encoded)?);
    exchange.push(header_exchange::claimed_note(claimed));
    // The checkpoint in the store has everything of its epoch. A journal in the store begins with the next one.
    let first = Position::first_of(shipped.epoch + 1);
    let next = NextObject { at: first, in_doubt: 0, recorded: 0 };
    let first = borsh::to_vec(&first).expect("a write to memory does not fail");
    exchange.extend([(FIRST_NEEDED_NOTE, first), (NEXT_OBJECT_NOTE, next.encode())]);
    if place.announces() && had_origins {
        // A restore or a standby that repeats the journal cannot start from the checkpoint in the store: the next opening
        // ships another one.
        let next = borsh::to_vec(&(shipped.number + 1)).expect("a write to memory does not fail");
        exchange.push((ATTEMPTED_NOTE, next));
    }
    disk.set_metas(&exchange)?;
    let claims = Claims { blobs: &store, ring, vault: header.vault };
    claims.check_next_epoch(claimed).await?;
    if place.has_heartbeats()
        && let Some(until) = lease_term.waits_until
    {
        // The next opening waits for a shorter time than this gateway's predecessor may answer.
        sleep_until(until).await;
    }
    header_exchange::complete(&disk, &store).await?;
    // This opening answers no request. But if the gateway before it may still answer, a takeover must wait for that
    // one.
    if lease_term.waits_until.is_none()
        && let Err(error) = claims.mark_end(claimed, entropy.salt()).await
    {
        tracing::warn!(%error, "cannot mark the end of this session in the store: a takeover will have to wait");
    }
    Ok(())
}

/// Ends the journals in the store: a gateway that may still have one open can write nothing there from now on. The
/// checkpoint in the store has everything that they have.
async fn end_journals<U: VaultStore>(
    disk: &TrustedDisk,
    store: &U,
    persisted: &PersistedState,
    claimed: u32,
    entropy: &mut Entropy,
) -> Result<(), VaultError> {
    let objects = LogObjects { blobs: store, header: &persisted.header, ring: &persisted.ring };
    let from: Position = read_note(disk, FIRST_NEEDED_NOTE)?;
    let listed = objects.list().await?;
    let mut ignore = |_, _, _| Ok(());
    objects.end_earlier_journals(from, (claimed, &listed), None, &mut || entropy.salt(), &mut ignore).await
}
