//! The journal in the store, as a session writes it. The log object of each batch is sent in parallel with the batch's
//! own requests. The batch is answered when the store has the object and all before it. So at most the last
//! [few](crate::engine::scheme::MAX_BATCHES) objects are in doubt.
//!
//! If the vault announces in the store, each flush of the journal has an object, with its records. The requests of the
//! flush leave when the store has the object and all before it.
//!
//! If the vault has heartbeats, an object without records is made when the last one was made [`HEARTBEAT_EVERY`] ago.
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
use crate::lease::HEARTBEAT_EVERY;
use crate::log::NextObject;
use crate::log::announcements::AnnouncedRecords;
use crate::log::entry::{Contents, Entry, Object};
use crate::log::objects::{LogObjects, seal};
use crate::trusted::header::{JournalPlace, VaultParameters};
use crate::trusted::position::Position;
use crate::trusted::rows::Rows;
use crate::trusted::unlogged_commits::CommitId;
use ameles_store::Blobs;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The journal in the store.
pub(crate) struct Log {
    rows: Arc<Rows>,
    /// The position of the next object.
    next: Position,
    /// The objects of batches whose records are not becoming durable yet.
    built: Vec<(Position, Vec<u8>)>,
    /// The objects that are not known to be in the store, or have one before them that is not. The oldest comes first.
    pending: VecDeque<PendingObject>,
    /// The last commit of rows that the objects hold, the pending ones included.
    taken: CommitId,
    waiting: Vec<(CommitId, Reply<()>)>,
    /// The number of the record before which the store is known to hold all, if the vault announces in the store.
    recorded: Option<u64>,
    /// The time of the last object, if the vault has heartbeats.
    last_object: Option<Instant>,
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
}

impl Log {
    /// The journal of an opening. `next` is the object after those that the opening has already written.
    pub(crate) fn begin(rows: Arc<Rows>, next: NextObject, place: JournalPlace) -> Self {
        let recorded = place.announces().then_some(next.recorded);
        let last_object = place.has_heartbeats().then(Instant::now);
        let (built, pending, waiting) = Default::default();
        Log { rows, next: next.at, built, pending, taken: 0, waiting, recorded, last_object }
    }

    /// The time at which an object is due although nobody needs it, if the vault has heartbeats.
    pub(crate) fn next_heartbeat(&self) -> Option<Instant> {
        self.last_object.map(|last| last + HEARTBEAT_EVERY)
    }

    /// Returns whether the store has every record before the requests that it announces leave.
    pub(super) fn announces(&self) -> bool {
        self.recorded.is_some()
    }

    /// The note of the next object.
    pub(crate) fn note(&self) -> NextObject {
        let in_doubt = self.pending.front().map_or(self.next, |object| object.at).sequence;
        NextObject { at: self.next, in_doubt, recorded: self.recorded.unwrap_or_default() }
    }

    /// The position of the next object.
    pub(super) fn next(&self) -> Position {
        self.next
    }

    /// The number of objects that are not known to be in the store with all objects before them.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The accesses that the store lacks.
    pub(super) fn figures(&self) -> LogFigures {
        LogFigures {
            lag: self.pending.iter().map(|object| object.accesses).sum(),
            since: self.pending.front().map(|object| object.began),
        }
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
        self.build(Contents::Writes(without_reads(batch)), 0, (identity, entropy))
    }

    /// Builds the object of records that are about to become durable.
    pub(super) fn build_records(
        &mut self,
        records: AnnouncedRecords,
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<(), VaultError> {
        let end = records.end();
        self.build(Contents::Records(records), end, (identity, entropy))
    }

    /// Builds an object without records. The journal's next record has this number.
    pub(crate) fn build_heartbeat(
        &mut self,
        next_record: u64,
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<(Position, Vec<u8>), VaultError> {
        self.build_records(AnnouncedRecords::new(next_record, Vec::new()), identity, entropy)?;
        Ok(self.built.pop().expect("it was built just now"))
    }

    fn build(
        &mut self,
        contents: Contents,
        end: u64,
        (identity, entropy): (&Identity, &mut Entropy),
    ) -> Result<(), VaultError> {
        let accesses = contents.accesses();
        let (rows, taken) = match self.rows.unlogged() {
            Some(mut unlogged) => unlogged.take(identity.header.parameters.row_bytes(accesses)),
            None => Default::default(),
        };
        let object = Object::Entry(Entry { opening: None, contents, rows });
        let (at, keys) = (self.next, (&identity.header, &identity.master));
        let sealed = seal(keys, at, &object, entropy.salt())?;
        self.built.push((at, sealed));
        let (accesses, began) = (accesses as u64, Instant::now());
        self.last_object = self.last_object.map(|_| began);
        self.pending.push_back(PendingObject { at, accesses, began, taken, end, stored: None });
        (self.next, self.taken) = (at.next(), taken.max(self.taken));
        Ok(())
    }

    /// The last commit of rows that the store is known to hold.
    pub(super) fn logged(&self) -> CommitId {
        self.rows.unlogged().map_or(0, |unlogged| unlogged.logged())
    }

    /// Takes the objects of batches whose records are about to become durable.
    pub(super) fn take_objects(&mut self) -> Vec<(Position, Vec<u8>)> {
        std::mem::take(&mut self.built)
    }

    /// Returns whether an object waits for its batch's record.
    pub(super) fn has_object(&self) -> bool {
        !self.built.is_empty()
    }

    /// Records that an object is in the store. Answers the callers that waited for it, if those before it are there.
    /// Returns how many objects are in the store now with all before them, and were not before, and when the last of them
    /// was sent. `since` is when this one was sent.
    pub(crate) fn on_logged(&mut self, at: Position, since: Duration) -> (usize, Option<Duration>) {
        if let Some(object) = self.pending.iter_mut().find(|object| object.at == at) {
            object.stored = Some(since);
        }
        let (mut stored, mut last) = (0, None);
        while let Some(object) = self.pending.pop_front_if(|object| object.stored.is_some()) {
            stored += 1;
            last = last.max(object.stored);
            self.recorded = self.recorded.map(|_| object.end);
            if let Some(mut unlogged) = self.rows.unlogged() {
                unlogged.mark_logged(object.taken);
            }
        }
        self.answer();
        (stored, last)
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
