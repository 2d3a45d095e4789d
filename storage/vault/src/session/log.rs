//! The journal in the store, as a session writes it. The log object of each batch is sent in parallel with the batch's
//! own requests. The batch is answered when the store has the object and all before it. So at most the last
//! [few](crate::engine::scheme::MAX_BATCHES) objects are in doubt.
//!
//! If the vault announces in the store, each flush of the journal has an object, with its records. The requests of the
//! flush leave when the store has the object and all before it.
//!
//! If payloads have objects of their own, that of a log object is sent when the store has the log object and all before
//! it. The batches in it are answered when it is in the store, too, and those before it.
//!
//! If the vault has heartbeats, an object without records is made when the last one was made [`HEARTBEAT_EVERY`] ago. If
//! log objects are elsewhere, there are heartbeats only while the store answers: a gateway that is cut off from it must not
//! keep the vault.
//!
//! A change of rows waits for a log object, too. It is sent with the next batch. If no call waits for a batch, the
//! session makes a batch of dummies, which looks like any other.

use super::command::Reply;
use super::identity::Identity;
use super::pace::{Instants, next_instant};
use super::status::LogFigures;
use crate::engine::record::Call;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::lease::{HEARTBEAT_EVERY, LEASE_CHECK_EVERY};
use crate::log::NextObject;
use crate::log::announcements::AnnouncedRecords;
use crate::log::entry::{Contents, Entry, Object};
use crate::log::objects::{LogObjects, seal};
use crate::log::payloads::seal_payloads;
use crate::trusted::header::{JournalPlace, VaultParameters};
use crate::trusted::position::Position;
use crate::trusted::rows::Rows;
use crate::trusted::unlogged_commits::CommitId;
use ameles_store::Blobs;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The time without an answer of the store after which there are no heartbeats. An idle gateway asks for a newer claim once
/// in [`LEASE_CHECK_EVERY`].
const MAX_SILENCE_OF_STORE: Duration =
    Duration::from_secs(LEASE_CHECK_EVERY.as_secs() + HEARTBEAT_EVERY.as_secs());

/// The journal in the store.
pub(crate) struct Log {
    rows: Arc<Rows>,
    /// The position of the next object.
    next: Position,
    /// The objects of batches whose records are not becoming durable yet.
    built: Vec<LogObject>,
    /// The objects that are not known to be in the store, or have one before them that is not. The oldest comes first.
    pending: VecDeque<PendingObject>,
    /// The payloads of the objects before them that are not known to be in the store, or have some before them that are
    /// not. Empty if payloads have no objects of their own.
    unsettled: VecDeque<UnsettledPayloads>,
    /// The last commit of rows that the objects hold, the pending ones included.
    taken: CommitId,
    waiting: Vec<(CommitId, Reply<()>)>,
    /// The number of the record before which the store is known to hold all, if the vault announces in the store.
    recorded: Option<u64>,
    /// The time of the last object, if the vault has heartbeats.
    last_object: Option<Instant>,
    /// The time of the last answer of the store, if log objects are elsewhere.
    store_answered: Option<Instant>,
}

/// An object that is on its way, or has one before it that is.
struct PendingObject {
    at: Position,
    /// The accesses of its batch, and the batch's start.
    accesses: u64,
    began: Instant,
    /// The last commit of rows that it completes.
    taken: CommitId,
    /// The number of the record after its last one.
    end: u64,
    /// The time at which it was sent, once it is in the store.
    stored: Option<Duration>,
    /// The number of its batches, and their payloads, if these have an object of their own.
    batches: usize,
    payloads: Option<Vec<u8>>,
}

/// Payloads that are on their way, or have some before them that are.
struct UnsettledPayloads {
    at: Position,
    accesses: u64,
    began: Instant,
    batches: usize,
    is_stored: bool,
}

/// A sealed object, and its position.
pub(super) type LogObject = (Position, Vec<u8>);

/// The effects of an object that came into the store.
#[derive(Default)]
pub(crate) struct Stored {
    /// The number of objects that are there now with all before them, and were not before.
    pub(crate) objects: usize,
    /// The time at which the last of them was sent.
    pub(crate) since: Option<Duration>,
    /// The objects with their payloads, which can be sent now.
    pub(crate) payloads: Vec<LogObject>,
}

