//! Recovery: the steps of an opening, up to a complete [`RecoveredState`] for a session.
//!
//! Recovery steps the engine through the inputs of the journal. Announced reads are sent again: the same slots of the
//! same versions in the same order, which are all still in the store. Writes whose completion was journalled are not
//! repeated. Unfinished writes are carried out under new versions and the new epoch's key, so nothing is sealed a
//! second time under an old key. The watcher sees only what it saw before.

use super::fence::{ClaimedEpoch, fence};
use super::heartbeats::Heartbeats;
use super::inventory::find_unneeded;
use super::log::KnownLog;
use super::persisted_state::PersistedState;
use super::replay::Replay;
use super::resume::{ResumedVault, resume};
use super::setup::Setup;
use crate::claims::Claims;
use crate::engine::Engine;
use crate::engine::record::Record;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::lease::holder::record_holder;
use crate::log::objects::LogObjects;
use crate::session::pace::Pacer;
use crate::session::{Identity, Log, RecoveredState, Session, Shipping};
use crate::store::VaultStore;
use crate::trusted::checkpoint::Garbage;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::rows::Rows;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The reason why a vault that announces in the store has no pace.
pub(super) const PACED: &str = "a pace with `--journal store-first` is not implemented: convert the vault to `--journal store`, or \
    serve it without a pace";

/// Opens a vault, in the state in which the last acknowledged write was acknowledged.
pub(crate) async fn open<U: VaultStore>(setup: Setup<U>) -> Result<Session<U>, VaultError> {
    let began = Instant::now();
    let persisted = PersistedState::read(&setup.disk, &setup.store, &setup.master).await?;
    setup.disk.reserve().set_sizes(persisted.header.parameters.reserve());
    Session::begin(recover(setup, persisted, Shipping::Idle, began).await?)
}

/// Opens a vault that is being restored. Nothing is shipped or deleted until a caller requests a checkpoint.
pub(crate) async fn open_during_restore<U: VaultStore>(setup: Setup<U>) -> Result<Session<U>, VaultError> {
    let began = Instant::now();
    let persisted = PersistedState::read_during_restore(&setup.disk, &setup.store, &setup.master).await?;
    Session::begin(recover(setup, persisted, Shipping::HeldBack, began).await?)
}

/// Brings the state of the last opening to the end of its journal.
async fn recover<U: VaultStore>(
    setup: Setup<U>,
    persisted: PersistedState,
    shipping: Shipping,
    began: Instant,
) -> Result<RecoveredState<U>, VaultError> {
    let Setup { disk, store, master, mut entropy, workers, pace, ship_after, host } = setup;
    if pace.is_some() && persisted.header.parameters.journal.announces() {
        return Err(VaultError::Parameters(PACED.into()));
    }
    let asked = Instant::now();
    let ClaimedEpoch { epoch, inventory, mut lease_term, log } =
        fence(&disk, &store, &persisted, &mut entropy, &host).await?;
    let PersistedState { header, ring, state, records, sequence, mut opening, .. } = persisted;
    opening.store += asked.elapsed();
    let mut rows = Rows::open(disk.clone(), master.clone(), header.vault, header.parameters.rows_bytes)?;
    // A restore has no journal in the store. Until it is complete, the previous journal holds what is not shipped.
    let log = log.filter(|_| shipping != Shipping::HeldBack);
    if log.is_some() {
        rows = rows.with_log()?;
    }
    let rows = Arc::new(rows);
    let resuming = Instant::now();
    let side = (&disk, &header, &master);
    let ResumedVault { head, mut engine, mut garbage, writer } =
        resume(state, (side, &ring), (store, workers), &mut entropy)?;
    opening.state += resuming.elapsed();
    let sealed = engine.sealed.clone();
    // If the vault announces in the store, a read may be repeated only when the store has its record.
    let (early, late) = if header.parameters.journal.announces() { (log, None) } else { (None, log) };
    let objects = LogObjects { blobs: sealed.untrusted(), header: &header, ring: &ring };
    let mut early = begin_log(early, &objects, (&disk, &rows), epoch.number, &mut entropy).await?;
    lease_term.waits_until = header.parameters.journal.wait_after_end(lease_term.waits_until);
    let identity = Identity::new(header.clone(), ring.clone(), epoch.number);
    let mut replay = Replay::default();
    let parts = (&identity, &disk, &mut entropy);
    let heartbeats = Heartbeats::new(&objects, parts, (&lease_term.lease, sequence));
    let repeating = repeat((&mut replay, &mut engine), records, lease_term.waits_until);
    opening.journal += beside_heartbeats(repeating, early.as_mut(), heartbeats).await?;
    garbage.extend(engine.take_superseded().into_iter().map(|at| Garbage::new(at, head.number)));
    let sorting = Instant::now();
    let orphans = find_unneeded(&engine, &garbage, inventory)?;
    opening.store += sorting.elapsed();
    if lease_term.waits_until.is_some() {
        record_holder(&disk, &host)?;
    }
    let log = early.or(begin_log(late, &objects, (&disk, &rows), epoch.number, &mut entropy).await?);
    Ok(RecoveredState {
        identity,
        disk,
        rows,
        entropy,
        engine,
        epoch,
        lease_term,
        number: head.number,
        sequence,
        opening,
        writer,
        garbage,
        orphans,
        finished: replay.into_answers(),
        shipping,
        ship_after,
        pacer: pace.map(|pace| Pacer::new(pace, began, Instant::now())),
        log,
    })
}

/// Does the work of an opening. Meanwhile it makes the heartbeats, if it announces in the store. If the store lacks
/// something, and another gateway has taken over, the error says so.
async fn beside_heartbeats<U: VaultStore, T>(
    work: impl Future<Output = Result<T, VaultError>>,
    log: Option<&mut Log>,
    mut heartbeats: Heartbeats<'_, U>,
) -> Result<T, VaultError> {
    let Heartbeats { objects, identity, .. } = &heartbeats;
    let (blobs, epoch) = (objects.blobs, identity.epoch);
    let claims = Claims { blobs, ring: objects.ring.clone(), vault: objects.header.vault };
    let done = match log {
        Some(log) => heartbeats.beside(log, work).await,
        None => work.await,
    };
    match done {
        Err(error) => Err(claims.or_displaced(epoch, error).await),
        done => done,
    }
}

/// Repeats the journal, and waits until the predecessor has stopped answering. Returns how long the replay took.
async fn repeat<U: VaultStore>(
    (replay, engine): (&mut Replay, &mut Engine<U>),
    records: Vec<Record>,
    waits_until: Option<Instant>,
) -> Result<Duration, VaultError> {
    let began = Instant::now();
    replay.step(engine, records).await?;
    let took = began.elapsed();
    if let Some(until) = waits_until {
        tracing::info!("waiting until a gateway that may have the vault open has stopped answering");
        sleep_until(until).await;
    }
    Ok(took)
}

/// Begins the journal of this opening in the store, if the vault has one.
async fn begin_log<U: VaultStore>(
    known: Option<KnownLog>,
    objects: &LogObjects<'_, U>,
    (disk, rows): (&TrustedDisk, &Arc<Rows>),
    epoch: u32,
    entropy: &mut Entropy,
) -> Result<Option<Log>, VaultError> {
    let Some(known) = known else { return Ok(None) };
    known.begin(disk, objects, rows, epoch, entropy).await.map(Some)
}
