//! The standby of a vault: it follows the journal in the store on a trusted disk of its own, and takes the vault over
//! when the gateway has created no object for the length of a lease.
//!
//! The watcher sees the standby fetch log objects, and repeat the reads that they announce. When it asks follows from the
//! times of the objects and from its own speed.

use super::choose_checkpoint::list_checkpoints;
use super::follower::{Follower, Reachable};
use super::header::raw_header;
use super::journal_reader::{JournalEvent, MAX_WAITING};
use super::recovery::PACED;
use super::restore_notes;
use super::setup::Setup;
use super::takeover::take_over;
use crate::any_store::AnyStore;
use crate::error::{ExistsIn, VaultError};
use crate::session::Session;
use crate::trusted::checkpoint::Receipt;
use futures::future::{Either, pending, select};
use std::mem::discriminant;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, sleep};

/// The reason why a standby of a converted vault waits.
const CONVERTED: &str = "the newest checkpoint in the store is from before the vault was converted: the gateway ships another \
    one when it is started";
/// The time before another attempt to start from a checkpoint.
const RETRY_EVERY: Duration = Duration::from_secs(5);

/// The options of a standby.
pub struct Standby {
    /// The receipt that the owner kept. The state that the standby starts from must be this one or a later one.
    pub expect: Option<Receipt>,
    /// A function that gets each new stage.
    pub report: Box<dyn Fn(&StandbyStage) + Send>,
}

/// The stage of a standby.
#[derive(Clone, Debug)]
pub enum StandbyStage {
    /// The standby fetches the newest checkpoint in the store.
    Fetching,
    /// The standby has everything up to this number of accesses, and follows the journal.
    Following(u64),
    /// The standby cannot follow yet, for this reason, and tries again.
    Waiting(VaultError),
    /// The gateway is silent: the standby takes over.
    TakingOver,
}

/// Follows the vault until it is taken over.
///
/// # Errors
/// [`VaultError::AlreadyExists`] if the trusted disk has a vault. [`VaultError::Parameters`] if the vault has no
/// heartbeats. Tampering, and the errors of disk and store.
pub(super) async fn stand_by(
    setup: &mut Setup<AnyStore>,
    standby: &Standby,
) -> Result<Session<AnyStore>, VaultError> {
    if raw_header(&setup.disk).is_ok() && !restore_notes::is_unfinished(&setup.disk)? {
        return Err(VaultError::AlreadyExists(ExistsIn::TrustedFolder));
    }
    if setup.pace.is_some() {
        return Err(VaultError::Parameters(PACED.into()));
    }
    let mut has_followed = false;
    // The reason for which the standby waits, so that it is reported once.
    let mut waits_for = None;
    loop {
        if waits_for.is_none() {
            (standby.report)(&StandbyStage::Fetching);
        }
        let why = match follow(setup, standby, &mut has_followed).await {
            Ok(Outcome::TakenOver(session)) => return Ok(*session),
            Ok(Outcome::Again) => {
                waits_for = None;
                continue;
            }
            Ok(Outcome::Later(why)) => why,
            Err(error @ VaultError::Unavailable(_)) if has_followed => error,
            Err(error) => return Err(error),
        };
        let needs_checkpoint = matches!(why, VaultError::OtherEngine { .. } | VaultError::Parameters(_));
        if waits_for != Some(discriminant(&why)) {
            waits_for = Some(discriminant(&why));
            (standby.report)(&StandbyStage::Waiting(why));
        }
        // Each attempt fetches a checkpoint. Some need another one than the newest.
        let before = if needs_checkpoint { newest_checkpoint(setup).await } else { None };
        sleep(RETRY_EVERY).await;
        while needs_checkpoint && newest_checkpoint(setup).await <= before {
            sleep(RETRY_EVERY).await;
        }
    }
}

/// The epoch and the number of the newest checkpoint in the store. `None` if there is none, or if the store is away.
async fn newest_checkpoint(setup: &Setup<AnyStore>) -> Option<(u32, u64)> {
    list_checkpoints(&setup.store).await.ok()?.pop()
}

/// The end of an attempt to follow a vault.
enum Outcome {
    TakenOver(Box<Session<AnyStore>>),
    /// The standby must begin again from the newest checkpoint.
    Again,
    /// The standby can begin again later. It cannot now, for this reason.
    Later(VaultError),
}

/// Follows the vault from the newest checkpoint.
async fn follow(
    setup: &mut Setup<AnyStore>,
    standby: &Standby,
    has_followed: &mut bool,
) -> Result<Outcome, VaultError> {
    let mut follower = match Follower::begin(setup, standby.expect.as_ref()).await {
        Err(why @ VaultError::NoCheckpoint) => return Ok(Outcome::Later(why)),
        begun => match begun? {
            Some(follower) => follower,
            None => return Ok(Outcome::Later(VaultError::Parameters(CONVERTED.into()))),
        },
    };
    let (events, news) = channel(MAX_WAITING);
    let ended = {
        let reading = pin!(follower.reader().run(events));
        let following = pin!(step_on(&mut follower, news, standby, has_followed));
        match select(reading, following).await {
            Either::Left((read, _)) => read.and(Err(VaultError::Closed)),
            Either::Right((ended, _)) => ended,
        }
    };
    match ended {
        Ok(Some(last_object)) => {
            (standby.report)(&StandbyStage::TakingOver);
            let session = take_over(follower, last_object).await?;
            Ok(session.map_or(Outcome::Again, |session| Outcome::TakenOver(Box::new(session))))
        }
        Ok(None) => Ok(Outcome::Again),
        Err(why @ VaultError::OtherEngine { .. }) => Ok(Outcome::Later(why)),
        // The gateway may have deleted what this follower needs, after it had shipped a checkpoint.
        Err(error) if error.is_tampering() && follower.is_behind().await? => {
            tracing::info!(%error, "the standby lags behind");
            Ok(Outcome::Again)
        }
        Err(error) => Err(error),
    }
}

/// Steps through the journal as it comes. Returns when the last object came, if none has come for a lease since, or `None`
/// if the next ones were deleted.
async fn step_on(
    follower: &mut Follower<'_>,
    mut news: Receiver<JournalEvent>,
    standby: &Standby,
    has_followed: &mut bool,
) -> Result<Option<Instant>, VaultError> {
    let (mut events, mut is_reported) = (Vec::new(), false);
    // The reader ends only with an error.
    while news.recv_many(&mut events, MAX_WAITING).await > 0 {
        let (mut last, mut has_objects) = (None, false);
        for event in events.drain(..) {
            match event {
                JournalEvent::Object(object) => {
                    (last, has_objects) = (None, true);
                    follower.take(object)?;
                }
                other => last = Some(other),
            }
        }
        if has_objects {
            follower.step().await?;
        }
        match last {
            None => continue,
            Some(JournalEvent::Silent(last_object)) => return Ok(Some(last_object)),
            Some(JournalEvent::Late) => match follower.reachable_manifest(follower.stepped).await? {
                Reachable::No => {
                    tracing::info!("the standby lags behind: the objects that come next were deleted");
                    return Ok(None);
                }
                Reachable::Yes(None) => {}
                // A takeover may come soon, and needs them.
                Reachable::Yes(Some(found)) => drop(follower.receipts_before(&found).await?),
            },
            Some(_) => {}
        }
        if !is_reported {
            (standby.report)(&StandbyStage::Following(follower.engine.accesses()));
            (is_reported, *has_followed) = (true, true);
        }
    }
    pending().await
}