impl Log {
    /// The journal of an opening. `next` is the object after those that the opening has already written.
    pub(crate) fn begin(rows: Arc<Rows>, next: NextObject, place: JournalPlace) -> Self {
        let recorded = place.announces().then_some(next.recorded);
        let last_object = place.has_heartbeats().then(Instant::now);
        let store_answered = place.has_payload_objects().then(Instant::now);
        let (built, pending, unsettled, waiting) = Default::default();
        Log {
            rows,
            next: next.at,
            built,
            pending,
            unsettled,
            taken: 0,
            waiting,
            recorded,
            last_object,
            store_answered,
        }
    }

    /// The time at which an object is due although nobody needs it, if the vault has heartbeats.
    pub(crate) fn next_heartbeat(&self) -> Option<Instant> {
        let due = self.last_object? + HEARTBEAT_EVERY;
        let is_cut_off = self.store_answered.is_some_and(|answered| due > answered + MAX_SILENCE_OF_STORE);
        (!is_cut_off).then_some(due)
    }

    /// Records that the store has answered.
    pub(crate) fn on_store_answered(&mut self) {
        self.store_answered = self.store_answered.map(|_| Instant::now());
    }

    /// Returns whether the store has every record before the requests that it announces leave.
    pub(super) fn announces(&self) -> bool {
        self.recorded.is_some()
    }

    /// The note of the next object.
    pub(crate) fn note(&self) -> NextObject {
        NextObject { at: self.next, in_doubt: self.settled(), recorded: self.recorded.unwrap_or_default() }
    }

    /// The sequence of the first object that the store is not known to hold with its payloads.
    fn settled(&self) -> u64 {
        let unsettled = self.unsettled.front().map(|payloads| payloads.at);
        let pending = self.pending.front().map(|object| object.at);
        unsettled.or(pending).unwrap_or(self.next).sequence
    }

    /// The position of the next object.
    pub(super) fn next(&self) -> Position {
        self.next
    }

    /// The number of objects that are not known to be in the store with all objects before them.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The number of batches in the oldest of these, whose payloads are not known to be in the store.
    pub(super) fn unsettled_batches(&self) -> usize {
        self.unsettled.iter().map(|payloads| payloads.batches).sum()
    }

    /// The accesses that the store lacks.
    pub(super) fn figures(&self) -> LogFigures {
        let unsettled = self.unsettled.iter().map(|payloads| (payloads.accesses, payloads.began));
        let pending = self.pending.iter().map(|object| (object.accesses, object.began));
        let mut lacking = unsettled.chain(pending).peekable();
        let since = lacking.peek().map(|(_, began)| *began);
        LogFigures { lag: lacking.map(|(accesses, _)| accesses).sum(), since }
    }

    /// Returns whether a caller waits for a change of rows that no object holds yet.
    pub(super) fn has_waiting_rows(&self) -> bool {
        self.waiting.iter().any(|(commit, _)| *commit > self.taken)
    }

    /// Adds a caller that waits until the store holds a commit.
    pub(super) fn wait_for(&mut self, commit: CommitId, reply: Reply<()>) {
        self.waiting.push((commit, reply));
        self.answer();
    }

    /// The number of dummies in a batch without calls: enough for the rows that wait, but at most a full batch.
    pub(super) fn dummy_calls(&self, parameters: &VaultParameters) -> usize {
        let max = parameters.scheme.max_batch() as usize;
        let bytes = self.rows.unlogged().map_or(0, |unlogged| unlogged.bytes());
        (1..max).find(|calls| parameters.row_bytes(*calls) >= bytes).unwrap_or(max)
    }

