//! An opening of a vault: the loop that takes requests, steps the engine, journals, and talks to the store.
//!
//! Nothing goes out before the record that announces it is durable, and nothing is acknowledged before the record of
//! its batch is. Every failure ends the session; the next opening recovers, by the one path that crashes take too.

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
mod startup;
pub(crate) mod status;
mod upload;

pub(crate) use checkpoints::{Shipping, ShippingNotes};
pub(crate) use command::Command;
pub(crate) use identity::Identity;
pub(crate) use log::{Log, without_reads};

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
use startup::Startup;
use status::{OpeningFigures, Status};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

/// See the module.
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
    /// The caller that asked for the end, and the checkpoint before it: another is always shipped, for rows change
    /// unseen.
    closing: Option<(u64, Reply<Receipt>)>,
}

/// The state that recovery hands over; the rest begins empty.
pub(crate) struct RecoveredState<U> {
    // Wide: taken apart at once.
    pub(crate) identity: Identity,
    pub(crate) disk: TrustedDisk,
    pub(crate) rows: Arc<Rows>,
    pub(crate) entropy: Entropy,
    /// The engine, which has replayed the journal.
    pub(crate) engine: Engine<U>,
    /// The epoch that begins.
    pub(crate) epoch: Epoch,
    pub(crate) lease_term: LeaseTerm,
    /// The number of the checkpoint on the trusted disk.
    pub(crate) number: u64,
    /// The number of the next record.
    pub(crate) sequence: u64,
    /// The records that were replayed, and the time of it all.
    pub(crate) opening: OpeningFigures,
    pub(crate) writer: CheckpointWriter,
    pub(crate) garbage: Vec<Garbage>,
    /// Versions that are in the store and are not needed.
    pub(crate) orphans: Vec<BucketVersion>,
    /// Operations that were finished earlier, with their answers, and not journalled.
    pub(crate) finished: Vec<(OperationId, Vec<u8>)>,
    pub(crate) shipping: Shipping,
    pub(crate) pacer: Option<Pacer>,
    /// The journal in the store, if the vault has one and is not being restored.
    pub(crate) log: Option<Log>,
}

impl<U: VaultStore> Session<U> {
    /// Begins the epoch.
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
        // A restore seals everything anew by itself.
        let change = engine.sealed.with_versions(|versions| KeyChange::of(&identity.ring(), versions));
        let change = change.filter(|_| shipping != Shipping::HeldBack);
        let mut checkpoints =
            Checkpoints::load(&disk, writer, (number, engine.accesses()), (shipping, ship_every))?;
        checkpoints.set_max_unshipped(identity.header.parameters.latest_checkpoint(), opening.records > 0);
        let lease_renewer =
            LeaseRenewer::new(engine.sealed.clone(), identity.clone(), &lease_term, first, instants);
        let mut session = Session {
            journal: Journal::new(&identity, &mut entropy, sequence, log)?,
            checkpoints,
            identity,
            disk,
            rows,
            entropy,
            engine,
            startup: Startup::new(pacer.is_some() || change.is_some()),
            garbage: GarbageCollector::new(garbage, orphans, change),
            waiting: FairQueue::new(),
            checks: CheckQueue::default(),
            figures: Figures::of(opening),
            lease: lease_term.lease,
            closing: None,
            dispatcher: Dispatcher::new(pacer, lease_renewer),
        };
        session.step(Input::Epoch(epoch), Vec::new())?;
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

    /// The vault's rows, for callers that read them beside the session.
    pub(crate) fn rows(&self) -> Arc<Rows> {
        self.rows.clone()
    }

    /// The trusted disk, for callers that ask for its room.
    pub(crate) fn disk(&self) -> TrustedDisk {
        self.disk.clone()
    }

    /// The right to answer, for callers that are answered beside the session.
    pub(crate) fn lease(&self) -> Lease {
        self.lease.clone()
    }

    /// The place where the session publishes its figures.
    pub(crate) fn status(&self) -> Arc<Mutex<Status>> {
        self.figures.shown()
    }
}
