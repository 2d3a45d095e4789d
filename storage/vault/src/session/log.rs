//! The journal in the store, in service: the object of each batch goes out beside the batch's own requests, and the batch is
//! answered when the store has it. The next batch does not begin before, so at most the last object is in doubt.
//!
//! A change of rows waits for an object too. It goes with the next batch; if no call waits for one, a batch of dummies is
//! made, which looks like any other.

use super::command::Reply;
use super::identity::Identity;
use super::pace::{Instants, next_instant};
use crate::engine::record::Call;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::log::entry::{Entry, Object, row_bytes};
use crate::log::objects::{LogObjects, seal};
use crate::trusted::header::JournalPlace;
use crate::trusted::position::Position;
use crate::trusted::rows::Rows;
use crate::trusted::unlogged::CommitId;
use ameles_store::Blobs;
use std::sync::Arc;

/// See the module.
pub(crate) struct Log {
    rows: Arc<Rows>,
    /// The place of the next object.
    next: Position,
    /// The object of a batch whose record is not durable yet.
    object: Option<(Position, Vec<u8>)>,
    /// True while the last batch's object is not known to be in the store.
    is_pending: bool,
    /// The last commit of rows that objects hold, the one that is owed among them.
    taken: CommitId,
    waiting: Vec<(CommitId, Reply<()>)>,
}

impl Log {
    /// The journal of an opening whose first objects are in the store, with the place after them.
    pub(crate) fn begin(rows: Arc<Rows>, next: Position) -> Self {
        Log { rows, next, object: None, is_pending: false, taken: 0, waiting: Vec::new() }
    }

    /// The place of the next object.
    pub(super) fn next(&self) -> Position {
        self.next
    }

    /// Tells whether an object is not known to be in the store.
    pub(super) fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Tells whether a change of rows waits for an object.
    pub(super) fn has_waiting_rows(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Notes a caller that waits until the store holds a commit.
    pub(super) fn wait_for(&mut self, commit: CommitId, reply: Reply<()>) {
        self.waiting.push((commit, reply));
        self.answer();
    }

    /// Tells how many dummies a batch has in which no call goes, at most so many: enough for the rows that wait.
    pub(super) fn dummy_calls(&self, max: usize) -> usize {
        let bytes = self.rows.unlogged().map_or(0, |unlogged| unlogged.bytes());
        (1..max).find(|calls| row_bytes(*calls) >= bytes).unwrap_or(max)
    }

    /// Puts the object of a batch together, which is about to begin.
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
        (self.next, self.taken, self.is_pending) = (at.next(), taken, true);
        Ok(())
    }

    /// The last commit of rows that the store holds for good.
    pub(super) fn logged(&self) -> CommitId {
        self.rows.unlogged().map_or(0, |unlogged| unlogged.logged())
    }

    /// Takes the object of the batch whose record is durable now.
    pub(super) fn take_object(&mut self) -> Option<(Position, Vec<u8>)> {
        self.object.take()
    }

    /// Tells whether an object waits for its batch's record.
    pub(super) fn has_object(&self) -> bool {
        self.object.is_some()
    }

    /// Notes that the object is in the store, and answers whoever waited for what it holds.
    pub(super) fn on_logged(&mut self) {
        self.is_pending = false;
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

    /// Tells all callers that wait why nothing comes of it.
    pub(super) fn refuse(&mut self, why: &VaultError) {
        for (_, reply) in self.waiting.drain(..) {
            let _ = reply.send(Err(why.clone()));
        }
    }
}

/// The writes of a batch, with dummies in the place of reads: those have nothing to bring back.
pub(crate) fn without_reads(batch: &[Call]) -> Vec<Call> {
    let kept = |call: &Call| match call {
        Call::Write(block, payload) => Call::Write(*block, payload.clone()),
        Call::Read(_) | Call::Dummy => Call::Dummy,
    };
    batch.iter().map(kept).collect()
}

/// Seals the ends of journals anew that may be sealed with an earlier key: those of epochs up to `until`. The entries
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