    /// Builds the object of a batch that is about to start.
    pub(super) fn build_object(
        &mut self,
        batch: &[Call],
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<(), VaultError> {
        self.build(Contents::Writes(without_reads(batch)), (identity, entropy))
    }

    /// Builds the object of records that are about to become durable.
    pub(super) fn build_records(
        &mut self,
        records: AnnouncedRecords,
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<(), VaultError> {
        self.build(Contents::Records(records), (identity, entropy))
    }

    /// Builds an object without records. The journal's next record has this number.
    pub(crate) fn build_heartbeat(
        &mut self,
        next_record: u64,
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<LogObject, VaultError> {
        self.build_records(AnnouncedRecords::new(next_record, Vec::new()), identity, entropy)?;
        Ok(self.built.pop().expect("it was built just now"))
    }

    fn build(
        &mut self,
        contents: Contents,
        (identity, entropy): (&Identity, &mut Entropy),
    ) -> Result<(), VaultError> {
        let parameters = &identity.header.parameters;
        let (at, keys) = (self.next, (&identity.header, &identity.master));
        let accesses = contents.accesses();
        let (rows, taken) = match self.rows.unlogged() {
            Some(mut unlogged) => unlogged.take(parameters.row_bytes(accesses)),
            None => Default::default(),
        };
        let (mut end, mut batches, mut payloads) = (0, 1, None);
        if let Contents::Records(records) = &contents {
            (end, batches) = (records.end(), records.batches());
            if parameters.journal.has_payload_objects() {
                payloads = seal_payloads(keys, at, records, entropy.salt())?;
            }
        }
        let settled = parameters.journal.has_payload_objects().then(|| self.settled());
        let object = Object::Entry(Entry { opening: None, contents, rows, settled });
        let sealed = seal(keys, at, &object, entropy.salt())?;
        self.built.push((at, sealed));
        let (accesses, began) = (accesses as u64, Instant::now());
        self.last_object = self.last_object.map(|_| began);
        self.pending.push_back(PendingObject {
            at,
            accesses,
            began,
            taken,
            end,
            stored: None,
            batches,
            payloads,
        });
        (self.next, self.taken) = (at.next(), taken.max(self.taken));
        Ok(())
    }

    /// The last commit of rows that the store is known to hold.
    pub(super) fn logged(&self) -> CommitId {
        self.rows.unlogged().map_or(0, |unlogged| unlogged.logged())
    }

    /// Takes the objects of batches whose records are about to become durable.
    pub(super) fn take_objects(&mut self) -> Vec<LogObject> {
        std::mem::take(&mut self.built)
    }

    /// Returns whether an object waits for its batch's record.
    pub(super) fn has_object(&self) -> bool {
        !self.built.is_empty()
    }

    /// Records that an object is in the store, which was sent at `since`. Answers the callers that waited for it, if those
    /// before it are there.
    pub(crate) fn on_logged(&mut self, at: Position, since: Duration) -> Stored {
        if let Some(object) = self.pending.iter_mut().find(|object| object.at == at) {
            object.stored = Some(since);
        }
        let mut stored = Stored::default();
        while let Some(object) = self.pending.pop_front_if(|object| object.stored.is_some()) {
            stored.objects += 1;
            stored.since = stored.since.max(object.stored);
            self.recorded = self.recorded.map(|_| object.end);
            if let Some(mut unlogged) = self.rows.unlogged() {
                unlogged.mark_logged(object.taken);
            }
            let PendingObject { at, accesses, began, batches, payloads, .. } = object;
            if let Some(sealed) = payloads {
                self.unsettled.push_back(UnsettledPayloads {
                    at,
                    accesses,
                    began,
                    batches,
                    is_stored: false,
                });
                stored.payloads.push((at, sealed));
            }
        }
        self.answer();
        stored
    }

    /// Records that the payloads of an object are in the store.
    pub(super) fn on_payloads_stored(&mut self, at: Position) {
        if let Some(payloads) = self.unsettled.iter_mut().find(|payloads| payloads.at == at) {
            payloads.is_stored = true;
        }
        while self.unsettled.pop_front_if(|payloads| payloads.is_stored).is_some() {}
    }

    fn answer(&mut self) {
        let logged = self.logged();
        for (_, reply) in self.waiting.extract_if(.., |(commit, _)| *commit <= logged) {
            let _ = reply.send(Ok(()));
        }
    }

    /// Tells all waiting callers why their commits are not acknowledged.
    pub(super) fn refuse(&mut self, why: &VaultError) {
        for (_, reply) in self.waiting.drain(..) {
            let _ = reply.send(Err(why.clone()));
        }
    }
}

/// The writes of a batch. Reads become dummies, because there is nothing to recover of them.
pub(crate) fn without_reads(batch: &[Call]) -> Vec<Call> {
    let kept = |call: &Call| match call {
        Call::Write(block, payload) => Call::Write(*block, payload.clone()),
        Call::Read(_) | Call::Dummy => Call::Dummy,
    };
    batch.iter().map(kept).collect()
}

/// Reseals the end markers of journals in epochs up to `until`, which may be sealed with an earlier key. The entries
/// before them were deleted when a checkpoint that holds them was shipped.
pub(super) async fn reseal_end_markers<B: Blobs>(
    blobs: &B,
    identity: &Identity,
    (until, instants): (u32, Option<Instants>),
    mut entropy: Entropy,
) -> Result<(), VaultError> {
    if !identity.header.parameters.journal.is_in_store() {
        return Ok(());
    }
    let objects = LogObjects { blobs, header: &identity.header, ring: &identity.ring() };
    next_instant(instants).await;
    for at in objects.ends(until).await? {
        next_instant(instants).await;
        objects.reseal_end_marker(at, entropy.salt()).await?;
    }
    Ok(())
}
