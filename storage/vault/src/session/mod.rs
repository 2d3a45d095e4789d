//! A session: one opening of a vault. It takes requests, steps the engine, journals the steps, and talks to the store.
//!
//! No request leaves before the record that announces it is durable. No batch is acknowledged before its record is
//! durable. Every failure ends the session. The next opening recovers by the same path as after a crash.
//!
//! | files | hold |
//! |---|---|
//! | `mod`, `run` | the session's fields, and its loop |
//! | `event`, `dispatcher`, `pace`, `lease_renewal`, `ship_timer` | the way to the store and back, and when it is taken unasked |
//! | `command`, `queue`, `batch_delay`, `batch`, `startup` | the callers and their batches |
//! | `journal`, `log`, `checkpoints`, `upload` | what becomes durable: on the trusted disk and in the store |
//! | `garbage`, `key_change`, `check_queue`, `check` | what a session does besides batches |
//! | `figures`, `status`, `publish` | what a session shows of itself |
//!
//! A folder holds the data of a part in `mod.rs`, and in `steps.rs` the steps of the session that work with it.

mod batch;
mod batch_delay;
pub(crate) mod check;
mod check_queue;
mod checkpoints;
mod command;
mod dispatcher;
mod event;
mod figures;
mod garbage;
mod identity;
mod journal;
mod key_change;
mod lease_renewal;
mod log;
pub(crate) mod pace;
mod publish;
pub(crate) mod queue;
mod run;
mod ship_timer;
mod startup;
pub(crate) mod status;
mod upload;

pub(crate) use checkpoints::{ATTEMPTED_NOTE, Shipping, ShippingNotes};
pub(crate) use command::{AtClose, Command};
pub(crate) use identity::Identity;
pub(crate) use log::{Log, without_reads};
pub use ship_timer::SHIP_AFTER;

use crate::engine::deferred_store::OperationId;
use crate::engine::record::Input;
use crate::engine::{Answers, Engine};
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::lease::{Lease, LeaseTerm};
use crate::store::VaultStore;
use crate::trusted::checkpoint::{Garbage, Receipt};
use crate::trusted::checkpoint_writer::CheckpointWriter;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::rows::Rows;
use crate::trusted::sent_state::SentCheckpoint;
use ameles_core::store::BucketVersion;
use ameles_seal::epoch::Epoch;
use check_queue::CheckQueue;
use checkpoints::Checkpoints;
use command::Reply;
use dispatcher::Dispatcher;
use event::Event;
use figures::Figures;
use garbage::GarbageCollector;
use journal::Journal;
use key_change::KeyChange;
use lease_renewal::LeaseRenewer;
use pace::Pacer;
use queue::FairQueue;
use ship_timer::ShipTimer;
use startup::Startup;
use status::{OpeningFigures, Status};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// A session. See the module for its parts.
pub(crate) struct Session<U> {
    identity: Rc<Identity>,
    disk: TrustedDisk,
    rows: Arc<Rows>,
    entropy: Entropy,
    engine: Engine<U>,
    journal: Journal,
    dispatcher: Dispatcher,
    checkpoints: Checkpoints,
    garbage: GarbageCollector,
    waiting: FairQueue<Reply<Answers>>,
    checks: CheckQueue,
    figures: Figures,
    startup: Startup,
    lease: Lease,
    closing: Option<Closing>,
}

/// The end of a session that was requested. The session always makes another checkpoint, because rows may have changed
/// since the last one.
struct Closing {
    /// The number of the checkpoint before the request.
    before: u64,
    at_close: AtClose,
    reply: Reply<Receipt>,
}

