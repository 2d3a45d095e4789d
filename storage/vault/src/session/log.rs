//! The journal in the store, as a session writes it. The log object of each batch is sent in parallel with the batch's
//! own requests. The batch is answered when the store has the object, and the next batch does not start before. So at
//! most the last object is in doubt.
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
use crate::log::entry::{Entry, Object, row_bytes};
use crate::log::objects::{LogObjects, seal};
use crate::trusted::header::JournalPlace;
use crate::trusted::position::Position;
use crate::trusted::rows::Rows;
use crate::trusted::unlogged_commits::CommitId;
use ameles_store::Blobs;
use std::sync::Arc;
use tokio::time::Instant;

/// The journal in the store.
pub(crate) struct Log {
    rows: Arc<Rows>,
    /// The position of the next object.
    next: Position,
    /// The object of the current batch, until the batch's record is durable.
    object: Option<(Position, Vec<u8>)>,
    /// The accesses of the last batch, and its start, while its object is not known to be in the store.
    pending: Option<(u64, Instant)>,
    /// The last commit of rows that the objects hold, the pending one included.
    taken: CommitId,
    waiting: Vec<(CommitId, Reply<()>)>,
}

impl Log {
    /// The journal of an opening. `next` is the position after the objects that the opening has already written.
    pub(crate) fn begin(rows: Arc<Rows>, next: Position) -> Self {
        Log { rows, next, object: None, pending: None, taken: 0, waiting: Vec::new() }
    }

    /// The position of the next object.
    pub(super) fn next(&self) -> Position {
        self.next
    }

    /// Returns whether the last object is not known to be in the store.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// The accesses that the store lacks.
    pub(super) fn figures(&self) -> LogFigures {
        self.pending.map_or_else(LogFigures::default, |(lag, began)| LogFigures { lag, since: Some(began) })
    }

    /// Returns whether a change of rows waits for an object.
    pub(super) fn has_waiting_rows(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Adds a caller that waits until the store holds a commit.
    pub(super) fn wait_for(&mut self, commit: CommitId, reply: Reply<()>) {
        self.waiting.push((commit, reply));
        self.answer();
    }

    /// The number of dummies in a batch without calls, at most `max`: enough for the rows that wait.
    pub(super) fn dummy_calls(&self, max: usize) -> usize {
        let bytes = self.rows.unlogged().map_or(0, |unlogged| unlogged.bytes());
        (1..max).find(|calls| row_bytes(*calls) >= bytes).unwrap_or(max)
    }

    /// Builds the object of a batch that is about to start.
    pub(super) fn build_object(
        &mut self,
        batch: &[Call],
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<(), VaultError> {
        let (rows, taken) = match self.rows.unlogged() {
            Some(mut unlogged) => unlogged.take(row_bytes(batch.len())),
            None => Default::default(),
        };
        let calls = without_reads(batch);
        let object = Object::Entry(Entry { opening: None, calls, rows });
        let (at, keys) = (self.next, (&identity.header, &identity.master));
        let sealed = seal(keys, at, &object, entropy.salt())?;
        self.object = Some((at, sealed));
        (self.next, self.taken) = (at.next(), taken);
        self.pending = Some((batch.len() as u64, Instant::now()));
        Ok(())
    }

    /// The last commit of rows that the store is known to hold.
    pub(super) fn logged(&self) -> CommitId {
        self.rows.unlogged().map_or(0, |unlogged| unlogged.logged())
    }

    /// Takes the object of a batch whose record is about to become durable.
    pub(super) fn take_object(&mut self) -> Option<(Position, Vec<u8>)> {
        self.object.take()
    }

    /// Returns whether an object waits for its batch's record.
    pub(super) fn has_object(&self) -> bool {
        self.object.is_some()
    }

    /// Records that the object is in the store, and answers the callers that waited for it.
    pub(super) fn on_logged(&mut self) {
        self.pending = None;
        if let Some(mut unlogged) = self.rows.unlogged() {
            unlogged.mark_logged(self.taken);
        }
        self.answer();
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
    if identity.header.parameters.journal == JournalPlace::Disk {
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