/// The state that recovery hands to a session. All other parts of a session start empty.
pub(crate) struct RecoveredState<U> {
    // Wide: destructured at once.
    pub(crate) identity: Identity,
    pub(crate) disk: TrustedDisk,
    pub(crate) rows: Arc<Rows>,
    pub(crate) entropy: Entropy,
    /// The engine, with the journal replayed.
    pub(crate) engine: Engine<U>,
    /// The epoch of this session.
    pub(crate) epoch: Epoch,
    pub(crate) lease_term: LeaseTerm,
    /// The number of the checkpoint on the trusted disk.
    pub(crate) number: u64,
    /// The number of the next record.
    pub(crate) sequence: u64,
    /// The number of replayed records, and the time that the opening took.
    pub(crate) opening: OpeningFigures,
    pub(crate) writer: CheckpointWriter,
    pub(crate) garbage: Vec<Garbage>,
    /// Bucket versions in the store that nothing needs.
    pub(crate) orphans: Vec<BucketVersion>,
    /// The operations that finished before the crash and whose completion was not journalled, with their answers.
    pub(crate) finished: Vec<(OperationId, Vec<u8>)>,
    pub(crate) shipping: Shipping,
    pub(crate) pacer: Option<Pacer>,
    /// The time for which the store lacks accesses at most, until a checkpoint with them is made.
    pub(crate) ship_after: Duration,
    /// The journal in the store, if the vault has one and no restore is running.
    pub(crate) log: Option<Log>,
}

impl<U: VaultStore> Session<U> {
    /// Starts a session in its epoch.
    pub(crate) fn begin(recovered: RecoveredState<U>) -> Result<Self, VaultError> {
        let RecoveredState { identity, disk, rows, mut entropy, engine, epoch, opening, .. } = recovered;
        let RecoveredState {
            number,
            sequence,
            writer,
            garbage,
            orphans,
            finished,
            shipping,
            pacer,
            ship_after,
            lease_term,
            log,
            ..
        } = recovered;
        let (remaining, ship_every) = (orphans.len(), identity.header.parameters.ship_every);
        engine.sealed.begin_epoch_numbered(epoch)?;
        let identity = Rc::new(identity);
        let (first, instants) = match &pacer {
            Some(pacer) => (pacer.first_turn(), Some(pacer.instants())),
            None => (Instant::now(), None),
        };
        // A restore seals everything with the newest key anyway.
        let change = engine.sealed.with_versions(|versions| KeyChange::of(&identity.ring(), versions));
        let change = change.filter(|_| shipping != Shipping::HeldBack);
        let sent = SentCheckpoint::load(&disk, &identity.header, &identity.master)?;
        let mut checkpoints =
            Checkpoints::load((&disk, sent), writer, (number, engine.accesses()), (shipping, ship_every))?;
        checkpoints.set_max_unshipped(identity.header.parameters.latest_checkpoint(), opening.records > 0);
        let ship_timer = ShipTimer::new(ship_after, Instant::now());
        let lease_renewer =
            LeaseRenewer::new(engine.sealed.clone(), identity.clone(), &lease_term, first, instants);
        let mut session = Session {
            journal: Journal::new(&identity, &mut entropy, sequence, log)?,
            checkpoints,
            identity,
            disk,
            rows,
            entropy,
            waiting: FairQueue::new(engine.batches()),
            engine,
            startup: Startup::new(pacer.is_some() || change.is_some()),
            garbage: GarbageCollector::new(garbage, orphans, change),
            checks: CheckQueue::default(),
            figures: Figures::of(opening),
            lease: lease_term.lease,
            closing: None,
            dispatcher: Dispatcher::new(pacer, lease_renewer, ship_timer),
        };
        let seed = session.entropy.seed();
        session.step(Input::Epoch(epoch, seed), Vec::new())?;
        session.engine.go_live();
        for (operation, answer) in finished {
            let event = async move { Event::Operation(operation, Ok(answer)) };
            session.dispatcher.push_unpaced(Box::pin(event));
        }
        session.publish();
        tracing::info!(epoch = epoch.number, records = opening.records, orphans = remaining, "vault opened");
        Ok(session)
    }

    /// The identity of the session.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The rows, for callers that read them while the session runs.
    pub(crate) fn rows(&self) -> Arc<Rows> {
        self.rows.clone()
    }

    /// The trusted disk, for callers that need its free room.
    pub(crate) fn disk(&self) -> TrustedDisk {
        self.disk.clone()
    }

    /// The lease, for callers that are answered while the session runs.
    pub(crate) fn lease(&self) -> Lease {
        self.lease.clone()
    }

    /// Returns whether batches start at a pace.
    pub(crate) fn is_paced(&self) -> bool {
        self.dispatcher.pacer().is_some()
    }

    /// The status, in which the session publishes its figures.
    pub(crate) fn status(&self) -> Arc<Mutex<Status>> {
        self.figures.shown()
    }
}
